package sip

import (
	"net"
	"net/netip"

	"github.com/emiago/sipgo/sip"
)

// Gate is a gate with a trunk at 127.0.0.1 and a call of a Call-ID.
func Gate(callID string) (datagram, stream func(from string, data []byte) ([]byte, error)) {
	t := &trunk{}
	g := &gate{
		parser: sip.NewParser(), partial: map[string]*partial{},
		trunk: func(from netip.AddrPort) *trunk {
			if from.Addr() == netip.MustParseAddr("127.0.0.1") {
				return t
			}
			return nil
		},
		known:    func(id string) bool { return id == callID },
		requests: &buckets{rate: 1e9}, invites: &buckets{rate: 1e9}, all: newBucket(1e9), outsider: newBucket(1e9),
	}
	filter := func(transport string) func(string, []byte) ([]byte, error) {
		return func(from string, data []byte) ([]byte, error) {
			remote := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))
			return g.filter(sip.TransportReadProps{Transport: transport, LocalAddr: remote, RemoteAddr: remote}, data)
		}
	}
	return filter("UDP"), filter("TCP")
}
