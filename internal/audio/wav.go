package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const wavHeaderSize = 44

// StereoWAV writes a recording: PCM 16 bit, 8 kHz, left agent, right caller (CONTRACT.md §2, recording), 32 KB a second.
// The header stands from the start and has the sizes of an empty file until Close; [RepairWAV] mends what a crash left.
type StereoWAV struct {
	file   io.WriteSeeker
	buffer *bufio.Writer
	frames int
	bytes  [4 * FrameSamples]byte
}

// NewStereoWAV writes the header to the beginning of an empty file. It does not close the file.
func NewStereoWAV(file io.WriteSeeker) (*StereoWAV, error) {
	if _, err := file.Write(wavHeader(2, 0)); err != nil {
		return nil, fmt.Errorf("write the header of a recording: %w", err)
	}
	return &StereoWAV{file: file, buffer: bufio.NewWriterSize(file, 16<<10)}, nil
}

// Write adds 20 ms; nil is silence.
func (w *StereoWAV) Write(agent, caller *Frame) error {
	var silence Frame
	if agent == nil {
		agent = &silence
	}
	if caller == nil {
		caller = &silence
	}
	for i := range FrameSamples {
		binary.LittleEndian.PutUint16(w.bytes[4*i:], uint16(agent[i]))
		binary.LittleEndian.PutUint16(w.bytes[4*i+2:], uint16(caller[i]))
	}
	w.frames++
	_, err := w.buffer.Write(w.bytes[:])
	return err
}

// Frames is how many were written.
func (w *StereoWAV) Frames() int { return w.frames }

// Flush hands everything written so far to the file, so that a crash keeps it.
func (w *StereoWAV) Flush() error { return w.buffer.Flush() }

// Close flushes and puts the sizes into the header.
func (w *StereoWAV) Close() error {
	if err := w.buffer.Flush(); err != nil {
		return fmt.Errorf("write a recording: %w", err)
	}
	return patchWAV(w.file, 2, int64(w.frames)*4*FrameSamples)
}

// RepairWAV corrects the header of a stereo recording whose writer died: sizes from the file's length, half a sample at
// the end left out. A file that is too short for a header becomes an empty recording. It is safe on a complete file.
func RepairWAV(file io.WriteSeeker) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("measure a recording: %w", err)
	}
	return patchWAV(file, 2, max(size-wavHeaderSize, 0)/4*4)
}

func patchWAV(file io.WriteSeeker, channels int, size int64) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("correct the header of a recording: %w", err)
	}
	if _, err := file.Write(wavHeader(channels, size)); err != nil {
		return fmt.Errorf("correct the header of a recording: %w", err)
	}
	_, err := file.Seek(0, io.SeekEnd)
	return err
}

func wavHeader(channels int, size int64) []byte {
	h := make([]byte, 0, wavHeaderSize)
	h = append(h, "RIFF"...)
	h = binary.LittleEndian.AppendUint32(h, uint32(size)+wavHeaderSize-8)
	h = append(h, "WAVEfmt "...)
	h = binary.LittleEndian.AppendUint32(h, 16)
	h = binary.LittleEndian.AppendUint16(h, 1) // PCM
	h = binary.LittleEndian.AppendUint16(h, uint16(channels))
	h = binary.LittleEndian.AppendUint32(h, Rate)
	h = binary.LittleEndian.AppendUint32(h, uint32(Rate*2*channels))
	h = binary.LittleEndian.AppendUint16(h, uint16(2*channels))
	h = binary.LittleEndian.AppendUint16(h, 16)
	h = append(h, "data"...)
	return binary.LittleEndian.AppendUint32(h, uint32(size))
}

// WAV is a decoded file.
type WAV struct {
	Rate int
	// Channels have equal lengths.
	Channels [][]int16
}

// maxWAV bounds what ReadWAV takes: 200 MB is over an hour and a half of stereo recording.
const maxWAV = 200 << 20

// ReadWAV decodes PCM 16 bit of any rate and up to 8 channels. Sizes are taken as hints, since programs that write to a
// pipe do not know them: a data chunk ends with the file if that comes first.
func ReadWAV(r io.Reader) (WAV, error) {
	all, err := io.ReadAll(io.LimitReader(r, maxWAV+1))
	if err != nil {
		return WAV{}, fmt.Errorf("read a WAV file: %w", err)
	}
	if len(all) > maxWAV {
		return WAV{}, errors.New("WAV file is too large")
	}
	if len(all) < 12 || string(all[:4]) != "RIFF" || string(all[8:12]) != "WAVE" {
		return WAV{}, errors.New("not a WAV file")
	}
	var out WAV
	for rest := all[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), int(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		chunk := rest[:min(size, len(rest))]
		switch id {
		case "fmt ":
			if err := out.format(chunk); err != nil {
				return WAV{}, err
			}
		case "data":
			if len(out.Channels) == 0 {
				return WAV{}, errors.New("WAV file has its data before its format")
			}
			out.samples(chunk)
			return out, nil
		}
		rest = rest[min(size+size&1, len(rest)):]
	}
	return WAV{}, errors.New("WAV file has no data")
}

func (w *WAV) format(chunk []byte) error {
	if len(chunk) < 16 {
		return errors.New("WAV file has a short format")
	}
	coding, channels := binary.LittleEndian.Uint16(chunk), int(binary.LittleEndian.Uint16(chunk[2:]))
	bits := binary.LittleEndian.Uint16(chunk[14:])
	w.Rate = int(binary.LittleEndian.Uint32(chunk[4:]))
	if (coding != 1 && coding != 0xfffe) || bits != 16 || channels < 1 || channels > 8 || w.Rate < 1 || w.Rate > 192000 {
		return fmt.Errorf("WAV file has coding %d with %d bits, %d channels at %d Hz: not supported", coding, bits, channels, w.Rate)
	}
	w.Channels = make([][]int16, channels)
	return nil
}

func (w *WAV) samples(chunk []byte) {
	n := len(w.Channels)
	count := len(chunk) / (2 * n)
	for c := range w.Channels {
		pcm := make([]int16, count)
		for i := range pcm {
			pcm[i] = int16(binary.LittleEndian.Uint16(chunk[2*(i*n+c):]))
		}
		w.Channels[c] = pcm
	}
}
