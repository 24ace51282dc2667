package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// capped accepts a connection only while fewer than n are open; the next ones wait in the kernel's queue.
func capped(l net.Listener, n int) net.Listener {
	return &cappedListener{Listener: l, free: make(chan struct{}, n), closed: make(chan struct{})}
}

type cappedListener struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *cappedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &cappedConn{Conn: c, release: func() { <-l.free }}, nil
}

func (l *cappedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type cappedConn struct {
	net.Conn
	once    sync.Once
	release func()
}

func (c *cappedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}

// plain puts net/http's own refusals into our error body. A request that it can not parse (malformed percent-encoding, a
// header that is too large) is answered by it in plain text before any handler runs, in one Write of a fixed form.
func plain(l net.Listener) net.Listener { return plainListener{l} }

type plainListener struct{ net.Listener }

func (l plainListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &plainConn{c}, nil
}

type plainConn struct{ net.Conn }

var (
	refusalStart = []byte("HTTP/1.1 ")
	// No handler's answer has these three headers alone: ours all carry more.
	refusalHeader = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
)

func (c *plainConn) Write(b []byte) (int, error) {
	if len(b) > 1024 || !bytes.HasPrefix(b, refusalStart) || !bytes.Contains(b, refusalHeader) {
		return c.Conn.Write(b)
	}
	status, err := strconv.Atoi(string(b[len(refusalStart) : len(refusalStart)+3]))
	if err != nil {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(refusal(status)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// refusal is the answer to a request that could not be read.
func refusal(status int) []byte {
	code, message := "validation_failed", "the request is malformed"
	if status == http.StatusRequestHeaderFieldsTooLarge {
		code, message = "header_too_large", "the header of the request is larger than 16 KiB"
	}
	body, _ := json.Marshal(failure{status, code, message})
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nService-Version: %s\r\n"+
		"X-Content-Type-Options: nosniff\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), Version, len(body), body)
}
