//go:build !(linux && (amd64 || arm64))

package rtp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Elsewhere a goroutine per socket reads into a queue that drops the newest when it is full, as the kernel's does.

const queued = 64

type systemBatch struct{}

func (*systemBatch) prepare() {}

type udp struct {
	conn  *net.UDPConn
	queue chan packet
}

func listen(at netip.AddrPort) (socket, error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("bind UDP %s: %w", at, err)
	}
	u := &udp{conn: conn, queue: make(chan packet, queued)}
	go u.read()
	return u, nil
}

func (u *udp) read() {
	buffer := make([]byte, packetSize)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(buffer)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // an ICMP error of something sent
			continue
		}
		p := packet{data: append([]byte(nil), buffer[:n]...), from: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), at: time.Now()}
		select {
		case u.queue <- p:
		default:
		}
	}
}

func (u *udp) receive(b *batch) int {
	for n := range batchSize {
		select {
		case b.packets[n] = <-u.queue:
		default:
			return n
		}
	}
	return batchSize
}

func (u *udp) send(packet []byte, to netip.AddrPort) error {
	_, err := u.conn.WriteToUDPAddrPort(packet, to)
	return err
}

func (u *udp) close() { _ = u.conn.Close() }
