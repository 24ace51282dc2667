package sdp

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ErrNothingCommon means that the other side offers no sound that we can take: SIP 488.
var ErrNothingCommon = errors.New("sdp: no audio stream in common")

// SRTP is whether the sound is encrypted.
type SRTP string

// The ways of SRTP.
const (
	// SRTPOff never encrypts.
	SRTPOff SRTP = "off"
	// SRTPOptional offers plain sound and takes encrypted sound where it is offered.
	SRTPOptional SRTP = "optional"
	// SRTPRequired refuses plain sound.
	SRTPRequired SRTP = "required"
)

// The SDES suites that we speak, best first. Both have a key of 16 and a salt of 14 bytes.
const (
	SuiteSHA80 = "AES_CM_128_HMAC_SHA1_80"
	SuiteSHA32 = "AES_CM_128_HMAC_SHA1_32"
	keyLength  = 30
)

// eventFormat is the payload type of telephone-events in our offers.
const eventFormat = "101"

// Local is what one of our legs has to say.
type Local struct {
	// Addr and Port are where we want the sound.
	Addr netip.Addr
	Port int
	// ID of the o= line, the same for all descriptions of a leg; Version grows with each.
	ID, Version uint64
	SRTP        SRTP
	// Direction of an offer. Defaults to sendrecv.
	Direction Direction
	// Key is our SDES key; it stays the same over a leg as long as the port does. Needed unless SRTP is off.
	Key string
	// Codec, when set, is the only one that is offered or taken: "PCMU" or "PCMA".
	Codec string
}

// Agreed is what both sides settled on.
type Agreed struct {
	// Remote is where our sound goes. It may be unspecified (0.0.0.0): then nothing is sent.
	Remote netip.AddrPort
	// RemoteRTCP is where our reports go when it is not the port after Remote's; the zero value otherwise.
	RemoteRTCP netip.AddrPort
	// Codec is what we send: PCMU or PCMA, with payload type 0 or 8. Accepts are those that may come.
	Codec   string
	Accepts []string
	// SendEvents and ReceiveEvents are the payload types of telephone-events; 0 when there are none.
	SendEvents, ReceiveEvents uint8
	// Direction is ours: whether we may send and will receive.
	Direction Direction
	// Held tells that the other side does not listen and wants us to wait.
	Held bool
	// Suite is the SRTP suite, "" for plain sound. The keys are master key and salt.
	Suite               string
	LocalKey, RemoteKey [keyLength]byte
}

// NewKey makes an SDES key.
func NewKey() string {
	key := make([]byte, keyLength)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// Offer is a description that opens a negotiation.
func Offer(l Local) *Session {
	m := Media{
		Kind: "audio", Port: l.Port, Proto: "RTP/AVP", Addr: l.Addr, Direction: l.Direction,
		Codecs: map[string]string{"0": "PCMU/8000", "8": "PCMA/8000", eventFormat: "telephone-event/8000"},
		Params: map[string]string{eventFormat: "0-15"},
	}
	if m.Direction == "" {
		m.Direction = SendRecv
	}
	switch l.Codec {
	case "PCMU":
		m.Formats = []string{"0", eventFormat}
	case "PCMA":
		m.Formats = []string{"8", eventFormat}
	default:
		m.Formats = []string{"0", "8", eventFormat}
	}
	if l.SRTP == SRTPRequired {
		m.Proto = "RTP/SAVP"
		m.Crypto = []Crypto{{Tag: 1, Suite: SuiteSHA80, Key: l.Key}, {Tag: 2, Suite: SuiteSHA32, Key: l.Key}}
	}
	return &Session{ID: l.ID, Version: l.Version, Addr: l.Addr, Media: []Media{m}}
}

// Answer answers an offer line by line: the best audio line is taken, every other refused with port 0.
func Answer(offer *Session, l Local) (*Session, *Agreed, error) {
	answer := &Session{ID: l.ID, Version: l.Version, Addr: l.Addr}
	taken := -1
	var best Agreed
	var line Media
	for i := range offer.Media {
		m := &offer.Media[i]
		got, reply, ok := take(m, l)
		if ok && (taken < 0 || best.Suite == "" && got.Suite != "") {
			taken, best, line = i, got, reply
		}
	}
	if taken < 0 {
		return nil, nil, ErrNothingCommon
	}
	for i := range offer.Media {
		m := &offer.Media[i]
		if i == taken {
			answer.Media = append(answer.Media, line)
			continue
		}
		formats := m.Formats
		if len(formats) == 0 {
			formats = []string{"0"}
		}
		answer.Media = append(answer.Media, Media{Kind: m.Kind, Proto: m.Proto, Formats: formats[:1]})
	}
	return answer, &best, nil
}

// take answers one line of an offer, if it can be used.
func take(m *Media, l Local) (a Agreed, reply Media, ok bool) {
	if !usable(m) {
		return a, reply, false
	}
	codec, format, ok := choose(m, l.Codec)
	if !ok {
		return a, reply, false
	}
	reply = Media{
		Kind: m.Kind, Port: l.Port, Proto: m.Proto, Addr: l.Addr,
		Formats: []string{format}, Codecs: map[string]string{format: codec + "/8000"}, Params: map[string]string{},
	}
	a = Agreed{Codec: codec, Accepts: []string{codec}}
	if secure(m.Proto) {
		crypto, key, ok := chooseCrypto(m.Crypto)
		own, err := decodeKey(l.Key)
		if l.SRTP == SRTPOff || l.SRTP == "" || !ok || err != nil {
			return a, reply, false
		}
		a.Suite, a.LocalKey, a.RemoteKey = crypto.Suite, own, key
		reply.Crypto = []Crypto{{Tag: crypto.Tag, Suite: crypto.Suite, Key: l.Key}}
	} else if l.SRTP == SRTPRequired {
		return a, reply, false
	}
	if events, ok := eventsOf(m); ok {
		a.SendEvents, a.ReceiveEvents = uint8(events), uint8(events)
		format := strconv.Itoa(events)
		reply.Formats = append(reply.Formats, format)
		reply.Codecs[format], reply.Params[format] = "telephone-event/8000", "0-15"
	}
	a.remote(m)
	reply.Direction = a.Direction
	return a, reply, true
}

// Accept reads the answer to an offer of ours.
func Accept(offer, answer *Session) (*Agreed, error) {
	if len(offer.Media) == 0 || len(answer.Media) == 0 {
		return nil, ErrNothingCommon
	}
	ours, m := &offer.Media[0], &answer.Media[0]
	if !usable(m) || secure(ours.Proto) != secure(m.Proto) {
		return nil, ErrNothingCommon
	}
	codec, format, ok := choose(m, "")
	if !ok || !slices.Contains(ours.Formats, format) {
		return nil, ErrNothingCommon
	}
	a := &Agreed{Codec: codec}
	for _, f := range ours.Formats {
		if own := codecs[f]; own != "" {
			a.Accepts = append(a.Accepts, own)
		}
	}
	if secure(m.Proto) {
		crypto, key, ok := chooseCrypto(m.Crypto)
		if !ok {
			return nil, ErrNothingCommon
		}
		i := slices.IndexFunc(ours.Crypto, func(c Crypto) bool { return c.Tag == crypto.Tag && c.Suite == crypto.Suite })
		if i < 0 {
			return nil, ErrNothingCommon
		}
		own, err := decodeKey(ours.Crypto[i].Key)
		if err != nil {
			return nil, err
		}
		a.Suite, a.LocalKey, a.RemoteKey = crypto.Suite, own, key
	}
	if events, ok := eventsOf(m); ok {
		own, _ := strconv.Atoi(eventFormat)
		a.SendEvents, a.ReceiveEvents = uint8(events), uint8(own)
	}
	a.remote(m)
	return a, nil
}

// remote takes where the sound goes and who sends.
func (a *Agreed) remote(m *Media) {
	a.Remote = netip.AddrPortFrom(m.Addr, uint16(m.Port))
	switch {
	case m.Mux && m.RTCP == m.Port:
		a.RemoteRTCP = a.Remote
	case m.RTCP != 0 && m.RTCP != m.Port+1:
		a.RemoteRTCP = netip.AddrPortFrom(m.Addr, uint16(m.RTCP))
	}
	a.Direction = m.Direction.reverse()
	if m.Addr.IsUnspecified() { // how hold was asked for before RFC 3264
		a.Direction = RecvOnly
		a.RemoteRTCP = netip.AddrPort{}
	}
	a.Held = !a.Direction.Sends()
}

func usable(m *Media) bool {
	switch m.Proto {
	case "RTP/AVP", "RTP/SAVP", "RTP/AVPF", "RTP/SAVPF":
		return m.Kind == "audio" && m.Port != 0 && m.Addr.IsValid()
	}
	return false
}

func secure(proto string) bool { return strings.HasPrefix(proto, "RTP/SAVP") }

// codecs are what we speak, by payload type. Types 0 and 8 need no rtpmap (RFC 3551).
var codecs = map[string]string{"0": "PCMU", "8": "PCMA"}

// choose finds the first codec of a line that we speak.
func choose(m *Media, only string) (codec, format string, ok bool) {
	for _, f := range m.Formats {
		codec := codecs[f]
		if codec == "" || only != "" && codec != only {
			continue
		}
		if name := m.Codecs[f]; name == "" || strings.EqualFold(strings.TrimSuffix(name, "/1"), codec+"/8000") {
			return codec, f, true
		}
	}
	return "", "", false
}

// eventsOf finds the telephone-events of a line.
func eventsOf(m *Media) (int, bool) {
	for _, f := range m.Formats {
		n, err := strconv.Atoi(f)
		if err == nil && n > 0 && n <= 127 && strings.EqualFold(strings.TrimSuffix(m.Codecs[f], "/1"), "telephone-event/8000") {
			return n, true
		}
	}
	return 0, false
}

// chooseCrypto finds the first key that we can use.
func chooseCrypto(all []Crypto) (Crypto, [keyLength]byte, bool) {
	for _, c := range all {
		if c.MKI || c.Suite != SuiteSHA80 && c.Suite != SuiteSHA32 {
			continue
		}
		if key, err := decodeKey(c.Key); err == nil {
			return c, key, true
		}
	}
	return Crypto{}, [keyLength]byte{}, false
}

func decodeKey(text string) (key [keyLength]byte, err error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(text)
	}
	if err != nil || len(raw) != keyLength {
		return key, errors.New("sdp: bad SRTP key")
	}
	return [keyLength]byte(raw), nil
}
