package siptest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

// Telephone is how a baresip behaves.
type Telephone struct {
	// Answer lets it answer by itself.
	Answer bool
	// SRTP is empty, "srtp" (offered) or "srtp-mand" (demanded).
	SRTP string
	// Codecs in the order of preference: "pcmu", "pcma".
	Codecs string
	// Transport is udp (default), tcp or tls.
	Transport string
	// Source is a WAV file, 8 kHz mono, that it speaks; it hangs up at its end. Without one it hums 500 Hz for two minutes.
	Source string
	// Number is what it can be called by. Defaults to +15005550199.
	Number string
}

// Baresip is a running telephone.
type Baresip struct {
	// Port is where it hears SIP.
	Port int
	dir  string

	mu     sync.Mutex
	conn   net.Conn
	events []Event
	news   chan struct{} // closed at the next event
	log    bytes.Buffer
}

// Event is something that happened to a telephone: CALL_INCOMING, CALL_ESTABLISHED, CALL_CLOSED, CALL_DTMF_START, …
type Event struct {
	Type  string `json:"type"`
	Param string `json:"param"`
	Peer  string `json:"peeruri"`
}

// StartBaresip starts a telephone on the loopback; it is stopped with the test. It tells the address of another interface
// for its sound, where there is one, and sends from the loopback: as behind NAT.
func StartBaresip(t testing.TB, how Telephone) *Baresip {
	t.Helper()
	program := Program(t, "baresip")
	b := &Baresip{Port: FreePort(t), dir: t.TempDir(), news: make(chan struct{})}
	control := FreePort(t)
	b.configure(t, how, control)
	cmd := exec.Command(program, "-f", b.dir)
	cmd.Stdout, cmd.Stderr = (*locked)(b), (*locked)(b)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		stop(cmd, done, os.Interrupt, func() <-chan struct{} { return after(3 * time.Second) })
		if t.Failed() {
			t.Logf("baresip said:\n%s", b.Log())
		}
	})
	b.connect(t, control)
	return b
}

func after(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// locked writes into the telephone's log.
type locked Baresip

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// Log is what the program printed.
func (b *Baresip) Log() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return status.ReplaceAllString(b.log.String(), "")
}

// status is the line that the program prints ten times a second.
var status = regexp.MustCompile(`\s*\[\d+:\d\d:\d\d\] +audio=[^\[\n]*\(bit/s\)`)

func (b *Baresip) configure(t testing.TB, how Telephone, control int) {
	t.Helper()
	modules := "/usr/lib/baresip/modules"
	if found, _ := filepath.Glob("/usr/lib/*/baresip/modules"); len(found) > 0 {
		modules = found[0]
	}
	source := how.Source
	if source == "" {
		source = filepath.Join(b.dir, "hum.wav")
		if err := os.WriteFile(source, WAV(audio.Tone(500, 0.3, 2*time.Minute)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rtp := 30000 + b.Port%20000/20*20
	lines := []string{
		"poll_method epoll",
		fmt.Sprintf("sip_listen 127.0.0.1:%d", b.Port),
		"audio_player aubridge,sink", "audio_source aufile," + source, "audio_alert aubridge,alert",
		"audio_level no", "ausrc_srate 8000", "auplay_srate 8000", "ausrc_channels 1", "auplay_channels 1",
		"call_max_calls 100", "call_local_timeout 120",
		fmt.Sprintf("rtp_ports %d-%d", rtp, rtp+400), "rtp_stats no",
		"module_path " + modules,
		"module g711.so", "module aufile.so", "module aubridge.so", "module sndfile.so", "module srtp.so",
		"module_tmp account.so", "module_app menu.so", "module_app ctrl_tcp.so",
		fmt.Sprintf("ctrl_tcp_listen 127.0.0.1:%d", control),
		"snd_path " + b.dir,
	}
	account := fmt.Sprintf("<sip:%s@127.0.0.1:%d;transport=%s>;regint=0;audio_codecs=%s", orElse(how.Number, "+15005550199"), b.Port, orElse(how.Transport, "udp"), orElse(how.Codecs, "pcmu,pcma"))
	if how.Answer {
		account += ";answermode=auto"
	}
	if how.SRTP != "" {
		account += ";mediaenc=" + how.SRTP
	}
	for name, text := range map[string]string{"config": strings.Join(lines, "\n") + "\n", "accounts": account + "\n", "contacts": "\n"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// WAV is sound as a file: 16 bit, 8 kHz, mono.
func WAV(pcm []int16) []byte {
	var b bytes.Buffer
	size := uint32(2 * len(pcm))
	b.WriteString("RIFF")
	for _, v := range []any{36 + size, [8]byte([]byte("WAVEfmt ")), uint32(16), uint16(1), uint16(1), uint32(8000), uint32(16000),
		uint16(2), uint16(16), [4]byte([]byte("data")), size, pcm} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}

// connect opens the telephone's remote control.
func (b *Baresip) connect(t testing.TB, port int) {
	t.Helper()
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			b.conn = conn
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("baresip did not start:\n%s", b.Log())
		}
	}
	t.Cleanup(func() { _ = b.conn.Close() })
	go b.listen()
}

// listen reads netstrings: responses and events.
func (b *Baresip) listen() {
	r := bufio.NewReader(b.conn)
	for {
		head, err := r.ReadString(':')
		if err != nil {
			return
		}
		n, err := strconv.Atoi(strings.TrimSuffix(head, ":"))
		if err != nil {
			return
		}
		body := make([]byte, n+1)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var e Event
		if json.Unmarshal(body[:n], &e) != nil || e.Type == "" {
			continue
		}
		b.mu.Lock()
		b.events = append(b.events, e)
		close(b.news)
		b.news = make(chan struct{})
		b.mu.Unlock()
	}
}

// Do gives the telephone a command of its menu: "dial sip:…", "accept", "hangup", "sndcode 5", "hold", "resume".
func (b *Baresip) Do(t testing.TB, command, params string) {
	t.Helper()
	text, _ := json.Marshal(map[string]string{"command": command, "params": params, "token": "t"})
	if _, err := fmt.Fprintf(b.conn, "%d:%s,", len(text), text); err != nil {
		t.Fatal(err)
	}
}

// Wait waits for the next event of a type after the first skip ones of it.
func (b *Baresip) Wait(t testing.TB, kind string, skip int) Event {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		b.mu.Lock()
		n := 0
		for _, e := range b.events {
			if e.Type == kind {
				if n == skip {
					b.mu.Unlock()
					return e
				}
				n++
			}
		}
		news := b.news
		b.mu.Unlock()
		select {
		case <-news:
		case <-timeout:
			t.Fatalf("baresip had no %s; it had %v", kind, b.Events())
		}
	}
}

// Events is what has happened so far.
func (b *Baresip) Events() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Event(nil), b.events...)
}

// Heard is the WAV file of what the last call brought, after its end.
func (b *Baresip) Heard(t testing.TB) string { return b.dump(t, "dec") }

func (b *Baresip) dump(t testing.TB, which string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(b.dir, "*-"+which+".wav"))
	if len(files) == 0 {
		t.Fatalf("baresip kept no sound")
	}
	return files[len(files)-1]
}
