package sip

import "github.com/emiago/sipgo/sip"

// StateOf is what would be stored of a call whose other side has a tag and an address.
func StateOf(tag, address string) []byte {
	remote := sip.Uri{Scheme: "sip", User: address, Host: "127.0.0.1"}
	return (&dialog{trunk: &trunk{}, callID: "x", remoteTag: tag, remote: remote, target: remote, routes: []sip.Uri{remote}}).state()
}
