// Package siptest has the other sides of telephone calls for tests: sipp, which follows a scenario to the letter, and
// baresip, a telephone. Both are programs that somebody installs (on Debian sip-tester and baresip-core); without them
// tests are skipped, loudly, unless CI_REQUIRE_SIP=1.
package siptest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Program finds a peer's program, or skips the test.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI_REQUIRE_SIP") != "" {
		t.Fatalf("%s is not installed, and CI_REQUIRE_SIP is set", name)
	}
	t.Skipf("SKIPPED: %s is not installed; on Debian: apt-get install sip-tester baresip-core", name)
	return ""
}

// FreePort is a UDP and TCP port of the loopback that nobody has: none of those that the system gives to whoever asks for
// any, which would have it soon, and none that was asked for here before.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 200 {
		port := 12000 + 2*rand.IntN(9000)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp4", addr)
		if err != nil {
			continue
		}
		u, err := net.ListenPacket("udp4", addr)
		l.Close()
		if err == nil {
			u.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// given are the ports of this process's tests.
var given sync.Map

// stop ends a process that was started here, softly first.
func stop(cmd *exec.Cmd, done <-chan struct{}, soft os.Signal, patience func() <-chan struct{}) {
	_ = cmd.Process.Signal(soft)
	select {
	case <-done:
	case <-patience():
		_ = cmd.Process.Kill()
		<-done
	}
}
