package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/audio"
)

// spool is the WAV file of a running call.
type spool struct {
	file *os.File
	wav  *audio.StereoWAV
}

func spoolPath(dir string, call uuid.UUID) string { return filepath.Join(dir, call.String()+".wav") }

// createSpool begins the file of a call. A file that is there is not overwritten: a call is recorded once.
func createSpool(dir string, call uuid.UUID) (*spool, error) {
	f, err := os.OpenFile(spoolPath(dir, call), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin a recording: %w", err)
	}
	w, err := audio.NewStereoWAV(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &spool{file: f, wav: w}, nil
}

// length is how much sound was written.
func (s *spool) length() time.Duration { return time.Duration(s.wav.Frames()) * audio.FrameTime }

func (s *spool) close() error { return errors.Join(s.wav.Close(), s.file.Close()) }

// repair makes a spool file that its process could not close into a whole WAV file, and tells how much sound is in it.
func repair(path string) (time.Duration, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // what mattered was written before
	if err := audio.RepairWAV(f); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	const stereo = 4 // bytes of a sample in both channels; the header is less than a frame, which rounding swallows
	return audio.Duration(int(info.Size() / stereo)).Truncate(audio.FrameTime), nil
}

// spooled lists the calls that have a file.
func spooled(dir string) ([]uuid.UUID, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []uuid.UUID
	for _, e := range entries {
		name, isWAV := strings.CutSuffix(e.Name(), ".wav")
		if id, err := uuid.Parse(name); isWAV && err == nil {
			ids = append(ids, id)
		}
	}
	return ids, err
}
