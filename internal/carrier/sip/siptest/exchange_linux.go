package siptest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

// Exchange is many telephones that answer at once, speak, listen to when each packet comes, and hang up: the other end of
// a load test. It runs in a process of its own (this test binary, started again), so that its work is not counted.
type Exchange struct {
	// Port is where it hears SIP, on the loopback.
	Port int

	in  *json.Encoder
	out *json.Decoder
}

// Figures are what the telephones measured.
type Figures struct {
	// Calls were answered; Hungup of them were ended by the other side.
	Calls, Hungup  int
	Sent, Received int
	// Gaps between packets of one call in milliseconds, by the kernel's clock.
	P50, P99, P999, Max float64
}

// exchangeOrder is what the child is told.
type exchangeOrder struct {
	Talk float64          // seconds until the telephones hang up; 0: leave it
	Echo []netip.AddrPort // send packets there, which are sent back
	For  float64          // so many seconds
}

const exchangeEnv = "CALLWRIGHT_EXCHANGE"

func init() {
	if os.Getenv(exchangeEnv) == "" {
		return
	}
	if err := newExchange().serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// StartExchange starts one whose telephones hang up after talk.
func StartExchange(t testing.TB, talk time.Duration) *Exchange {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), exchangeEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	e := &Exchange{in: json.NewEncoder(in), out: json.NewDecoder(out)}
	if err := e.out.Decode(&e.Port); err != nil {
		t.Fatal(err)
	}
	e.ask(t, exchangeOrder{Talk: talk.Seconds()})
	return e
}

func (e *Exchange) ask(t testing.TB, o exchangeOrder) (f Figures) {
	t.Helper()
	if err := e.in.Encode(o); err != nil {
		t.Fatal(err)
	}
	if err := e.out.Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

// Figures are those since the last time.
func (e *Exchange) Figures(t testing.TB) Figures { return e.ask(t, exchangeOrder{}) }

// Echo sends a packet of sound every 20 ms to each address, which must send it back, for d.
func (e *Exchange) Echo(t testing.TB, to []netip.AddrPort, d time.Duration) Figures {
	return e.ask(t, exchangeOrder{Echo: to, For: d.Seconds()})
}

// exchange is the child.
type exchange struct {
	sip   *net.UDPConn
	sound [100][]byte // two seconds: speech, then silence

	mu    sync.Mutex
	talk  time.Duration
	lines []*extension
	calls map[string]*extension
	fig   Figures
	gaps  []float64
}

// extension is one telephone.
type extension struct {
	conn  *net.UDPConn
	to    netip.AddrPort
	n     int // packets sent
	ssrc  uint32
	last  time.Time
	heard int
	bye   []byte // to be sent at
	until time.Time
	hung  bool // up, by us
	peer  netip.AddrPort
}

func newExchange() *exchange {
	e := &exchange{calls: map[string]*extension{}}
	for i := range e.sound {
		pcm := make([]int16, audio.FrameSamples)
		if i < len(e.sound)/2 {
			pcm = audio.Tone(200+float64(i%7)*40, 0.3, audio.FrameTime)
		}
		e.sound[i] = audio.EncodeUlaw(nil, pcm)
	}
	return e
}

func (e *exchange) serve() (err error) {
	if e.sip, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return err
	}
	_ = e.sip.SetReadBuffer(4 << 20)
	out, in := json.NewEncoder(os.Stdout), json.NewDecoder(os.Stdin)
	if err := out.Encode(e.sip.LocalAddr().(*net.UDPAddr).Port); err != nil {
		return err
	}
	go e.signal()
	go e.speak()
	for {
		var o exchangeOrder
		if in.Decode(&o) != nil {
			return nil
		}
		if o.Talk > 0 {
			e.mu.Lock()
			e.talk = time.Duration(o.Talk * float64(time.Second))
			e.mu.Unlock()
		}
		if len(o.Echo) > 0 {
			e.echo(o)
		}
		if err := out.Encode(e.figures()); err != nil {
			return err
		}
	}
}

// figures takes what was measured.
func (e *exchange) figures() Figures {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.fig
	if n := len(e.gaps); n > 0 {
		slices.Sort(e.gaps)
		q := func(p float64) float64 { return e.gaps[min(int(float64(n)*p), n-1)] }
		f.P50, f.P99, f.P999, f.Max = q(0.5), q(0.99), q(0.999), e.gaps[n-1]
	}
	e.fig, e.gaps = Figures{}, nil
	return f
}

// echo has telephones without signalling for a while.
func (e *exchange) echo(o exchangeOrder) {
	var lines []*extension
	for _, to := range o.Echo {
		if x := e.extend(to, time.Now().Add(time.Duration(o.For*float64(time.Second)))); x != nil {
			lines = append(lines, x)
		}
	}
	time.Sleep(time.Duration(o.For * float64(time.Second)))
	for _, x := range lines {
		_ = x.conn.Close()
	}
}

// extend puts a telephone to work.
func (e *exchange) extend(to netip.AddrPort, until time.Time) *extension {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1) })
	}
	x := &extension{conn: conn, to: to, until: until}
	e.mu.Lock()
	defer e.mu.Unlock()
	x.ssrc = uint32(len(e.lines) + 1)
	e.lines = append(e.lines, x)
	go e.hear(x)
	return x
}

// hear notes when packets come.
func (e *exchange) hear(x *extension) {
	buffer, control := make([]byte, 1500), make([]byte, 64)
	for {
		_, n, _, _, err := x.conn.ReadMsgUDPAddrPort(buffer, control)
		if err != nil {
			return
		}
		at := time.Now()
		if n >= syscall.CmsgLen(16) {
			stamp := control[syscall.CmsgLen(0):]
			at = time.Unix(int64(binary.NativeEndian.Uint64(stamp)), int64(binary.NativeEndian.Uint64(stamp[8:])))
		}
		e.mu.Lock()
		e.fig.Received++
		x.heard++
		if x.heard > 50 { // the first second is the call's setting up
			e.gaps = append(e.gaps, at.Sub(x.last).Seconds()*1000)
		}
		x.last = at
		e.mu.Unlock()
	}
}

// speak sends for all telephones, a few in each millisecond, and hangs up.
func (e *exchange) speak() {
	began := time.Now()
	packet := make([]byte, 0, 172)
	for slot := 0; ; slot++ {
		time.Sleep(time.Until(began.Add(time.Duration(slot) * time.Millisecond)))
		now := time.Now()
		e.mu.Lock()
		lines := e.lines
		e.mu.Unlock()
		for i := slot % 20; i < len(lines); i += 20 {
			x := lines[i]
			if now.After(x.until) {
				e.leave(x)
				continue
			}
			packet = append(packet[:0], 0x80, 0)
			packet = binary.BigEndian.AppendUint16(packet, uint16(x.n))
			packet = binary.BigEndian.AppendUint32(packet, uint32(x.n*audio.FrameSamples))
			packet = binary.BigEndian.AppendUint32(packet, x.ssrc)
			packet = append(packet, e.sound[(x.n+i)%len(e.sound)]...)
			if _, err := x.conn.WriteToUDPAddrPort(packet, x.to); err == nil {
				e.mu.Lock()
				e.fig.Sent++
				e.mu.Unlock()
			}
			x.n++
		}
	}
}

// leave hangs up, again each second until that is answered.
func (e *exchange) leave(x *extension) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x.bye != nil && !x.hung {
		_, _ = e.sip.WriteToUDPAddrPort(x.bye, x.peer)
		x.until = time.Now().Add(time.Second)
	}
}

var (
	soundAddr = regexp.MustCompile(`(?m)^c=IN IP4 (\S+)`)
	soundPort = regexp.MustCompile(`(?m)^m=audio (\d+)`)
)

// signal answers what comes: INVITE and BYE with 200. It is as simple as a load test may be.
func (e *exchange) signal() {
	buffer := make([]byte, 8192)
	for {
		n, from, err := e.sip.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		text := string(buffer[:n])
		method, _, _ := strings.Cut(text, " ")
		switch method {
		case "INVITE":
			e.invited(text, from)
		case "BYE", "CANCEL", "OPTIONS", "UPDATE":
			e.mu.Lock()
			if x := e.calls[header(text, "Call-ID")]; method == "BYE" && x != nil && !x.hung {
				x.hung = true
				x.until = time.Time{}
				e.fig.Hungup++
				_ = x.conn.Close()
			}
			e.mu.Unlock()
			e.answer(text, from, "200 OK", "")
		case "SIP/2.0": // of our BYE
			e.mu.Lock()
			if x := e.calls[header(text, "Call-ID")]; x != nil && strings.HasPrefix(text, "SIP/2.0 200") && !x.hung {
				x.hung = true
				_ = x.conn.Close()
			}
			e.mu.Unlock()
		}
	}
}

func (e *exchange) invited(text string, from netip.AddrPort) {
	id := header(text, "Call-ID")
	e.mu.Lock()
	x, talk := e.calls[id], e.talk
	e.mu.Unlock()
	if x == nil {
		addr, port := soundAddr.FindStringSubmatch(text), soundPort.FindStringSubmatch(text)
		if addr == nil || port == nil {
			return
		}
		to, err := netip.ParseAddrPort(addr[1] + ":" + port[1])
		if err != nil {
			return
		}
		if x = e.extend(to, time.Now().Add(talk)); x == nil {
			return
		}
		contact := strings.Trim(header(text, "Contact"), "<>")
		contact, _, _ = strings.Cut(contact, ">")
		bye := fmt.Sprintf("BYE %s SIP/2.0\r\nVia: SIP/2.0/UDP %s;branch=z9hG4bK-bye-%d;rport\r\nMax-Forwards: 70\r\n"+
			"From: %s;tag=x%d\r\nTo: %s\r\nCall-ID: %s\r\nCSeq: 1 BYE\r\nContent-Length: 0\r\n\r\n",
			contact, e.sip.LocalAddr(), x.ssrc, header(text, "To"), x.ssrc, header(text, "From"), id)
		e.mu.Lock()
		x.bye, x.peer = []byte(bye), from
		e.calls[id] = x
		e.fig.Calls++
		e.mu.Unlock()
	}
	body := fmt.Sprintf("v=0\r\no=- %d 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio %d RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=sendrecv\r\n",
		x.ssrc, x.conn.LocalAddr().(*net.UDPAddr).Port)
	e.answer(text, from, "200 OK", body, fmt.Sprintf(";tag=x%d", x.ssrc))
}

// answer sends a response to a request.
func (e *exchange) answer(text string, to netip.AddrPort, status, body string, tag ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "SIP/2.0 %s\r\n", status)
	for _, line := range strings.Split(text, "\r\n")[1:] {
		if line == "" {
			break
		}
		name, _, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "via", "from", "call-id", "cseq", "record-route":
			b.WriteString(line + "\r\n")
		case "to":
			b.WriteString(line + strings.Join(tag, "") + "\r\n")
		}
	}
	fmt.Fprintf(&b, "Contact: <sip:exchange@%s>\r\n", e.sip.LocalAddr())
	if body != "" {
		b.WriteString("Content-Type: application/sdp\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	_, _ = e.sip.WriteToUDPAddrPort([]byte(b.String()), to)
}

// header is the value of a header field.
func header(text, name string) string {
	for _, line := range strings.Split(text, "\r\n") {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(key, name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
