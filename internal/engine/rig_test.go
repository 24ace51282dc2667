package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation/scripted"
	"github.com/callwright/callwright/internal/engine"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// After all tests no goroutine may be left, of the engine or of a call.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon bounds what a test waits for; nothing is measured by it.
const soon = 30 * time.Second

// rig is an installation: a database with a workspace and an agent, a place for recordings, and engines beside each
// other on it, as processes would be.
type rig struct {
	t          testing.TB
	db         *store.DB
	ctx        context.Context // of the workspace
	workspace  uuid.UUID
	agent      uuid.UUID
	recordings *call.Recordings
	spool      string
	dials      string
}

// newRig makes one whose plan has room for so many calls at once.
func newRig(t testing.TB, db *store.DB, concurrent int, settings agent.Settings) *rig {
	t.Helper()
	r := &rig{t: t, db: db, spool: t.TempDir(), dials: filepath.Join(t.TempDir(), "dials.log")}
	founded, err := identity.New(identity.Config{DB: db}).CreateWorkspace(t.Context(), identity.NewWorkspace{
		Name: "Test", Plan: &identity.Plan{ConcurrentCalls: concurrent, MaxCallMinutes: 60},
	})
	require.NoError(t, err)
	r.workspace = founded.Workspace.ID
	r.ctx = store.WithWorkspace(t.Context(), r.workspace)
	if settings.Name == nil {
		settings.Name = ptr("Nora")
	}
	a, err := agent.Create(r.ctx, db, settings)
	require.NoError(t, err)
	r.agent = a.ID
	r.recordings, err = call.OpenRecordings(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.recordings.Close()) })
	return r
}

// running is one engine with its jobs.
type running struct {
	*engine.Engine
	line carrier.Carrier
	stop context.CancelFunc // begins the drain
	done chan struct{}
}

// config of an engine of this installation at a speed.
func (r *rig) config(speed float64) engine.Config {
	line := sandbox.New(sandbox.Config{Speed: speed, DialLog: r.dials, Log: quiet})
	return engine.Config{
		DB: r.db, Carrier: line, Speech: scripted.New(voice.New(voice.Config{Placeholder: true, Log: quiet})),
		Recordings: r.recordings, SpoolDir: r.spool, DrainTimeout: -1, Log: quiet,
	}
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// run starts an engine; the test's end stops it.
func (r *rig) run(c engine.Config) *running {
	r.t.Helper()
	e, err := engine.New(c)
	require.NoError(r.t, err)
	ctx, stop := context.WithCancel(context.Background())
	u := &running{Engine: e, line: c.Carrier, stop: stop, done: make(chan struct{})}
	jobs, stopJobs := context.WithCancel(context.Background())
	jobsDone := make(chan error, 1)
	workers := river.NewWorkers()
	e.Workers(workers)
	go func() {
		jobsDone <- r.db.RunJobs(jobs, store.JobsConfig{Workers: workers, Queues: map[string]int{"voice": 4}, Log: quiet})
	}()
	go func() {
		defer close(u.done)
		_ = e.Run(ctx)
	}()
	r.t.Cleanup(func() {
		stop()
		<-u.done
		stopJobs()
		require.NoError(r.t, <-jobsDone)
	})
	return u
}

func (r *rig) place(to string) uuid.UUID { return r.request(call.Request{To: to}).ID }

func (r *rig) request(q call.Request) *ent.Call {
	r.t.Helper()
	q.AgentID = r.agent
	c, err := call.Place(r.ctx, r.db, q)
	require.NoError(r.t, err)
	return c
}

func (r *rig) get(id uuid.UUID) *ent.Call {
	r.t.Helper()
	c, err := call.Get(r.ctx, r.db.Ent(), id)
	require.NoError(r.t, err)
	return c
}

// until waits for a call to stand where the test needs it.
func (r *rig) until(id uuid.UUID, what string, is func(*ent.Call) bool) *ent.Call {
	r.t.Helper()
	var c *ent.Call
	require.Eventually(r.t, func() bool {
		c = r.get(id)
		return is(c)
	}, soon, 5*time.Millisecond, what)
	return c
}

func (r *rig) status(id uuid.UUID, s call.Status) *ent.Call {
	r.t.Helper()
	return r.until(id, "is "+string(s), func(c *ent.Call) bool { return c.Status == string(s) })
}

func (r *rig) ended(id uuid.UUID) *ent.Call {
	r.t.Helper()
	return r.until(id, "ends", func(c *ent.Call) bool { return call.Status(c.Status).Terminal() })
}

func (r *rig) turns(id uuid.UUID) []*ent.Turn {
	r.t.Helper()
	turns, err := call.Turns(r.ctx, r.db.Ent(), id)
	require.NoError(r.t, err)
	return turns
}

// dialed is the numbers in the order in which the sandbox was asked to ring them.
func (r *rig) dialed() []string {
	f, err := os.Open(r.dials)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(r.t, err)
	defer func() { _ = f.Close() }()
	var numbers []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		numbers = append(numbers, strings.Fields(lines.Text())[2])
	}
	return numbers
}

// wav fetches the recording that the record names.
func (r *rig) wav(c *ent.Call) audio.WAV {
	r.t.Helper()
	require.NotNil(r.t, c.RecordingKey)
	require.NotNil(r.t, c.RecordingSize)
	in, err := r.recordings.Reader(r.t.Context(), *c.RecordingKey, 0, -1)
	require.NoError(r.t, err)
	file, err := io.ReadAll(in)
	require.NoError(r.t, err)
	require.NoError(r.t, in.Close())
	require.Len(r.t, file, int(*c.RecordingSize))
	require.Equal(r.t, len(file)-8, int(file[4])|int(file[5])<<8|int(file[6])<<16|int(file[7])<<24, "size in the header")
	w, err := audio.ReadWAV(bytes.NewReader(file))
	require.NoError(r.t, err)
	require.Equal(r.t, audio.Rate, w.Rate)
	require.Len(r.t, w.Channels, 2)
	return w
}

// requireNothingSpooled waits for the last spool file to go, which is after its call's end is written.
func (r *rig) requireNothingSpooled() {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		left, err := os.ReadDir(r.spool)
		require.NoError(r.t, err)
		return len(left) == 0
	}, soon, 5*time.Millisecond, "spool files are left")
}

func ptr[T any](v T) *T { return &v }

type (
	entCall = ent.Call
	entID   = uuid.UUID
)

func (r *rig) cancel(id uuid.UUID) {
	r.t.Helper()
	_, err := call.Cancel(r.ctx, r.db, id)
	require.NoError(r.t, err)
}
