package call

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Recordings is the bucket that the sound of calls is kept in: stereo WAV, left agent, right caller.
type Recordings struct{ bucket *blob.Bucket }

// MediaType is what a recording is.
const MediaType = "audio/wav"

// OpenRecordings opens a bucket by its URL: file:///path, or a plain path, is a folder, which is made; of other schemes
// those whose drivers the program links.
func OpenRecordings(ctx context.Context, address string) (*Recordings, error) {
	dir := address
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("open recordings: %w", err)
		}
		if u.Scheme != "file" {
			b, err := blob.OpenBucket(ctx, address)
			if err != nil {
				return nil, fmt.Errorf("open recordings: %w", err)
			}
			return &Recordings{b}, nil
		}
		dir = u.Host + u.Path
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for recordings: %w", err)
	}
	// What fileblob would keep in files beside the recordings, the call's row knows.
	b, err := fileblob.OpenBucket(filepath.Clean(dir), &fileblob.Options{
		Metadata: fileblob.MetadataDontWrite, NoTempDir: true, DirFileMode: 0o700,
	})
	if err != nil {
		return nil, fmt.Errorf("open recordings: %w", err)
	}
	return &Recordings{b}, nil
}

// Close lets go of the bucket.
func (r *Recordings) Close() error { return r.bucket.Close() }

// RecordingKey is where the recording of a call is kept.
func RecordingKey(c *ent.Call) string {
	if c.RecordingKey != nil {
		return *c.RecordingKey
	}
	return c.WorkspaceID.String() + "/" + c.ID.String() + ".wav"
}

// Put writes a whole object, over what was there. A reader sees the old one or the new one.
func (r *Recordings) Put(ctx context.Context, key string, from io.Reader) error {
	if err := r.bucket.Upload(ctx, key, from, &blob.WriterOptions{ContentType: MediaType}); err != nil {
		return fmt.Errorf("write recording %s: %w", key, err)
	}
	return nil
}

// Reader reads length bytes from offset on; -1 is all that follow. recording_not_found when there is none.
func (r *Recordings) Reader(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	in, err := r.bucket.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, absent(err, "read recording "+key)
	}
	return in, nil
}

// Attributes are what a recording's object is.
type Attributes struct {
	Size     int64
	Modified time.Time
}

// Attributes of an object; recording_not_found when there is none.
func (r *Recordings) Attributes(ctx context.Context, key string) (Attributes, error) {
	a, err := r.bucket.Attributes(ctx, key)
	if err != nil {
		return Attributes{}, absent(err, "look at recording "+key)
	}
	return Attributes{Size: a.Size, Modified: a.ModTime.UTC()}, nil
}

// Delete removes an object; one that is not there is deleted already.
func (r *Recordings) Delete(ctx context.Context, key string) error {
	if err := r.bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete recording %s: %w", key, err)
	}
	return nil
}

func absent(err error, doing string) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fault.Missing("recording").Wrap(err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Recording is a recording that can be fetched.
type Recording struct {
	Key string
	// Size is in bytes.
	Size int64
	// ETag changes with the content.
	ETag     string
	Modified time.Time
}

// Fetchable reports whether a call has a recording to fetch: recording_url is absent without one.
func Fetchable(c *ent.Call) bool { return c.RecordingKey != nil && c.RecordingSize != nil }

// FindRecording finds the recording of a call of the workspace in ctx (spec: Calls, GET /call/{id}/recording). It is
// recording_not_found when there is none, it is not ready, the agent's retention_period is over, the workspace's content
// is redacted, or the object is gone.
func FindRecording(ctx context.Context, c *ent.Client, r *Recordings, id uuid.UUID) (Recording, error) {
	row, err := Get(ctx, c, id)
	if err != nil {
		return Recording{}, err
	}
	if !Fetchable(row) {
		return Recording{}, fault.Missing("recording")
	}
	if redacted, err := Redaction(ctx, c, row); err != nil {
		return Recording{}, err
	} else if redacted != "" {
		return Recording{}, fault.Missing("recording")
	}
	if over, err := expired(ctx, c, row); err != nil {
		return Recording{}, err
	} else if over {
		return Recording{}, fault.Missing("recording")
	}
	at, err := r.Attributes(ctx, *row.RecordingKey)
	if err != nil {
		return Recording{}, err
	}
	return Recording{
		Key: *row.RecordingKey, Size: at.Size, Modified: at.Modified,
		ETag: fmt.Sprintf(`"%s-%x-%x"`, row.ID, at.Size, at.Modified.UnixNano()),
	}, nil
}

// expired applies the retention_period of the call's agent, as it was when the call ended and as it is now; without an
// agent there is none now.
func expired(ctx context.Context, c *ent.Client, row *ent.Call) (bool, error) {
	if row.KeepUntil != nil && !store.Now().Before(*row.KeepUntil) {
		return true, nil
	}
	if row.AgentID == nil || row.RecordedAt == nil {
		return false, nil
	}
	a, err := agent.Get(ctx, c, *row.AgentID)
	if fault.Is(err, "agent_not_found") {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s, err := agent.SettingsOf(a)
	if err != nil || s.RetentionPeriod == nil {
		return false, err
	}
	return !store.Now().Before(row.RecordedAt.AddDate(0, 0, *s.RetentionPeriod)), nil
}

// SaveRecording adds the recording of a call that ended before it could be stored. ErrEnded when the call has one
// already. ctx is store.System's.
func SaveRecording(ctx context.Context, db *store.DB, id uuid.UUID, r Recorded) error {
	now := store.Now()
	n, err := db.Ent().Call.Update().Where(call.ID(id), call.InFlight(false), call.RecordingSizeIsNil()).
		SetRecordingKey(r.Key).SetRecordingSize(r.Size).SetRecordedAt(now).SetUpdatedAt(now).Save(ctx)
	if err != nil {
		return fmt.Errorf("save the recording of call %s: %w", id, err)
	}
	if n == 0 {
		return gone(ctx, db.Ent(), id)
	}
	return nil
}
