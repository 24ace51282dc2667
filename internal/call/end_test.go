package call_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func ids(calls ...*ent.Call) []uuid.UUID {
	var out []uuid.UUID
	for _, c := range calls {
		out = append(out, c.ID)
	}
	return out
}

// recordings is a bucket in a fresh folder.
func recordings(t testing.TB) (*call.Recordings, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recordings")
	rec, err := call.OpenRecordings(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rec.Close()) })
	return rec, dir
}

func TestCancelingEndsACallOrAsksItsHolderTo(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		for _, s := range statuses {
			c := r.standing(s)
			got, err := call.Cancel(r.ctx, db, c.ID)
			require.NoError(t, err, s)
			require.Equal(t, got.String(), r.get(c.ID).String())
			switch {
			case s.Terminal():
				require.Equal(t, c.String(), got.String(), "what has ended stays as it is")
			case s.Active():
				require.Equal(t, string(s), got.Status)
				require.True(t, got.CancelRequested)
				require.True(t, got.InFlight)
				again, err := call.Cancel(r.ctx, db, c.ID)
				require.NoError(t, err)
				require.Equal(t, got.UpdatedAt, again.UpdatedAt)
			default:
				require.Equal(t, "canceled", got.Status)
				require.Equal(t, "canceled", *got.EndedReason)
				require.NotNil(t, got.EndedAt)
			}
		}
		other := newRig(t, db)
		_, err := call.Cancel(other.ctx, db, r.place(call.Request{}).ID)
		requireCode(t, err, "call_not_found")
	})
}

func TestACanceledCallIsNeverClaimed(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.place(call.Request{})
		_, err := call.Cancel(r.ctx, db, c.ID)
		require.NoError(t, err)
		require.Nil(t, r.claim("me"))
	})
}

func TestDeletingRemovesEverythingOfACall(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		rec, dir := recordings(t)
		c := r.standing(call.StatusInProgress)
		require.NoError(t, call.AddTurns(r.system, db, r.workspace, c.ID, []call.Turn{{Role: call.RoleUser, Content: "hi"}}))
		key := call.RecordingKey(c)
		require.NoError(t, rec.Put(t.Context(), key, bytes.NewReader([]byte("RIFF"))))
		r.finish(c.ID, call.Outcome{Status: call.StatusCompleted, Recording: &call.Recorded{Key: key, Size: 4}})

		other := newRig(t, db)
		requireCode(t, call.Delete(other.ctx, db, rec, c.ID), "call_not_found")
		require.FileExists(t, filepath.Join(dir, key))

		require.NoError(t, call.Delete(r.ctx, db, rec, c.ID))
		_, err := call.Get(r.ctx, db.Ent(), c.ID)
		requireCode(t, err, "call_not_found")
		n, err := db.Ent().Turn.Query().Count(r.ctx)
		require.NoError(t, err)
		require.Zero(t, n)
		require.NoFileExists(t, filepath.Join(dir, key))
		require.Zero(t, r.total())
		requireCode(t, call.Delete(r.ctx, db, rec, c.ID), "call_not_found")
		requireCode(t, call.Finish(r.system, db, c.ID, call.Outcome{Status: call.StatusFailed}), "call_not_found")
	})
}

func TestOnlyCallsThatNobodyHoldsCanBeDeleted(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		rec, _ := recordings(t)
		left := int64(0)
		for _, s := range statuses {
			c := r.standing(s)
			err := call.Delete(r.ctx, db, rec, c.ID)
			if s.Active() {
				left++
				requireCode(t, err, "call_active")
				r.get(c.ID)
			} else {
				require.NoError(t, err, s)
			}
		}
		test := r.place(call.Request{Test: true})
		require.NoError(t, call.Delete(r.ctx, db, rec, test.ID))
		require.Equal(t, left, r.total())
		require.Nil(t, r.claim("me"), "a deleted call is not dialed")
	})
}

func TestARecordingIsFoundWhileItIsThere(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		rec, dir := recordings(t)
		c := r.standing(call.StatusInProgress)
		find := func() (call.Recording, error) { return call.FindRecording(r.ctx, db.Ent(), rec, c.ID) }
		missing := func(why string) {
			_, err := find()
			require.Equal(t, "no such recording", requireCode(t, err, "recording_not_found").Message, why)
		}
		missing("the call runs")
		r.finish(c.ID, call.Outcome{Status: call.StatusCompleted})
		missing("it was not stored")
		key := call.RecordingKey(c)
		require.NoError(t, call.SaveRecording(r.system, db, c.ID, call.Recorded{Key: key, Size: 10}))
		missing("the object is gone")
		require.NoError(t, rec.Put(t.Context(), key, bytes.NewReader([]byte("0123456789"))))
		require.ErrorIs(t, call.SaveRecording(r.system, db, c.ID, call.Recorded{Key: "other"}), call.ErrEnded)

		got, err := find()
		require.NoError(t, err)
		require.Equal(t, key, got.Key)
		require.EqualValues(t, 10, got.Size)
		require.NotEmpty(t, got.ETag)
		require.Equal(t, time.UTC, got.Modified.Location())
		in, err := rec.Reader(t.Context(), key, 2, 3)
		require.NoError(t, err)
		part, err := io.ReadAll(in)
		require.NoError(t, err)
		require.NoError(t, in.Close())
		require.Equal(t, "234", string(part))
		entries, err := os.ReadDir(filepath.Dir(filepath.Join(dir, key)))
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing stands beside the recording")

		other := newRig(t, db)
		_, err = call.FindRecording(other.ctx, db.Ent(), rec, c.ID)
		requireCode(t, err, "call_not_found")

		require.NoError(t, db.Ent().Call.UpdateOneID(c.ID).SetRecordedAt(store.Now().AddDate(0, 0, -3)).Exec(r.ctx))
		for days, there := range map[int]bool{2: false, 3: false, 4: true} {
			_, err := agent.Update(r.ctx, db, r.agent, agent.Settings{RetentionPeriod: &days}, nil)
			require.NoError(t, err)
			_, err = find()
			require.Equal(t, there, err == nil, "%d days", days)
		}
		require.NoError(t, agent.Delete(r.ctx, db, r.agent))
		_, err = find()
		require.NoError(t, err, "without an agent there is no retention")
		require.NoError(t, db.Ent().Workspace.UpdateOneID(r.workspace).SetHipaa(true).Exec(r.system))
		missing("redacted")
	})
}

func TestRecordingsOfAnUnknownKeyAreNotFound(t *testing.T) {
	rec, _ := recordings(t)
	_, err := rec.Reader(t.Context(), "a/b.wav", 0, -1)
	requireCode(t, err, "recording_not_found")
	_, err = rec.Attributes(t.Context(), "a/b.wav")
	requireCode(t, err, "recording_not_found")
	require.NoError(t, rec.Delete(t.Context(), "a/b.wav"))
	_, err = call.OpenRecordings(t.Context(), "gopher://x")
	require.Error(t, err)
	dir := filepath.Join(t.TempDir(), "with space")
	file, err := call.OpenRecordings(t.Context(), "file://"+strings.ReplaceAll(dir, " ", "%20")+"?create_dir=true")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.DirExists(t, dir)
}
