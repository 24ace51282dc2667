package agentbuilder_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestFiftyJobsPassInARollingDayWhoeverAsksAtTheSameTime(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, nil)
		const asked = 64
		errs := make(chan error, asked)
		var all sync.WaitGroup
		for range asked {
			all.Go(func() {
				_, err := r.builds.Create(r.ctx, agentbuilder.Request{Instructions: "Take orders."})
				errs <- err
			})
		}
		all.Wait()
		close(errs)
		passed := 0
		for err := range errs {
			if err == nil {
				passed++
				continue
			}
			f := fault.From(err)
			require.Equal(t, "job_limit_reached", f.Code, "%v", err)
			require.Equal(t, fault.TooMany, f.Kind)
			require.InDelta(t, (24 * time.Hour).Seconds(), f.RetryAfter.Seconds(), 60)
			require.Equal(t, 50, f.Details["limit"])
		}
		require.Equal(t, 50, passed)
		n, err := db.Ent().AgentBuild.Query().Count(r.ctx)
		require.NoError(t, err)
		require.Equal(t, 50, n)

		// Another workspace has a limit of its own.
		other, _ := storetest.Workspace(t, db)
		_, err = r.builds.Create(other, agentbuilder.Request{Instructions: "Take orders."})
		require.NoError(t, err)
	})
}

func TestTheDayIsARollingOne(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, nil)
		now := store.Now()
		for i := range 50 { // the oldest ages out in two minutes
			db.Ent().AgentBuild.Create().SetInstructions("x").SetCreatedAt(now.Add(-24*time.Hour + 2*time.Minute + time.Duration(i)*time.Second)).ExecX(r.ctx)
		}
		_, err := r.builds.Create(r.ctx, agentbuilder.Request{Instructions: "Take orders."})
		require.InDelta(t, 120, fault.From(err).RetryAfter.Seconds(), 10)

		s := newRig(t, db, nil)
		for range 50 {
			db.Ent().AgentBuild.Create().SetInstructions("x").SetCreatedAt(now.Add(-24*time.Hour - time.Second)).ExecX(s.ctx)
		}
		s.submit(t, "", "Take orders.")
	})
}

func TestWhatIsNoJobIsRefusedAtOnce(t *testing.T) {
	r := newRigWith(t, storetest.SQLite(t), nil, egress.New(egress.Config{}))
	for name, in := range map[string]agentbuilder.Request{
		"neither field":           {},
		"only spaces":             {WebsiteURL: " ", Instructions: "\n"},
		"no address":              {WebsiteURL: "example"},
		"no scheme":               {WebsiteURL: "example.com"},
		"another scheme":          {WebsiteURL: "ftp://example.com"},
		"a script":                {WebsiteURL: "javascript:alert(1)"},
		"a file":                  {WebsiteURL: "file:///etc/passwd"},
		"no host":                 {WebsiteURL: "https:///about"},
		"a bad escape":            {WebsiteURL: "https://example.com/%zz"},
		"credentials":             {WebsiteURL: "https://user:secret@example.com"},
		"loopback":                {WebsiteURL: "http://127.0.0.1"},
		"loopback by name":        {WebsiteURL: "http://localhost:8080"},
		"loopback of IPv6":        {WebsiteURL: "http://[::1]/"},
		"loopback in disguise":    {WebsiteURL: "http://0x7f000001/"},
		"a private network":       {WebsiteURL: "https://192.168.1.1/"},
		"another private network": {WebsiteURL: "https://10.0.0.8/admin"},
		"a link-local address":    {WebsiteURL: "http://169.254.169.254/latest/meta-data/"},
		"mapped loopback":         {WebsiteURL: "http://[::ffff:127.0.0.1]/"},
		"a port of mail":          {WebsiteURL: "http://example.com:25/"},
		"an address too long":     {WebsiteURL: "https://example.com/" + strings.Repeat("a", 2048)},
		"instructions too long":   {Instructions: strings.Repeat("ä", 10_001)},
		"a NUL":                   {Instructions: "a\x00b"},
		"invalid UTF-8":           {Instructions: "a\xffb"},
		"invalid UTF-8 in a URL":  {WebsiteURL: "https://example.com/\xff"},
		"bad address beside text": {WebsiteURL: "http://10.0.0.1", Instructions: "Take orders."},
	} {
		_, err := r.builds.Create(r.ctx, in)
		require.True(t, fault.Is(err, "validation_failed"), "%s: %v", name, err)
	}
	n, err := r.db.Ent().AgentBuild.Query().Count(r.ctx)
	require.NoError(t, err)
	require.Zero(t, n, "nothing counts")
	r.submit(t, "", strings.Repeat("ä", 10_000))
	row := r.submit(t, "  https://example.com/  ", "")
	require.Equal(t, "https://example.com/", row.WebsiteURL)
}

func TestAJobOfAnotherWorkspaceIsNotThere(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		a, b := newRig(t, db, nil), newRig(t, db, nil)
		row := a.submit(t, "", "Take orders.")
		for _, id := range []uuid.UUID{row.ID, uuid.New()} {
			_, err := agentbuilder.Get(b.ctx, db.Ent(), id)
			require.True(t, fault.Is(err, "job_not_found"), "%v", err)
		}
		require.NoError(t, b.worker.Work(b.ctx, job(b, row, agentbuilder.StepWrite)), "nor for the worker")
		require.Equal(t, agentbuilder.Queued, a.get(t, row).Status)
	})
}
