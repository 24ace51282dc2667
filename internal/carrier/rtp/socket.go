package rtp

import (
	"net/netip"
	"time"
)

// socket is a UDP socket that never waits. The real one is of the system's; tests have one in memory.
type socket interface {
	// receive fills the batch with what has come and returns how many packets it was; less than the batch holds means
	// that there are no more. Errors of the network (ICMP) are skipped.
	receive(*batch) int
	// send sends without waiting.
	send(packet []byte, to netip.AddrPort) error
	close()
}

const (
	// batchSize packets are received with one call. A call sends one or two in 20 ms.
	batchSize = 8
	// packetSize is the longest packet that is of interest; longer ones are cut and fail as invalid.
	packetSize = 1500
)

// batch is room for received packets. Their data is good until the next receive.
type batch struct {
	packets [batchSize]packet
	system  systemBatch
	// out is room for packets to be sent, with a tag behind.
	out [packetSize]byte
}

// packet is a datagram.
type packet struct {
	data []byte
	from netip.AddrPort
	at   time.Time // of its arrival, by the monotonic clock
}

func newBatch() *batch {
	b := &batch{}
	b.system.prepare()
	return b
}
