//go:build linux && (amd64 || arm64)

package rtp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"
	"time"
	"unsafe"
)

// The sockets are the system's own, in no poller: nothing wakes up when a packet comes, the lane looks when its time has
// come. All packets that wait are taken with one system call, each with the time at which the kernel got it.

const (
	controlSize  = 64
	expedited    = 46 << 2 // DSCP EF, RFC 4594
	dontWait     = syscall.MSG_DONTWAIT
	controlStamp = syscall.SCM_TIMESTAMPNS
)

type message struct {
	header syscall.Msghdr
	length uint32
}

// systemBatch is what recvmmsg works on.
type systemBatch struct {
	messages [batchSize]message
	vectors  [batchSize]syscall.Iovec
	names    [batchSize]syscall.RawSockaddrInet6
	controls [batchSize][controlSize]byte
	data     [batchSize][packetSize]byte
}

func (b *systemBatch) prepare() {
	for i := range batchSize {
		b.vectors[i].Base = &b.data[i][0]
		b.vectors[i].SetLen(packetSize)
		h := &b.messages[i].header
		h.Iov, h.Iovlen = &b.vectors[i], 1
		h.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		h.Control = &b.controls[i][0]
	}
}

type udp struct {
	fd int
	v6 bool
}

// listen opens a socket. EADDRINUSE, EMFILE and their like are told as they are.
func listen(at netip.AddrPort) (socket, error) {
	family := syscall.AF_INET
	if at.Addr().Is6() {
		family = syscall.AF_INET6
	}
	fd, err := syscall.Socket(family, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a UDP socket: %w", err)
	}
	u := &udp{fd: fd, v6: family == syscall.AF_INET6}
	if u.v6 {
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_TCLASS, expedited)
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0)
		err = syscall.Bind(fd, &syscall.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()})
	} else {
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, syscall.IP_TOS, expedited)
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()})
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("bind UDP %s: %w", at, err)
	}
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	return u, nil
}

func (u *udp) close() { _ = syscall.Close(u.fd) }

func (u *udp) receive(b *batch) int {
	s := &b.system
	for i := range s.messages {
		h := &s.messages[i].header
		h.Namelen = syscall.SizeofSockaddrInet6
		h.SetControllen(controlSize)
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVMMSG, uintptr(u.fd), uintptr(unsafe.Pointer(&s.messages[0])), batchSize, dontWait, 0, 0)
	if errno != 0 {
		if errno == syscall.EAGAIN || errno == syscall.EBADF {
			return 0
		}
		// An ICMP error of something sent stands before the packets, once.
		if n, _, errno = syscall.RawSyscall6(syscall.SYS_RECVMMSG, uintptr(u.fd), uintptr(unsafe.Pointer(&s.messages[0])), batchSize, dontWait, 0, 0); errno != 0 {
			return 0
		}
	}
	now := time.Now()
	wall := now.UnixNano()
	for i := range int(n) {
		m := &s.messages[i]
		p := &b.packets[i]
		p.data = s.data[i][:m.length]
		p.from = addrPort(&s.names[i])
		p.at = now
		if stamp := s.stamp(i); stamp != 0 {
			if age := time.Duration(wall - stamp); age > 0 && age < 10*time.Second {
				p.at = now.Add(-age)
			}
		}
	}
	return int(n)
}

// stamp is the kernel's time of arrival of message i, 0 without one.
func (b *systemBatch) stamp(i int) int64 {
	length := int(b.messages[i].header.Controllen)
	if length < syscall.CmsgLen(16) {
		return 0
	}
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&b.controls[i][0]))
	if h.Level != syscall.SOL_SOCKET || h.Type != controlStamp {
		return 0
	}
	at := b.controls[i][syscall.CmsgLen(0):]
	return int64(binary.NativeEndian.Uint64(at))*int64(time.Second) + int64(binary.NativeEndian.Uint64(at[8:]))
}

// addrPort reads the name of a sender, which is of either family.
func addrPort(name *syscall.RawSockaddrInet6) netip.AddrPort {
	switch name.Family {
	case syscall.AF_INET:
		four := (*syscall.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(four.Addr), bigEndian(four.Port))
	case syscall.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16(name.Addr).Unmap(), bigEndian(name.Port))
	}
	return netip.AddrPort{}
}

// putName writes the name of a receiver for a socket of the family and returns its size; 0 if the family cannot.
func putName(name *syscall.RawSockaddrInet6, to netip.AddrPort, v6 bool) uintptr {
	if v6 {
		name.Family, name.Port, name.Addr = syscall.AF_INET6, bigEndian(to.Port()), to.Addr().As16()
		return syscall.SizeofSockaddrInet6
	}
	if !to.Addr().Unmap().Is4() {
		return 0
	}
	four := (*syscall.RawSockaddrInet4)(unsafe.Pointer(name))
	four.Family, four.Port, four.Addr = syscall.AF_INET, bigEndian(to.Port()), to.Addr().Unmap().As4()
	return syscall.SizeofSockaddrInet4
}

// bigEndian turns a port between this machine's order and the network's.
func bigEndian(port uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], port)
	return binary.NativeEndian.Uint16(b[:])
}

func (u *udp) send(packet []byte, to netip.AddrPort) error {
	if len(packet) == 0 {
		return nil
	}
	var name syscall.RawSockaddrInet6
	size := putName(&name, to, u.v6)
	if size == 0 {
		return syscall.EAFNOSUPPORT
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(u.fd), uintptr(unsafe.Pointer(&packet[0])), uintptr(len(packet)),
		dontWait|syscall.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&name)), size)
	if errno != 0 {
		return errno
	}
	return nil
}
