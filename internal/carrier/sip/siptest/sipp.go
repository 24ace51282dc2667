package siptest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Sipp is a running scenario.
type Sipp struct {
	// Port is where it hears and sends.
	Port int
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	out  bytes.Buffer
	dir  string
}

// StartSipp runs a scenario file on the loopback. peer is "" for a scenario that is called, else whom it calls. It is
// stopped with the test; Wait tells how it went.
func StartSipp(t testing.TB, scenario, peer string, args ...string) *Sipp {
	t.Helper()
	return StartSippAt(t, FreePort(t), scenario, peer, args...)
}

// StartSippAt is the same at a port.
func StartSippAt(t testing.TB, port int, scenario, peer string, args ...string) *Sipp {
	t.Helper()
	program := Program(t, "sipp")
	path, err := filepath.Abs(scenario)
	if err != nil {
		t.Fatal(err)
	}
	s := &Sipp{Port: port, t: t, dir: t.TempDir(), done: make(chan struct{})}
	all := []string{
		"-sf", path, "-i", "127.0.0.1", "-p", fmt.Sprint(port), "-m", "1", "-nostdin", "-timeout", "40s", "-timeout_error",
		"-mi", "127.0.0.1", "-mp", fmt.Sprint(FreePort(t)),
		"-trace_err", "-error_file", filepath.Join(s.dir, "errors"), "-trace_msg", "-message_file", filepath.Join(s.dir, "messages"),
	}
	all = append(all, args...)
	if peer != "" {
		all = append(all, peer)
	}
	s.cmd = exec.CommandContext(context.Background(), program, all...)
	s.cmd.Dir = s.dir
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.Env = append(os.Environ(), "TERM=dumb")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.err = s.cmd.Wait(); close(s.done) }()
	t.Cleanup(func() {
		stop(s.cmd, s.done, os.Interrupt, func() <-chan struct{} { return after(2 * time.Second) })
		if t.Failed() {
			t.Logf("sipp said:\n%s", s.Trace())
		}
	})
	if peer == "" {
		s.listening()
	}
	return s
}

// listening waits until the program has its port.
func (s *Sipp) listening() {
	s.t.Helper()
	want := fmt.Sprintf(":%04X ", s.Port)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile("/proc/net/udp")
		tcp, _ := os.ReadFile("/proc/net/tcp")
		select {
		case <-s.done:
			s.t.Fatalf("sipp ended at once: %s", s.Trace())
		default:
		}
		if err != nil {
			time.Sleep(time.Second) // not Linux
			return
		}
		if bytes.Contains(text, []byte(want)) || bytes.Contains(tcp, []byte(want)) {
			return
		}
	}
	s.t.Fatalf("sipp did not start: %s", s.Trace())
}

// Wait waits for the end of the scenario and fails the test unless it went as written.
func (s *Sipp) Wait() {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(60 * time.Second):
		s.t.Fatalf("sipp does not end: %s", s.Trace())
	}
	if s.err != nil {
		s.t.Fatalf("the scenario did not go as written: %v", s.err)
	}
}

// Trace is what was said, and what went wrong.
func (s *Sipp) Trace() string {
	errors, _ := os.ReadFile(filepath.Join(s.dir, "errors"))
	messages, _ := os.ReadFile(filepath.Join(s.dir, "messages"))
	if len(messages) > 12000 {
		messages = messages[len(messages)-12000:]
	}
	said := ""
	select {
	case <-s.done: // it draws screens while it runs
		if len(errors) == 0 && len(messages) == 0 {
			said = s.out.String()
		}
	default:
	}
	return string(errors) + "\n" + string(messages) + said
}
