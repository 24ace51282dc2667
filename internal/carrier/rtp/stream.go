package rtp

import (
	"context"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

const (
	// stallTime without sound is EventMediaStalled.
	stallTime = 5 * time.Second
	// firstTimeout and timeout are how long a call goes on without any sign of the other side's media: before the first
	// one, and later.
	firstTimeout = 30 * time.Second
	timeout      = 15 * time.Second
	// receiveRounds of a batch are taken in a tick at most, so that a flood at one port does not cost the others theirs.
	receiveRounds = 32
	// reportEvery ticks the RTCP socket is looked at.
	reportEvery = 12
)

// phase of a stream's life.
type phase uint8

const (
	phaseNew phase = iota
	phaseEarly
	phaseLive
	phaseOver
)

// Stream is the sound of one call, from before its offer to its end. Its methods may be called by any goroutine.
type Stream struct {
	ports *Ports
	pair  *pair
	on    Handlers
	media *media
	tap   atomic.Pointer[func(carrier.Tick)]
	over  chan struct{} // closed at the end
	turn  chan struct{} // held by who sends digits

	mu     sync.Mutex
	phase  phase
	lane   *lane // nil until the first tick is due
	params Params
	frames int64 // media time in frames of 20 ms
	ended  *carrier.Ended
	stats  Stats

	// sending
	ssrc     uint32
	seq      uint16
	clock    uint32 // timestamp of media time 0
	marker   bool   // the next packet of sound is the first after a pause
	to       netip.AddrPort
	seal     sealer
	playout  carrier.Playout
	pressing *pressing
	octets   uint32

	// receiving
	source   source
	accepts  [128]use
	open     opener
	arrivals arrivals
	jitter   jitter
	pressed  pressed
	heard    time.Duration // media time of the last packet of the source
	alive    time.Duration // and of the last sign of life, RTCP included
	ever     bool          // something was heard since the answer
	stalled  bool
	gaveUp   bool

	// RTCP
	name     [16]byte
	toRTCP   netip.AddrPort
	fromRTCP netip.AddrPort // where the other side's RTCP was seen to come from
	report   time.Duration  // media time of the next one
	lastSR   uint32         // of the other side, and when it came
	lastSRAt time.Time

	// of the current tick
	agent, caller audio.Frame
	pcm           [maxPacketSamples]int16
	events        []carrier.Event
	at            time.Duration
	mark          func(uint64, string) // reached, bound once
}

// maxPacketSamples of a packet are understood: 120 ms, three times what is usual at most.
const maxPacketSamples = 960

// use is what a payload type means.
type use uint8

const (
	useNone use = iota
	usePCMU
	usePCMA
	useNoise
	useDigits
)

func newStream(p *Ports, pair *pair, h Handlers) *Stream {
	s := &Stream{
		ports: p, pair: pair, on: h, over: make(chan struct{}), turn: make(chan struct{}, 1),
		ssrc: rand.Uint32(), seq: uint16(rand.Uint32() >> 17), clock: rand.Uint32(), marker: true,
		events: make([]carrier.Event, 0, 8),
	}
	s.media = newMedia(s)
	s.mark = s.reached
	name := rand.Uint64()
	for i := range 8 {
		hex.Encode(s.name[2*i:], []byte{byte(name >> (8 * i))})
	}
	return s
}

// Port is the local RTP port, for our SDP; RTCP is the one after it.
func (s *Stream) Port() uint16 { return s.pair.port }

// Media is the sound as the engine sees it.
func (s *Stream) Media() carrier.Media { return s.media }

// At is the media time now, 0 before Start.
func (s *Stream) At() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.frames) * audio.FrameTime
}

// Early sends silence to the other side before the answer, which opens ways through NAT. What comes is thrown away:
// early media is no answer. It may be called again with other Params; after Start it does nothing.
func (s *Stream) Early(p Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase > phaseEarly {
		return s.err()
	}
	if err := s.take(p); err != nil {
		return err
	}
	s.phase = phaseEarly
	s.join()
	return nil
}

// Start is the answer: media time 0. A second one is an Update.
func (s *Stream) Start(p Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase > phaseEarly {
		if s.phase == phaseLive {
			return s.take(p)
		}
		return s.err()
	}
	if err := s.take(p); err != nil {
		return err
	}
	// What came before the answer is no part of the call. Sequence numbers, timestamps and keys go on from early media.
	s.pair.drain(newBatch())
	s.clock += uint32(s.frames * frame)
	s.source = source{}
	s.source.open(p, 0)
	s.frames, s.phase, s.stats = 0, phaseLive, Stats{}
	s.report = reportTime / 2
	s.join()
	return nil
}

// Update takes what a re-INVITE or UPDATE agreed on. The source is latched anew when Remote changes; keys that stay the
// same keep their state.
func (s *Stream) Update(p Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == phaseOver {
		return s.err()
	}
	return s.take(p)
}

// err is the end as an error, nil before. Called with mu held.
func (s *Stream) err() error {
	if s.ended == nil {
		return nil
	}
	return s.ended
}

// join has the stream ticked. Called with mu held.
func (s *Stream) join() {
	if s.lane == nil {
		s.lane = s.ports.lane()
		s.lane.join(s)
	}
}

// take puts params into effect. Called with mu held.
func (s *Stream) take(p Params) error {
	now := time.Duration(s.frames) * audio.FrameTime
	p.Remote = netip.AddrPortFrom(p.Remote.Addr().Unmap(), p.Remote.Port())
	p.RemoteRTCP = netip.AddrPortFrom(p.RemoteRTCP.Addr().Unmap(), p.RemoteRTCP.Port())
	moved := s.params.Remote.IsValid() && s.params.Remote != p.Remote
	if (p.SendKeys == nil) != (p.ReceiveKeys == nil) {
		return ErrKeys
	}
	if err := s.open.use(p.ReceiveKeys, now); err != nil {
		return err
	}
	rekeyed, err := s.seal.use(p.SendKeys)
	if err != nil {
		return err
	}
	if p.SendKeys != nil && (rekeyed || moved) {
		// A new SSRC begins with rollover counter 0, whatever the other side thinks of counters: one that was kept, or
		// another device at the new address.
		s.ssrc, s.seq = rand.Uint32(), uint16(rand.Uint32()>>17)
	}
	if s.params.Direction != p.Direction {
		s.heard, s.alive, s.stalled = now, now, false // the watchdog begins anew after a hold
	}
	s.accepts = [128]use{payloadNoise: useNoise}
	accept := p.Accept
	if len(accept) == 0 {
		accept = []Codec{p.Codec}
	}
	for _, c := range accept {
		s.accepts[c&0x7f] = map[Codec]use{PCMU: usePCMU, PCMA: usePCMA}[c]
	}
	if p.ReceiveDigits > 0 {
		s.accepts[p.ReceiveDigits&0x7f] = useDigits
	}
	if moved {
		s.fromRTCP = netip.AddrPort{}
	}
	s.params = p
	s.params.Accept = slices.Clone(accept)
	s.source.open(p, now)
	s.aim()
	return nil
}

func (d Direction) maySend() bool    { return d == SendRecv || d == SendOnly }
func (d Direction) mayReceive() bool { return d == SendRecv || d == RecvOnly }

// aim finds where to send. Called with mu held.
func (s *Stream) aim() {
	s.to = netip.AddrPort{}
	if r := s.params.Remote; r.IsValid() && !r.Addr().IsUnspecified() && r.Port() != 0 {
		s.to = r
	}
	if s.source.elsewhere() && s.to.IsValid() {
		s.to = s.source.from
	}
	switch rtcp := s.params.RemoteRTCP; {
	case !s.to.IsValid():
		s.toRTCP = netip.AddrPort{}
	case s.params.Mux:
		s.toRTCP = s.to
	case s.params.NAT && s.fromRTCP.IsValid():
		s.toRTCP = s.fromRTCP
	case rtcp.IsValid() && rtcp.Port() != 0:
		s.toRTCP = rtcp
	default:
		s.toRTCP = netip.AddrPortFrom(s.to.Addr(), s.to.Port()+1)
	}
}

// Close ends the sound and gives the ports back. Media returns ended from then on; a second Close does nothing. The
// other side is told by an RTCP BYE.
func (s *Stream) Close(ended *carrier.Ended) {
	s.mu.Lock()
	if s.phase == phaseOver {
		s.mu.Unlock()
		return
	}
	if s.phase == phaseLive {
		s.sendReport(time.Now(), true)
	}
	s.phase, s.ended = phaseOver, ended
	l := s.lane
	s.mu.Unlock()
	close(s.over)
	if l != nil {
		l.leave(s)
	}
	s.media.end(ended)
	s.ports.release(s)
	if log := s.ports.c.Log; log.Enabled(context.Background(), slog.LevelDebug) {
		log.Debug("sound of a call ended", "port", s.Port(), "figures", s.Stats())
	}
}

// SendDigits is that of carrier.Leg: it validates, and returns when the digits are on the line. While they are, sound
// that waits to be played waits. When ctx ends first, the rest of them is not sent.
func (s *Stream) SendDigits(ctx context.Context, digits string) error {
	if err := checkDigits(digits); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.over:
		return s.endedError()
	}
	defer func() { <-s.turn }()
	p := &pressing{digits: digits, done: make(chan struct{})}
	s.mu.Lock()
	if s.phase == phaseOver {
		defer s.mu.Unlock()
		return s.err()
	}
	s.pressing = p
	s.mu.Unlock()
	select {
	case <-p.done:
		return nil
	case <-s.over:
		return s.endedError()
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		p.cut()
		return ctx.Err()
	}
}

func (s *Stream) endedError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err()
}

// Stats may be asked for during the call and after it.
func (s *Stream) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Received, out.Lost = s.arrivals.received, s.arrivals.lost()
	out.Jitter = audio.Duration(int(s.arrivals.jitter))
	out.Delay = s.jitter.delay()
	if s.source.locked {
		out.From = s.source.from
	}
	return out
}

// tick is 20 ms of the stream's life, called by its lane. skip frames before it were left out.
func (s *Stream) tick(b *batch, now time.Time, skip int) {
	s.mu.Lock()
	if s.phase < phaseEarly || s.phase == phaseOver {
		s.mu.Unlock()
		return
	}
	s.frames += int64(skip) + 1
	s.at = time.Duration(s.frames) * audio.FrameTime
	s.events = s.events[:0]
	s.receive(b, now)
	if s.phase == phaseEarly {
		s.agent = audio.Frame{}
		s.sendSound(b)
		s.mu.Unlock()
		return
	}
	s.send(b)
	concealed := s.jitter.read(&s.caller)
	if concealed {
		s.stats.Concealed++
	}
	if s.frames%reportEvery == 0 {
		s.control(b, now)
	}
	lost := s.watch()
	s.mu.Unlock()

	// Only the lane comes here: what is of this tick stays as it is without the lock.
	if tap := s.tap.Load(); tap != nil {
		(*tap)(carrier.Tick{At: s.at, Agent: &s.agent, Caller: &s.caller})
	}
	s.media.deliver(&s.caller, s.at, concealed)
	if s.on.Event != nil {
		for _, e := range s.events {
			s.on.Event(e)
		}
	}
	if lost != nil && s.on.Timeout != nil {
		s.on.Timeout(lost)
	}
}

func (s *Stream) emit(e carrier.Event) {
	e.At = s.at
	s.events = append(s.events, e)
}

// reached is told by the playout of the marks that are passed.
func (s *Stream) reached(turn uint64, mark string) {
	s.emit(carrier.Event{Kind: carrier.EventMark, Turn: turn, Mark: mark})
}

// watch looks whether the other side is still there.
func (s *Stream) watch() (lost *carrier.Ended) {
	if s.params.Direction != SendRecv {
		return nil
	}
	switch silent := s.at - s.heard; {
	case !s.stalled && silent >= stallTime:
		s.stalled = true
		s.emit(carrier.Event{Kind: carrier.EventMediaStalled})
	case s.stalled && silent < stallTime:
		s.stalled = false
		s.emit(carrier.Event{Kind: carrier.EventMediaRecovered})
	}
	limit := timeout
	if !s.ever {
		limit = firstTimeout
	}
	if s.gaveUp || s.at-s.alive < limit {
		return nil
	}
	s.gaveUp = true
	message := "No sound has come from the other side for 15 seconds."
	if !s.ever {
		message = "No sound ever came from the other side."
	}
	return &carrier.Ended{Class: carrier.ClassIndeterminate, Reason: carrier.ReasonMediaTimeout, Message: message}
}
