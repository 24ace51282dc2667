package rtp

import (
	"encoding/binary"
	"time"
)

// RTCP as far as a call of two needs it (RFC 3550 §6): sender and receiver reports with a CNAME, BYE at the end.

const (
	rtcpSender   = 200
	rtcpReceiver = 201
	rtcpNames    = 202
	rtcpBye      = 203
	// reportTime is the time between two reports, half as much more or less by chance.
	reportTime = 5 * time.Second
)

// report is what one of our reports tells.
type report struct {
	ssrc      uint32
	now       time.Time
	timestamp uint32
	packets   uint32
	octets    uint32
	// of the source that is heard; none when of is 0 and nothing was received
	heard   bool
	of      uint32
	lost    uint64
	share   uint8 // of 256 since the last report
	newest  uint32
	jitter  uint32
	lastSR  uint32
	delay   uint32 // since then, in 1/65536 s
	name    [16]byte
	leaving bool
}

// append writes the compound packet.
func (r *report) append(b []byte) []byte {
	blocks := byte(0)
	if r.heard {
		blocks = 1
	}
	b = append(b, 0x80|blocks, rtcpSender, 0, 6+6*blocks)
	b = binary.BigEndian.AppendUint32(b, r.ssrc)
	b = binary.BigEndian.AppendUint64(b, ntp(r.now))
	b = binary.BigEndian.AppendUint32(b, r.timestamp)
	b = binary.BigEndian.AppendUint32(b, r.packets)
	b = binary.BigEndian.AppendUint32(b, r.octets)
	if r.heard {
		b = binary.BigEndian.AppendUint32(b, r.of)
		b = binary.BigEndian.AppendUint32(b, uint32(r.share)<<24|uint32(min(r.lost, 0x7fffff)))
		b = binary.BigEndian.AppendUint32(b, r.newest)
		b = binary.BigEndian.AppendUint32(b, r.jitter)
		b = binary.BigEndian.AppendUint32(b, r.lastSR)
		b = binary.BigEndian.AppendUint32(b, r.delay)
	}
	// SDES with the CNAME, padded to a whole word with at least one zero.
	b = append(b, 0x81, rtcpNames, 0, 6)
	b = binary.BigEndian.AppendUint32(b, r.ssrc)
	b = append(b, 1, byte(len(r.name)))
	b = append(b, r.name[:]...)
	b = append(b, 0, 0)
	if r.leaving {
		b = append(b, 0x81, rtcpBye, 0, 1)
		b = binary.BigEndian.AppendUint32(b, r.ssrc)
	}
	return b
}

// ntp is a time in 32.32 seconds since 1900.
func ntp(t time.Time) uint64 {
	const since1900 = 2208988800
	return uint64(t.Unix()+since1900)<<32 | uint64(t.Nanosecond())<<32/uint64(time.Second)
}

// heardReport is what the other side's reports tell us.
type heardReport struct {
	sender bool   // there was a sender report
	ntp    uint32 // its time, middle 32 bits
	about  bool   // there was a block about us
	lost   uint32
	jitter uint32
	lastSR uint32
	delay  uint32
}

// parseRTCP reads a compound packet; about is our SSRC. false for what is none.
func parseRTCP(data []byte, about uint32) (h heardReport, ok bool) {
	for first := true; len(data) > 0; first = false {
		if len(data) < 8 || data[0]>>6 != 2 {
			return h, false
		}
		size := 4 * (int(binary.BigEndian.Uint16(data[2:])) + 1)
		if size > len(data) || size < 8 {
			return h, false
		}
		kind, blocks := data[1], int(data[0]&0x1f)
		if first && kind != rtcpSender && kind != rtcpReceiver {
			return h, false
		}
		packet := data[:size]
		data = data[size:]
		at := 8
		switch kind {
		case rtcpSender:
			if size < 28 {
				return h, false
			}
			h.sender, h.ntp = true, binary.BigEndian.Uint32(packet[10:])
			at = 28
		case rtcpReceiver:
		default:
			continue
		}
		for range blocks {
			if len(packet) < at+24 {
				return h, false
			}
			if block := packet[at:]; binary.BigEndian.Uint32(block) == about {
				h.about = true
				h.lost = binary.BigEndian.Uint32(block[4:]) & 0xffffff
				if h.lost&0x800000 != 0 {
					h.lost = 0 // negative: more came than was sent
				}
				h.jitter = binary.BigEndian.Uint32(block[12:])
				h.lastSR = binary.BigEndian.Uint32(block[16:])
				h.delay = binary.BigEndian.Uint32(block[20:])
			}
			at += 24
		}
	}
	return h, true
}
