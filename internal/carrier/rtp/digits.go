package rtp

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

// Digits as named telephone events, RFC 4733.

// keys in the order of their event codes.
const keypad = "0123456789*#ABCD"

// pressed makes digits of the event packets that come in: each press once, whatever is lost or comes twice.
type pressed struct {
	known     bool
	timestamp uint32
	code      byte
	duration  uint16
	over      bool
	at        time.Duration // media time of the last packet
}

// stillPressed is how long after the last packet of a press, its end unseen, another one of the same key belongs to it
// although its timestamp says otherwise: some devices count it up within a press.
const stillPressed = 60 * time.Millisecond

// take takes the payload of an event packet and returns the key if it is a new press, "" otherwise. bad is for what is no
// event.
func (p *pressed) take(timestamp uint32, payload []byte, at time.Duration) (key string, bad bool) {
	if len(payload) < 4 {
		return "", true
	}
	code, over, duration := payload[0], payload[1]&0x80 != 0, binary.BigEndian.Uint16(payload[2:])
	if int(code) >= len(keypad) {
		return "", false // flash and tones of other services
	}
	same := p.known && p.code == code &&
		(timestamp == p.timestamp || !p.over && at <= p.at+stillPressed)
	old := p.known && int32(timestamp-p.timestamp) < 0 && int32(timestamp-p.timestamp) > -audio.Rate*2
	if same || old {
		if same {
			p.over = p.over || over
			p.timestamp, p.at = timestamp, at
			p.duration = duration
		}
		return "", false
	}
	*p = pressed{known: true, timestamp: timestamp, code: code, duration: duration, over: over, at: at}
	return keypad[code : code+1], false
}

const (
	pressTicks = 5 // 100 ms
	gapTicks   = 4 // between two digits, the end packets of the first in it
	endPackets = 3
	waitTicks  = 25 // w
	// eventVolume is -10 dBm0.
	eventVolume = 10
	toneLevel   = 0.25
)

var digitString = regexp.MustCompile(`^[0-9*#A-Dw]{1,64}$`)

func checkDigits(digits string) error {
	if !digitString.MatchString(digits) {
		return fmt.Errorf("%q are no digits", digits)
	}
	return nil
}

// pressing sends digits, one step a tick.
type pressing struct {
	digits string // the rest, the current one first
	tick   int    // within the current one
	start  uint32 // timestamp of the current event
	done   chan struct{}
	tone   []int16 // of the current key, where there are no events
}

// beat is what one tick of pressing puts on the line.
type beat struct {
	event    bool // an event packet instead of sound, or a tone when there are no events
	first    bool // the first packet of the event
	code     byte
	end      bool
	repeats  int // how often the packet goes out
	duration uint16
	index    int // of the tick within the press
}

// next goes on by one tick; over after the last.
func (p *pressing) next() (b beat, over bool) {
	if p.digits == "" {
		return b, true
	}
	length := pressTicks + gapTicks
	if p.digits[0] == 'w' {
		length = waitTicks
	} else {
		b = p.beat()
	}
	if p.tick++; p.tick == length {
		p.digits, p.tick = p.digits[1:], 0
	}
	return b, false
}

func (p *pressing) beat() beat {
	code := byte(strings.IndexByte(keypad, p.digits[0]))
	switch {
	case p.tick < pressTicks:
		return beat{event: true, first: p.tick == 0, code: code, repeats: 1, duration: uint16((p.tick + 1) * frame), index: p.tick}
	case p.tick == pressTicks:
		// The end goes out three times at once (RFC 4733 §2.5.1.4).
		return beat{event: true, end: true, code: code, repeats: endPackets, duration: pressTicks * frame, index: -1}
	}
	return beat{}
}

// payload writes the event of a beat.
func (b beat) append(to []byte) []byte {
	flags := byte(eventVolume)
	if b.end {
		flags |= 0x80
	}
	return binary.BigEndian.AppendUint16(append(to, b.code, flags), b.duration)
}

// The tones of the keypad in Hz, rows and columns.
var (
	rowTones    = [4]float64{697, 770, 852, 941}
	columnTones = [4]float64{1209, 1336, 1477, 1633}
	keyRows     = [4]string{"123A", "456B", "789C", "*0#D"}
)

// keyTone is a key's sound for lines without events.
func keyTone(code byte) []int16 {
	for r, row := range keyRows {
		if c := strings.IndexByte(row, keypad[code]); c >= 0 {
			low := audio.Tone(rowTones[r], toneLevel, pressTicks*audio.FrameTime)
			for i, s := range audio.Tone(columnTones[c], toneLevel, pressTicks*audio.FrameTime) {
				low[i] += s
			}
			return low
		}
	}
	return nil
}
