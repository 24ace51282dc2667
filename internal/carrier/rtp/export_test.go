package rtp

import (
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Network is a network in memory: what is sent arrives when the test says, by the clock of the test's bubble.
type Network struct {
	mu            sync.Mutex
	sockets       map[netip.AddrPort]*memory
	bound, closed int // sockets of Ports
	// Refuse makes the next bindings fail.
	Refuse error
}

// Arrived is a packet as a peer got it.
type Arrived struct {
	Data []byte
	From netip.AddrPort
	At   time.Time
}

type memory struct {
	n       *Network
	at      netip.AddrPort
	queue   []packet // by time of arrival
	counted bool
}

func NewNetwork() *Network { return &Network{sockets: map[netip.AddrPort]*memory{}} }

// Bound counts the sockets that Ports have opened.
func (n *Network) Bound() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bound
}

// Closed counts those that were closed again.
func (n *Network) Closed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// Config puts Ports into the network.
func (n *Network) Config(c Config) Config {
	if !c.Address.IsValid() {
		c.Address = netip.MustParseAddr("192.0.2.1")
	}
	c.listen = func(at netip.AddrPort) (socket, error) {
		s, err := n.Listen(at)
		if err != nil {
			return nil, err
		}
		s.counted = true
		n.bound++
		return s, nil
	}
	return c
}

// Lanes gives Ports another number of lanes, each with fill streams before the next is used.
func Lanes(c Config, lanes, fill int) Config {
	c.lanes, c.fill = lanes, fill
	return c
}

// Listen makes a socket: of a peer, or of Ports.
func (n *Network) Listen(at netip.AddrPort) (*memory, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Refuse != nil {
		return nil, n.Refuse
	}
	if _, taken := n.sockets[at]; taken {
		return nil, syscall.EADDRINUSE
	}
	s := &memory{n: n, at: at}
	n.sockets[at] = s
	return s, nil
}

// Send has a packet arrive after delay.
func (s *memory) Send(data []byte, to netip.AddrPort, delay time.Duration) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	at := time.Now().Add(delay)
	if other := s.n.sockets[to]; other != nil {
		i, _ := slices.BinarySearchFunc(other.queue, at, func(p packet, at time.Time) int {
			if p.at.After(at) {
				return 1
			}
			return -1
		})
		other.queue = slices.Insert(other.queue, i, packet{data: slices.Clone(data), from: s.at, at: at})
	}
}

// Received takes what has arrived.
func (s *memory) Received() (all []Arrived) {
	for {
		p, ok := s.take()
		if !ok {
			return all
		}
		all = append(all, Arrived{Data: p.data, From: p.from, At: p.at})
	}
}

func (s *memory) take() (packet, bool) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if len(s.queue) == 0 || s.queue[0].at.After(time.Now()) {
		return packet{}, false
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	return p, true
}

func (s *memory) send(data []byte, to netip.AddrPort) error {
	s.Send(data, to, 0)
	return nil
}

func (s *memory) receive(b *batch) int {
	for i := range b.packets {
		p, ok := s.take()
		if !ok {
			return i
		}
		b.packets[i] = p
	}
	return len(b.packets)
}

func (s *memory) close() {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if s.n.sockets[s.at] == s {
		delete(s.n.sockets, s.at)
		if s.counted {
			s.n.closed++
		}
	}
}

// Addr is the socket's own.
func (s *memory) Addr() netip.AddrPort { return s.at }

// Parse splits an RTP packet.
func Parse(data []byte) (p Packet, ok bool) {
	h, payload, ok := parse(data)
	if ok {
		payload, ok = unpad(data, payload)
	}
	return Packet{Marker: h.marker, Type: h.payload, Seq: h.seq, Timestamp: h.timestamp, SSRC: h.ssrc, Payload: payload}, ok
}

// Packet is an RTP packet.
type Packet struct {
	Marker    bool
	Type      uint8
	Seq       uint16
	Timestamp uint32
	SSRC      uint32
	Payload   []byte
}

// Bytes is the packet on the wire.
func (p Packet) Bytes() []byte {
	h := header{marker: p.Marker, payload: p.Type, seq: p.Seq, timestamp: p.Timestamp, ssrc: p.SSRC}
	return append(h.append(nil), p.Payload...)
}

// ParseRTCP is for the fuzzer.
func ParseRTCP(data []byte) bool {
	_, ok := parseRTCP(data, 1)
	return ok
}

// Seal encrypts as a peer with keys does.
func Seal(k *Keys) func([]byte) []byte {
	s := &sealer{}
	if _, err := s.use(k); err != nil {
		panic(err)
	}
	return func(packet []byte) []byte {
		sealed, err := s.rtp(append(make([]byte, 0, len(packet)+16), packet...))
		if err != nil {
			panic(err)
		}
		return sealed
	}
}

// Open decrypts as a peer with keys does.
func Open(k *Keys) func([]byte) ([]byte, bool) {
	o := &opener{}
	if err := o.use(k, 0); err != nil {
		panic(err)
	}
	return func(packet []byte) ([]byte, bool) {
		p, _ := Parse(packet)
		return o.rtp(slices.Clone(packet), p.SSRC, 0)
	}
}

// Socket is a real socket of the system's, with the kernel's times of arrival.
type Socket struct {
	s socket
	b *batch
}

// ListenUDP opens one on a port of the loopback that the system chooses; Addr must be told by the caller, so the port is
// tried until one is free.
func ListenUDP() (*Socket, netip.AddrPort, error) {
	for port := uint16(40001); ; port += 2 {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
		s, err := listen(at)
		if err == nil {
			return &Socket{s: s, b: newBatch()}, at, nil
		}
		if port > 60000 {
			return nil, at, err
		}
	}
}

// Receive has f called for what has come.
func (s *Socket) Receive(f func(data []byte, from netip.AddrPort, at time.Time)) {
	for {
		n := s.s.receive(s.b)
		for _, p := range s.b.packets[:n] {
			f(p.data, p.from, p.at)
		}
		if n < batchSize {
			return
		}
	}
}

// Send is of the socket.
func (s *Socket) Send(data []byte, to netip.AddrPort) error { return s.s.send(data, to) }

// Close is of the socket.
func (s *Socket) Close() { s.s.close() }

// Unpaced keeps a stream that was not started from the lanes: Tick is called by the test.
func (s *Stream) Unpaced() (tick func()) {
	s.lane = &lane{}
	b := newBatch()
	return func() { s.tick(b, time.Now(), 0) }
}

// Report is an RTCP report of a peer, of which about is heard.
func Report(ssrc, about uint32, lost uint64, lastSR uint32, now time.Time) []byte {
	r := report{ssrc: ssrc, now: now, heard: true, of: about, lost: lost, jitter: 80, lastSR: lastSR}
	return r.append(nil)
}

// SealRTCP encrypts as a peer with keys does.
func SealRTCP(k *Keys) func([]byte) []byte {
	s := &sealer{}
	if _, err := s.use(k); err != nil {
		panic(err)
	}
	return func(packet []byte) []byte {
		sealed, err := s.rtcp(packet)
		if err != nil {
			panic(err)
		}
		return sealed
	}
}

// The bounds that tests compare with.
const (
	RestTime     = restTime
	RestLimit    = restLimit
	RestingPairs = restingPairs
	ReplayWindow = replayWindow
)

// Network gives a peer of the network in memory that the stream is in.
func (s *Stream) Network(at netip.AddrPort) *memory {
	peer, err := s.pair.rtp.(*memory).n.Listen(at)
	if err != nil {
		panic(err)
	}
	return peer
}

// Presses takes event payloads.
func Presses() func(timestamp uint32, payload []byte, at time.Duration) string {
	p := &pressed{}
	return func(timestamp uint32, payload []byte, at time.Duration) string {
		key, _ := p.take(timestamp, payload, at)
		return key
	}
}
