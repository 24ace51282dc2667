package main_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

const (
	campaignSlots    = 20
	campaignSpeed    = "40"
	campaignContacts = 120 // or CAMPAIGN_CONTACTS; 1000 take half a minute
)

// A campaign over many contacts, of whom half are people, a quarter busy and a quarter decline; the program dies by
// kill -9 in the middle of the first calls and in the middle of the retries. Every contact reaches its end, nobody is
// called twice for one attempt, never more than 20 at once, and the progress is exact.
func TestACampaignReachesEverybodyAlthoughTheProgramDies(t *testing.T) {
	if testing.Short() {
		t.Skip("kills real processes for a quarter of a minute")
	}
	program := built(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		runCampaign(t, program, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		runCampaign(t, program, storetest.PostgresURL(t))
	})
}

type campaigning struct {
	*crashed
	id    string
	total int
	db    *store.DB // beside the program
}

func runCampaign(t *testing.T, program, url string) {
	c := &campaigning{crashed: &crashed{program: program, dir: t.TempDir()}, total: campaignContacts}
	if n, err := strconv.Atoi(os.Getenv("CAMPAIGN_CONTACTS")); err == nil {
		c.total = n
	}
	c.args = []string{"--data-dir", c.dir, "--log-level", "error"}
	if url != "" {
		c.args = append(c.args, "--database-url", url)
	}
	c.foundWith(t, campaignSlots)
	c.boot(t)
	var err error
	c.db, err = store.Open(t.Context(), store.Config{DataDir: c.dir, DatabaseURL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.db.Close()) }()
	c.enrollAll(t)
	began := time.Now()
	c.until(t, func() bool { return c.dials(t) > c.total/3 })
	c.die(t)
	c.until(t, c.waiting(t))
	c.due(t)
	c.until(t, func() bool { return c.dials(t) > c.total+c.total/8 })
	c.die(t)
	c.until(t, func() bool {
		if c.waiting(t)() {
			c.due(t) // the calls that the second death cost, too
		}
		return c.get(t, "/v1/campaigns/"+c.id)["status"] == "completed"
	})
	t.Logf("%d contacts, %d calls in %.1f s", c.total, c.dials(t), time.Since(began).Seconds())
	c.judge(t)
	c.at.stop(t)
}

func (c *campaigning) boot(t *testing.T) {
	c.at = start(t, c.program, append([]string{"serve", "--rate-limit", "0", "--sandbox-speed", campaignSpeed}, c.args...)...)
}

func (c *campaigning) die(t *testing.T) {
	require.NoError(t, c.at.cmd.Process.Kill())
	_ = c.at.cmd.Wait()
	c.boot(t)
}

func (c *campaigning) get(t *testing.T, path string) map[string]any {
	t.Helper()
	r := c.do(t, http.MethodGet, path, "")
	defer r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode)
	var body struct{ Data map[string]any }
	require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
	return body.Data
}

// enrollAll makes a running campaign of two attempts in one request.
func (c *campaigning) enrollAll(t *testing.T) {
	c.agent = c.post(t, "/v1/agents", `{"name":"Nora","welcome_msg":"Hello."}`)["data"].(map[string]any)["id"].(string)
	c.id = c.post(t, "/v1/campaigns", `{"name":"Renewals","agent_id":"`+c.agent+`","schedule":{"from":"00:00","to":"24:00",
		"timezone":"UTC","max_attempts":2,"retry_minutes":[60]}}`)["data"].(map[string]any)["id"].(string)
	entries := make([]string, c.total)
	for i := range entries {
		number := fmt.Sprintf("+1555123%04d", i)
		switch i % 4 {
		case 1:
			number = "+15005550002" // busy
		case 3:
			number = "+15005550007" // declines
		}
		entries[i] = fmt.Sprintf(`{"phone":%q,"variables":{"i":"%d"}}`, number, i)
	}
	c.post(t, "/v1/campaigns/"+c.id+"/start", "")
	out := c.post(t, "/v1/campaign/"+c.id+"/contact", `{"allow_duplicate_phone":true,"contacts":[`+strings.Join(entries, ",")+`]}`)
	require.Len(t, out["data"].(map[string]any)["added_contact_ids"], c.total)
}

// dials counts the lines of the file that the sandbox writes before a number rings.
func (c *campaigning) dials(t *testing.T) (n int) {
	text, err := os.ReadFile(filepath.Join(c.dir, "sandbox-dials.log"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return strings.Count(string(text), "\n")
}

// waiting tells whether nothing is left but retries.
func (c *campaigning) waiting(t *testing.T) func() bool {
	return func() bool {
		p := c.get(t, "/v1/campaigns/"+c.id+"/progress")
		of := p["enrollments"].(map[string]any)
		return of["active"] == nil && of["pending"] == nil && of["waiting"] != nil
	}
}

// due makes retries due, as an hour would.
func (c *campaigning) due(t *testing.T) {
	ctx := store.System(t.Context())
	require.NoError(t, c.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Enrollment.Update().Where(enrollment.Status("waiting")).SetNextAttemptAt(store.Now()).Exec(ctx)
	}))
}

func (c *campaigning) until(t *testing.T, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(50 * time.Millisecond) {
		require.Less(t, time.Since(began), 2*time.Minute, "the campaign does not get on: %v", c.get(t, "/v1/campaigns/"+c.id+"/progress"))
	}
}

func (c *campaigning) judge(t *testing.T) {
	ctx := store.System(t.Context())
	calls, err := c.db.Ent().Call.Query().All(ctx)
	require.NoError(t, err)
	enrollments, err := c.db.Ent().Enrollment.Query().All(ctx)
	require.NoError(t, err)
	require.Len(t, enrollments, c.total)

	byCall := map[string]int{}
	f, err := os.Open(filepath.Join(c.dir, "sandbox-dials.log"))
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		byCall[strings.Fields(lines.Text())[1]]++
	}
	of := map[string][]*ent.Call{}
	statuses := map[string]int{}
	for _, call := range calls {
		require.LessOrEqual(t, byCall[call.ID.String()], 1, "a call is dialed once")
		of[call.EnrollmentID.String()] = append(of[call.EnrollmentID.String()], call)
		statuses[call.Status]++
	}
	ends := map[string]int{}
	for _, e := range enrollments {
		ends[e.Status]++
		made := of[e.ID.String()]
		slices.SortFunc(made, func(a, b *ent.Call) int { return a.CreatedAt.Compare(b.CreatedAt) })
		require.NotEmpty(t, made)
		require.Len(t, made, e.Attempts, "one call for each attempt")
		last := made[len(made)-1]
		require.Equal(t, map[bool]string{true: "completed", false: "failed"}[last.Status == "completed"], e.Status)
		if e.Status == "failed" {
			require.Equal(t, 2, e.Attempts, "not given up before its time")
		}
		if len(made) == 2 {
			require.Contains(t, []string{"failed", "busy", "no-answer"}, made[0].Status)
			// A retry was planned for an hour later.
			require.WithinDuration(t, made[0].EndedAt.Add(time.Hour), *made[1].ScheduleTime, time.Minute)
		}
		for _, call := range made {
			require.NotEmpty(t, call.Variables["i"], "variables go into every call")
		}
	}
	require.LessOrEqual(t, mostAtOnce(calls), campaignSlots, "in flight")

	p := c.get(t, "/v1/campaigns/"+c.id+"/progress")
	require.EqualValues(t, c.total, p["total"])
	require.EqualValues(t, c.total, p["finished"])
	require.Equal(t, asJSON(ends), p["enrollments"])
	require.Equal(t, asJSON(statuses), p["calls"])
	t.Logf("enrollments %v, calls %v", ends, statuses)
}

func asJSON(of map[string]int) map[string]any {
	out := map[string]any{}
	for k, n := range of {
		out[k] = float64(n)
	}
	return out
}

// mostAtOnce is how many calls were in flight at the worst moment, by their records.
func mostAtOnce(calls []*ent.Call) (most int) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, c := range calls {
		if c.DialedAt != nil {
			changes = append(changes, change{*c.DialedAt, 1}, change{*c.EndedAt, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	now := 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}
