package portal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// sound is a call's recording as a file: seeking notes the place, reading opens a stream there.
type sound struct {
	ctx    context.Context
	calls  callwrightv1.CallServiceClient
	id     string
	about  *callwrightv1.RecordingInfo
	stream grpc.ServerStreamingClient[callwrightv1.StreamRecordingResponse]
	cancel context.CancelFunc
	rest   []byte
	at     int64 // of the next byte
}

// openSound begins to read a recording; a call that has none is not found.
func (v *visit) openSound(id string) (*sound, error) {
	s := &sound{ctx: v.ctx, calls: v.p.calls, id: id}
	return s, s.open()
}

func (s *sound) open() error {
	s.close()
	ctx, cancel := context.WithCancel(s.ctx)
	stream, err := s.calls.StreamRecording(ctx, &callwrightv1.StreamRecordingRequest{Id: s.id, Offset: s.at})
	if err == nil {
		var first *callwrightv1.StreamRecordingResponse
		if first, err = stream.Recv(); err == nil {
			s.about, s.stream, s.cancel = first.GetInfo(), stream, cancel
			return nil
		}
	}
	cancel()
	return err
}

func (s *sound) close() {
	if s.cancel != nil {
		s.cancel()
	}
	s.stream, s.cancel, s.rest = nil, nil, nil
}

func (s *sound) Read(b []byte) (int, error) {
	if s.at >= s.about.GetSize() {
		return 0, io.EOF
	}
	if s.stream == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	for len(s.rest) == 0 {
		m, err := s.stream.Recv()
		if err != nil {
			return 0, err
		}
		s.rest = m.GetChunk()
	}
	n := copy(b, s.rest)
	s.rest, s.at = s.rest[n:], s.at+int64(n)
	return n, nil
}

func (s *sound) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.about.GetSize()
	}
	if offset < 0 {
		return 0, errors.New("seek before the start")
	}
	if offset != s.at {
		s.close()
		s.at = offset
	}
	return offset, nil
}

// recordingFile is the sound itself, for the player.
func (p *portal) recordingFile(v *visit) error {
	s, err := v.openSound(v.id())
	if err != nil {
		return missing(err)
	}
	defer s.close()
	h := v.w.Header()
	h.Set("Content-Type", orText(s.about.GetMediaType(), "audio/wav"))
	h.Set("Cache-Control", "private, no-cache")
	if s.about.GetEtag() != "" {
		h.Set("Etag", `"`+strings.Trim(s.about.GetEtag(), `"`)+`"`)
	}
	v.wrote = true
	http.ServeContent(v.w, v.r, "", time.Time{}, s)
	return nil
}

const (
	// bars is how many parts the picture of a recording has.
	bars = 300
	// maxPicture is the longest recording that is drawn, in bytes: an hour.
	maxPicture = 44 + 3600*32000
)

// lanes is the picture of a recording: the agent above the line, the caller below.
type lanes struct {
	Agent, Caller string // paths of an SVG, 3 units wide per bar and 60 units high
	Length        time.Duration
}

// pictures are recordings that were drawn, by id and ETag: an hour of sound takes half a second to read.
type pictures struct {
	mu    sync.Mutex
	drawn map[string]*lanes
}

// maxPictures bounds the memory of pictures, to about a megabyte.
const maxPictures = 128

func (p *pictures) find(key string) (*lanes, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.drawn[key]
	return l, ok
}

func (p *pictures) keep(key string, l *lanes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn == nil || len(p.drawn) >= maxPictures {
		p.drawn = map[string]*lanes{}
	}
	p.drawn[key] = l
}

// lanes is the picture of a recording that the visitor may hear. One that is gone, too long or of another form has none.
func (v *visit) lanes(id string) (*lanes, error) {
	s, err := v.openSound(id)
	if err != nil {
		if fault.FromStatus(err).Kind == fault.NotFound {
			return nil, nil
		}
		return nil, err
	}
	defer s.close()
	key := id + " " + s.about.GetEtag()
	l, ok := v.p.pictures.find(key)
	if !ok {
		if l, err = draw(s); err != nil {
			v.p.log.WarnContext(v.ctx, "a recording could not be drawn", "call_id", id, "err", err)
			return nil, nil
		}
		v.p.pictures.keep(key, l)
	}
	return l, nil
}

// draw reads a recording; nil for one that is too long or no stereo WAV of 16 bit.
func draw(s *sound) (*lanes, error) {
	frames := (s.about.GetSize() - 44) / 4
	if frames <= 0 || s.about.GetSize() > maxPicture {
		return nil, nil
	}
	head := make([]byte, 44)
	if _, err := io.ReadFull(s, head); err != nil {
		return nil, err
	}
	if string(head[:4]) != "RIFF" || binary.LittleEndian.Uint16(head[22:]) != 2 || binary.LittleEndian.Uint16(head[34:]) != 16 {
		return nil, nil
	}
	peaks, err := peaksOf(s, frames)
	if err != nil {
		return nil, err
	}
	rate := max(1, int64(binary.LittleEndian.Uint32(head[24:])))
	return &lanes{
		Agent:  lanePath(peaks[0][:], -1),
		Caller: lanePath(peaks[1][:], 1),
		Length: time.Duration(frames) * time.Second / time.Duration(rate),
	}, nil
}

// peaksOf is the largest magnitude in each part of both channels.
func peaksOf(in io.Reader, frames int64) (peaks [2][bars]int, err error) {
	block := make([]byte, 64<<10)
	for done := int64(0); done < frames; {
		part := block[:4*min(frames-done, int64(len(block)/4))]
		if _, err := io.ReadFull(in, part); err != nil {
			return peaks, err
		}
		for ; len(part) > 0; part, done = part[4:], done+1 {
			at := done * bars / frames
			for side := range 2 {
				v := int(int16(binary.LittleEndian.Uint16(part[2*side:])))
				peaks[side][at] = max(peaks[side][at], v, -v)
			}
		}
	}
	return peaks, nil
}

// lanePath draws bars that grow from the line in one direction. Small sounds show: the ear hears their logarithm.
func lanePath(peaks []int, direction int) string {
	var d strings.Builder
	for i, p := range peaks {
		level := math.Sqrt(float64(p) / 32768)
		h := max(1, int(math.Round(level*58)))
		fmt.Fprintf(&d, "M%d %dh2v%dh-2z", i*3, 60+2*direction, direction*h)
	}
	return d.String()
}
