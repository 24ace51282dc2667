package rtp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

// far is the other end of all calls of a benchmark, in a process of its own so that its CPU is not counted: this test
// binary, started again.
type far struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
	At  []netip.AddrPort
}

// figures are what the far end measured.
type figures struct {
	Sent, Received int
	// Gaps between packets of one call in milliseconds, by the kernel's clock.
	P50, P99, P999, Max float64
}

type order struct {
	To      []netip.AddrPort
	Seconds float64
	Key     string // of SRTP, as in a=crypto
}

const farEnv = "CALLWRIGHT_RTP_FAR"

func startFar(b *testing.B, calls int) *far {
	f := &far{cmd: exec.Command(os.Args[0])}
	f.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", farEnv, calls))
	f.cmd.Stderr = os.Stderr
	in, err := f.cmd.StdinPipe()
	require.NoError(b, err)
	out, err := f.cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, f.cmd.Start())
	b.Cleanup(func() { _ = in.Close(); _ = f.cmd.Wait() })
	f.in, f.out = json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	require.NoError(b, f.out.Decode(&f.At))
	return f
}

// run has the far end send to all addresses and returns what it measured and what the run cost this process.
func (f *far) run(b *testing.B, to []netip.AddrPort, d time.Duration, key string) (got figures, cpu time.Duration) {
	require.NoError(b, f.in.Encode(order{To: to, Seconds: d.Seconds(), Key: key}))
	before := cpuUsed()
	require.NoError(b, f.out.Decode(&got))
	return got, cpuUsed() - before
}

func cpuUsed() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// beFar is the far end, until its input ends.
func beFar(calls int) error {
	sockets := make([]*rtp.Socket, calls)
	at := make([]netip.AddrPort, calls)
	for i := range sockets {
		var err error
		if sockets[i], at[i], err = rtp.ListenUDP(); err != nil {
			return err
		}
	}
	out, in := json.NewEncoder(os.Stdout), json.NewDecoder(os.Stdin)
	if err := out.Encode(at); err != nil {
		return err
	}
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			return nil
		}
		if err := out.Encode(exchange(sockets, o)); err != nil {
			return err
		}
	}
}

// exchange sends a packet of sound every 20 ms on every socket, a few sockets each millisecond, and notes what comes.
func exchange(sockets []*rtp.Socket, o order) (f figures) {
	sound := audio.EncodeUlaw(nil, voice(time.Second))
	last := make([]time.Time, len(sockets))
	gaps := make([]float64, 0, 1<<20)
	seal := make([]func([]byte) []byte, len(sockets))
	for i := range seal {
		seal[i] = func(b []byte) []byte { return b }
		if k, err := rtp.ParseKeys(string(rtp.AES128SHA1Tag80), o.Key); err == nil {
			seal[i] = rtp.Seal(k)
		}
	}
	began := time.Now()
	for slot := 0; time.Since(began) < time.Duration(o.Seconds*float64(time.Second)); slot++ {
		time.Sleep(time.Until(began.Add(time.Duration(slot) * time.Millisecond)))
		for i := slot % 20; i < len(sockets); i += 20 {
			n := slot / 20
			p := rtp.Packet{Seq: uint16(n), Timestamp: uint32(160 * n), SSRC: uint32(i + 1), Payload: sound[160*(n%50):][:160]}
			if sockets[i].Send(seal[i](p.Bytes()), o.To[i]) == nil {
				f.Sent++
			}
			sockets[i].Receive(func(_ []byte, _ netip.AddrPort, at time.Time) {
				f.Received++
				if !last[i].IsZero() && at.Sub(began) > time.Second {
					gaps = append(gaps, at.Sub(last[i]).Seconds()*1000)
				}
				last[i] = at
			})
		}
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		q := func(p float64) float64 { return gaps[min(int(float64(len(gaps))*p), len(gaps)-1)] }
		f.P50, f.P99, f.P999, f.Max = q(0.5), q(0.99), q(0.999), gaps[len(gaps)-1]
	}
	return f
}

// tape records a call as the engine does: the tap copies, another goroutine writes.
type tape struct {
	full chan *chunk
	cur  *chunk
	pool *sync.Pool
	wav  *audio.StereoWAV
}

type chunk struct {
	n      int
	frames [50][2]audio.Frame
}

func newTape(b *testing.B, pool *sync.Pool, i int) *tape {
	file, err := os.Create(filepath.Join(b.TempDir(), fmt.Sprint(i)))
	require.NoError(b, err)
	wav, err := audio.NewStereoWAV(file)
	require.NoError(b, err)
	t := &tape{full: make(chan *chunk, 5), pool: pool, wav: wav}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for c := range t.full {
			for i := range c.n {
				_ = wav.Write(&c.frames[i][0], &c.frames[i][1])
			}
			c.n = 0
			pool.Put(c)
		}
	}()
	b.Cleanup(func() { close(t.full); <-written; _ = wav.Close(); _ = file.Close() })
	return t
}

func (t *tape) tick(k carrier.Tick) {
	if t.cur == nil {
		t.cur = t.pool.Get().(*chunk)
	}
	t.cur.frames[t.cur.n] = [2]audio.Frame{*k.Agent, *k.Caller}
	if t.cur.n++; t.cur.n == len(t.cur.frames) {
		select {
		case t.full <- t.cur:
			t.cur = nil
		default:
			t.cur.n = 0
		}
	}
}

// BenchmarkStreams holds calls both ways for some seconds, recorded, and prints what they cost beside a bare UDP echo
// of the same packets in the same run. Goal at 100 calls: 25 µs a packet pair, 99 % of the gaps up to 25 ms.
func BenchmarkStreams(b *testing.B) {
	const calls = 100
	duration := 5 * time.Second
	rtp.Prefer() // as the program does
	for range b.N {
		f := startFar(b, calls)
		b.Run("bare echo", func(b *testing.B) { benchmarkEcho(b, f, calls, duration) })
		b.Run("streams", func(b *testing.B) { benchmarkStreams(b, f, calls, duration, rtp.Config{}, nil) })
		b.Run("streams with SRTP", func(b *testing.B) {
			benchmarkStreams(b, f, calls, duration, rtp.Config{}, rtp.NewKeys(rtp.AES128SHA1Tag80))
		})
		b.Run("streams, a goroutine each", func(b *testing.B) {
			benchmarkStreams(b, f, calls, duration, rtp.Lanes(rtp.Config{}, calls, 1), nil)
		})
	}
}

func report(b *testing.B, f figures, cpu time.Duration, d time.Duration) {
	pairs := float64(f.Sent)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(cpu.Microseconds())/pairs, "µs/pair")
	b.ReportMetric(cpu.Seconds()/d.Seconds(), "cores")
	b.ReportMetric(f.P50, "p50-ms")
	b.ReportMetric(f.P99, "p99-ms")
	b.ReportMetric(f.P999, "p999-ms")
	b.ReportMetric(f.Max, "max-ms")
}

func benchmarkEcho(b *testing.B, f *far, calls int, d time.Duration) {
	if b.N > 1 {
		return
	}
	to := make([]netip.AddrPort, calls)
	for i := range to {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		to[i] = conn.LocalAddr().(*net.UDPAddr).AddrPort()
		go func() {
			buffer := make([]byte, 1500)
			for {
				n, from, err := conn.ReadFromUDPAddrPort(buffer)
				if err != nil {
					return
				}
				_, _ = conn.WriteToUDPAddrPort(buffer[:n], from)
			}
		}()
	}
	got, cpu := f.run(b, to, d, "")
	report(b, got, cpu, d)
}

func benchmarkStreams(b *testing.B, f *far, calls int, d time.Duration, c rtp.Config, keys *rtp.Keys) {
	if b.N > 1 {
		return
	}
	c.Address = netip.MustParseAddr("127.0.0.1")
	c.From, c.To = 20000, 30000
	ports, err := rtp.New(c)
	require.NoError(b, err)
	speech := voice(20 * time.Second)
	pool := &sync.Pool{New: func() any { return new(chunk) }}
	tapes := make([]*tape, calls)
	for i := range tapes {
		tapes[i] = newTape(b, pool, i)
	}
	before := memory()
	streams := make([]*rtp.Stream, calls)
	to := make([]netip.AddrPort, calls)
	for i := range streams {
		streams[i], err = ports.Stream(rtp.Handlers{})
		require.NoError(b, err)
		to[i] = netip.AddrPortFrom(c.Address, streams[i].Port())
		streams[i].Media().Tap(tapes[i].tick)
		require.NoError(b, streams[i].Media().Enqueue(1, speech))
		require.NoError(b, streams[i].Start(rtp.Params{Remote: f.At[i], SendKeys: keys, ReceiveKeys: keys}))
		go func() {
			var frame carrier.Frame
			for streams[i].Media().ReadFrame(&frame) == nil {
			}
		}()
	}
	each := (memory() - before) / calls
	key := ""
	if keys != nil {
		key = keys.Inline()
	}
	got, cpu := f.run(b, to, d, key)
	var lost, late, concealed, strangers uint64
	for _, s := range streams {
		stats := s.Stats()
		lost, late, concealed, strangers = lost+stats.Lost, late+stats.Late, concealed+stats.Concealed, strangers+stats.Strangers
	}
	late99 := ports.Lateness()
	require.NoError(b, ports.Close()) // before the tapes are
	report(b, got, cpu, d)
	b.ReportMetric(float64(each)/1024, "KiB/call")
	b.ReportMetric(float64(lost), "lost")
	b.ReportMetric(float64(late), "late")
	b.ReportMetric(float64(concealed), "concealed")
	b.ReportMetric(float64(late99.Milliseconds()), "late-tick-p99-ms")
}

// memory is what the heap and the stacks have.
func memory() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
