package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/carrier/sip"
)

// telephony is the telephone line.
type telephony struct {
	Carrier      string   `group:"Telephony" default:"sandbox" enum:"sandbox,sip" placeholder:"NAME" help:"Telephone line. sandbox: scripted people answer, no real phone is called. sip: real calls over --sip-trunk. Default: ${default}."`
	SandboxSpeed float64  `group:"Telephony" default:"1" placeholder:"FACTOR" help:"How many times faster than real time sandbox calls run; for tests. Default: ${default}."`
	SIPTrunk     []string `group:"Telephony" name:"sip-trunk" placeholder:"URL" help:"Way to the telephone network, such as sip://user:secret@gw.example.com?transport=udp&name=main&from=%2B15551230000&allow=203.0.113.0/24; repeatable (environment: comma-separated), tried in this order. Only a trunk's host, and what it allows, may call."`
	SIPAddr      string   `group:"Telephony" name:"sip-addr" default:"0.0.0.0:5060" placeholder:"HOST:PORT" help:"Where SIP is heard, over UDP and TCP. Default: ${default}."`
	SIPTLSAddr   string   `group:"Telephony" name:"sip-tls-addr" placeholder:"HOST:PORT" help:"Where SIP over TLS is heard; needs --sip-tls-cert and --sip-tls-key. Calls that leave by TLS need none of them. Default: nowhere."`
	SIPTLSCert   string   `group:"Telephony" name:"sip-tls-cert" placeholder:"FILE" help:"Its certificate, PEM."`
	SIPTLSKey    string   `group:"Telephony" name:"sip-tls-key" placeholder:"FILE" help:"Its key, PEM."`
	SIPAdvertise string   `group:"Telephony" name:"sip-advertise" placeholder:"HOST[:PORT]" help:"Address that trunks are told for SIP and sound: the public one of a machine behind NAT. Default: the one that the trunk is reached from."`
	RTPPorts     string   `group:"Telephony" name:"rtp-ports" default:"10000-20000" placeholder:"FROM-TO" help:"UDP ports for sound, two for each call. Default: ${default}."`
}

func (t telephony) real() bool { return t.Carrier == "sip" }

func (t telephony) validate() error {
	if !(t.SandboxSpeed > 0 && t.SandboxSpeed <= 1000) {
		return errorf("--sandbox-speed must be more than 0 and at most 1000")
	}
	if !t.real() {
		return nil
	}
	trunks, err := t.trunks()
	if err != nil {
		return err
	}
	if len(trunks) == 0 {
		return errorf("--carrier sip needs --sip-trunk, such as sip://user:secret@gw.example.com?from=%%2B15551230000")
	}
	if trunkNumbers(trunks) == nil {
		return errorf("--sip-trunk: one trunk at least needs from=%%2B15551230000, the number by which calls leave")
	}
	if _, _, err := t.rtpPorts(); err != nil {
		return err
	}
	if (t.SIPTLSAddr != "") != (t.SIPTLSCert != "") || (t.SIPTLSCert != "") != (t.SIPTLSKey != "") {
		return errorf("--sip-tls-addr, --sip-tls-cert and --sip-tls-key belong together")
	}
	for flag, addr := range map[string]string{"--sip-addr": t.SIPAddr, "--sip-tls-addr": cmp.Or(t.SIPTLSAddr, ":0")} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return errorf("%s must look like 0.0.0.0:5060", flag)
		}
	}
	return nil
}

// trunks reads the trunks' URLs. What is wrong with one is told without showing it: it may hold a secret.
func (t telephony) trunks() ([]sip.Trunk, error) {
	var all []sip.Trunk
	names := map[string]bool{}
	for i, text := range t.SIPTrunk {
		trunk, err := sip.ParseTrunk(text)
		if err != nil {
			return nil, errorf("--sip-trunk, number %d: %v", i+1, err)
		}
		if names[trunk.Name] {
			return nil, errorf("--sip-trunk: two are called %s; give them other names with name=", trunk.Name)
		}
		names[trunk.Name] = true
		all = append(all, trunk)
	}
	return all, nil
}

func (t telephony) rtpPorts() (from, to uint16, err error) {
	a, b, ok := strings.Cut(t.RTPPorts, "-")
	low, errLow := strconv.ParseUint(a, 10, 16)
	high, errHigh := strconv.ParseUint(b, 10, 16)
	if !ok || errLow != nil || errHigh != nil || low < 1024 || high < low+1 {
		return 0, 0, errorf("--rtp-ports must look like 10000-20000, above 1023, with room for one call at least")
	}
	return uint16(low), uint16(high), nil
}

// trunkNumbers are the trunks' own numbers, in their order.
func trunkNumbers(trunks []sip.Trunk) []string {
	var out []string
	for _, t := range trunks {
		if t.From != "" {
			out = append(out, t.From)
		}
	}
	return out
}

// newSIP makes the line to real telephones, with trunks as change leaves them; nil where the settings ask for none.
func (t telephony) newSIP(log *slog.Logger, change ...func(*sip.Trunk)) (*sip.Carrier, error) {
	if !t.real() {
		return nil, nil
	}
	trunks, err := t.trunks()
	if err != nil {
		return nil, err
	}
	for _, f := range change {
		for i := range trunks {
			f(&trunks[i])
		}
	}
	c := sip.Config{
		Addr: t.SIPAddr, TLSAddr: t.SIPTLSAddr, Advertise: t.SIPAdvertise, Trunks: trunks,
		UserAgent: "Callwright/" + programVersion(), Log: log,
	}
	if c.RTPFrom, c.RTPTo, err = t.rtpPorts(); err != nil {
		return nil, err
	}
	if t.SIPTLSAddr != "" {
		pair, err := tls.LoadX509KeyPair(t.SIPTLSCert, t.SIPTLSKey)
		if err != nil {
			return nil, fmt.Errorf("read the certificate for SIP over TLS: %w", err)
		}
		c.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return sip.New(c)
}

// line is where calls leave by, for the dial policy.
func (h *house) line() call.Line {
	if !h.serving.real() {
		return call.Line{}
	}
	trunks, _ := h.serving.trunks() // validated before
	return call.Line{Real: true, Numbers: trunkNumbers(trunks), From: trunkNumbers(trunks)[0]}
}

// lines opens the telephone lines: the one of the settings, and the sandbox that takes test conversations in any case.
func (h *house) lines(ctx context.Context, voices *voice.Studio) (line, test carrier.Carrier, err error) {
	test = sandbox.New(sandbox.Config{
		Speed:   h.serving.SandboxSpeed,
		DialLog: filepath.Join(h.storage.DataDir, "sandbox-dials.log"),
		Voices:  voices,
		Log:     h.log,
	})
	if h.sip, err = h.serving.newSIP(h.log); err != nil || h.sip == nil {
		return test, test, err
	}
	if !rtp.Prefer() {
		h.log.Debug("no right to be preferred by the system: sound may be late on a busy machine")
	}
	return h.sip, test, h.sip.Listen(ctx)
}

// room is how many calls this process can hold, so that further ones wait instead of failing: as many as the ports for
// sound carry; 0 is the engine's own bound. Call it after lines.
func (h *house) room() int {
	if h.sip == nil {
		return 0
	}
	return min(h.sip.FreeLines(), 1000)
}

// runLine serves the SIP ports; without them there is nothing to do.
func (h *house) runLine(ctx context.Context) error {
	if h.sip == nil {
		<-ctx.Done()
		return nil
	}
	return h.sip.Run(ctx)
}
