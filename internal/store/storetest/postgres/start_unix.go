//go:build unix

package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// nobody runs the server when the tests run as root, whom PostgreSQL refuses.
const nobody = 65534

// supervise runs the server until standard input ends, which is when the process with the other end of the pipe is gone,
// however it ended; then it removes the folder.
const supervise = `"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c synchronous_commit=off \
 -c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0 -c max_connections=200 -c shared_buffers=64MB \
 -c autovacuum=off -c max_wal_size=2GB </dev/null & read _; kill -QUIT $!; wait $!; rm -rf "$2"`

// lifeline is our end of the pipe. It is never closed.
//
//lint:ignore U1000 it only has to live as long as the process
var lifeline *os.File

// start makes a cluster in a new folder and runs it on a socket there.
func start(bin string) (*Instance, error) {
	dir, err := os.MkdirTemp(shortTemp(), "callwright-pg-")
	if err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal must not reach the supervisor
	if os.Getuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return nil, err
		}
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.SysProcAttr = attr
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := run(bin, dir, attr); err != nil {
		return nil, err
	}
	s := &Instance{URL: "postgres:///postgres?" + url.Values{"host": {dir}, "user": {"postgres"}}.Encode()}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.reachable(ctx); err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return s, nil
}

func run(bin, dir string, attr *syscall.SysProcAttr) error {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	stdin, lifelineEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	lifeline = lifelineEnd
	server := exec.Command("/bin/sh", "-c", supervise, "sh", bin, dir)
	server.Stdin, server.Stdout, server.Stderr = stdin, log, log
	server.SysProcAttr = attr
	server.Dir = dir
	return server.Start()
}

// shortTemp is a folder for sockets, whose paths are limited to about 100 characters.
func shortTemp() string {
	if t := os.TempDir(); len(t) < 60 {
		return t
	}
	return "/tmp"
}
