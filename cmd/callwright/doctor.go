package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/openai"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
)

type doctorCommand struct {
	serving
	storage
	JSON bool `env:"-" name:"json" help:"Print one JSON object instead of lines."`
}

func (doctorCommand) Help() string {
	return "Takes the settings of serve and looks at what they stand on: the data directory, the secret key, the database, the " +
		"ports, the trunks of --carrier sip (each is asked by OPTIONS), and the speech servers. It changes nothing and calls " +
		"nobody. The exit code is 0 when nothing is broken; warnings do not count.\n\n" +
		"Example:\n  callwright doctor --carrier sip --sip-trunk 'sip://user:secret@gw.example.com?from=%2B15551230000'"
}

// finding is what one check found.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warning, broken
	Detail string `json:"detail"`
	// What to do about it.
	Advice string `json:"advice,omitempty"`
}

const (
	fine    = "ok"
	warning = "warning"
	broken  = "broken"
)

// doctor collects findings.
type doctor struct {
	serving serving
	storage storage
	found   []finding
}

func (c *doctorCommand) Run(ctx context.Context, t *terminal) error {
	d := &doctor{serving: c.serving, storage: c.storage}
	d.settings()
	d.dataDir()
	d.secretKey()
	d.database(ctx)
	d.listeners(ctx)
	d.voices()
	d.speech(ctx)
	d.telephony(ctx)
	return d.tell(t, c.JSON)
}

func (d *doctor) add(check, status, detail, advice string) {
	d.found = append(d.found, finding{check, status, detail, advice})
}

// tell prints what was found. Something broken is an error.
func (d *doctor) tell(t *terminal, asJSON bool) error {
	bad := 0
	for _, f := range d.found {
		if f.Status == broken {
			bad++
		}
	}
	if asJSON {
		if err := t.json(map[string]any{"ok": bad == 0, "checks": d.found}); err != nil {
			return err
		}
	} else {
		wide := 0
		for _, f := range d.found {
			wide = max(wide, len(f.Check))
		}
		for _, f := range d.found {
			fmt.Fprintf(t.stdout, "%-8s  %-*s  %s\n", f.Status, wide, f.Check, f.Detail)
			if f.Advice != "" {
				fmt.Fprintf(t.stdout, "%-8s  %-*s  → %s\n", "", wide, "", f.Advice)
			}
		}
	}
	switch bad {
	case 0:
		return nil
	case 1:
		return errors.New("one thing is broken")
	}
	return fmt.Errorf("%d things are broken", bad)
}

func (d *doctor) settings() {
	if err := errors.Join(d.serving.validate(), d.storage.validate()); err != nil {
		d.add("settings", broken, oneLine(err.Error()), "")
		return
	}
	d.add("settings", fine, "make sense", "")
}

func (d *doctor) dataDir() {
	info, err := os.Stat(d.storage.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("data directory", fine, d.storage.DataDir+" will be made", "")
		return
	case err != nil || !info.IsDir():
		d.add("data directory", broken, d.storage.DataDir+" is not a directory that can be read", "choose another place with --data-dir")
		return
	}
	if err := writable(d.storage.DataDir); err != nil {
		d.add("data directory", broken, advice(err), "")
		return
	}
	d.add("data directory", fine, d.storage.DataDir+" can be written", "")
}

func (d *doctor) secretKey() {
	path := d.storage.keyFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.add("secret key", fine, path+" will be made at the first start; keep it with the database", "")
		return
	}
	if _, err := secret.ReadFile(path); err != nil {
		d.add("secret key", broken, oneLine(err.Error()), "without the right key, users' tokens and sealed headers can not be read")
		return
	}
	d.add("secret key", fine, path, "")
}

func (d *doctor) database(ctx context.Context) {
	if d.storage.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(d.storage.DataDir, "callwright.db")); errors.Is(err, fs.ErrNotExist) {
			d.add("database", fine, "SQLite, will be made at the first start", "")
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	db, err := store.Open(ctx, store.Config{DataDir: d.storage.DataDir, DatabaseURL: d.storage.DatabaseURL, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		defer db.Close()
		err = db.Ping(ctx)
	}
	if err != nil {
		d.add("database", broken, d.storage.database()+" does not answer: "+oneLine(err.Error()), "")
		return
	}
	migrated, err := db.Migrated(ctx)
	switch {
	case err != nil:
		d.add("database", broken, oneLine(err.Error()), "")
	case !migrated:
		d.add("database", fine, d.storage.database()+" answers; the next start brings it up to date", "")
	default:
		d.add("database", fine, d.storage.database()+" answers and is up to date", "")
	}
}

// listeners looks whether the ports are free, or ours already.
func (d *doctor) listeners(ctx context.Context) {
	for _, l := range []struct{ name, addr, flag string }{
		{"REST port", d.serving.HTTPAddr, "--http-addr"}, {"gRPC port", d.serving.GRPCAddr, "--grpc-addr"},
	} {
		err := free("tcp", l.addr)
		switch {
		case err == nil:
			d.add(l.name, fine, l.addr+" is free", "")
		case errors.Is(err, syscall.EADDRINUSE) && alive(ctx, d.serving.HTTPAddr):
			d.add(l.name, fine, l.addr+": callwright is running", "")
		default:
			d.add(l.name, broken, oneLine(err.Error()), "choose another address with "+l.flag)
		}
	}
}

// free reports why an address can not be listened at.
func free(network, addr string) error {
	if network == "udp" {
		c, err := net.ListenPacket(network, addr)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	l, err := net.Listen(network, addr)
	if err == nil {
		err = l.Close()
	}
	return err
}

// alive reports whether callwright answers at an address.
func alive(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", nil)
	if err != nil {
		return false
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// voices are those of the built-in speech.
func (d *doctor) voices() {
	if cmp.Or(d.serving.Speech, "builtin") != "builtin" {
		return
	}
	for _, program := range []string{"flite", "espeak-ng"} {
		if path, err := exec.LookPath(program); err == nil {
			d.add("speech", fine, "built in, spoken by "+path, "")
			return
		}
	}
	d.add("speech", warning, "built in, without a voice: a placeholder sound stands in",
		"install flite or espeak-ng, or use --speech cascade or realtime")
}

// speech asks the servers of the settings for their models.
func (d *doctor) speech(ctx context.Context) {
	c := d.serving.hosted()
	for _, s := range []struct {
		name   string
		server openai.Config
	}{
		{"language model", c.LLM}, {"transcription", c.STT}, {"voice", c.TTS}, {"fallback model", c.LLMFallback},
		{"fallback transcription", c.STTFallback}, {"fallback voice", c.TTSFallback},
	} {
		if s.server.URL == "" {
			continue
		}
		status, detail, advice := reach(ctx, s.server)
		d.add(s.name, status, s.server.URL+" "+detail, advice)
	}
	d.realtime(ctx)
}

// reach asks a server for its list of models: whether it is there and takes the key.
func reach(ctx context.Context, s openai.Config) (status, detail, advice string) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.URL, "/")+"/models", nil)
	if err != nil {
		return broken, "is no address", ""
	}
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return broken, "does not answer", "is the address right, and can this machine reach it?"
	}
	r.Body.Close()
	switch {
	case r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden:
		return broken, fmt.Sprintf("refuses the key (%d)", r.StatusCode), "set the right key"
	case r.StatusCode >= 500:
		return broken, fmt.Sprintf("answers %d", r.StatusCode), ""
	case r.StatusCode != http.StatusOK:
		return warning, fmt.Sprintf("is there, but has no list of models (%d)", r.StatusCode), "the base URL should end in /v1"
	}
	return fine, "answers", ""
}

// telephony looks at the line: ports, what trunks are told of us, and the trunks.
func (d *doctor) telephony(ctx context.Context) {
	if !d.serving.real() {
		d.add("telephone line", fine, "sandbox: no real phone is called", "")
		return
	}
	at := d.serving.telephony
	busy := errors.Join(free("udp", at.SIPAddr), free("tcp", at.SIPAddr))
	switch {
	case busy == nil:
		d.add("SIP port", fine, at.SIPAddr+" is free, UDP and TCP", "")
	case errors.Is(busy, syscall.EADDRINUSE) && alive(ctx, d.serving.HTTPAddr):
		d.add("SIP port", fine, at.SIPAddr+": callwright is running; trunks are asked from another port", "")
	default:
		d.add("SIP port", broken, oneLine(busy.Error()), "stop what listens there, or choose another address with --sip-addr")
	}
	if busy != nil {
		host, _, _ := net.SplitHostPort(at.SIPAddr)
		at.SIPAddr, at.SIPTLSAddr, at.SIPTLSCert, at.SIPTLSKey = net.JoinHostPort(host, "0"), "", "", ""
	}
	line, err := at.newSIP(slog.New(slog.DiscardHandler), quietly)
	if err == nil {
		err = line.Listen(ctx)
	}
	if err != nil {
		d.add("telephone line", broken, oneLine(err.Error()), "")
		return
	}
	running, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { _ = line.Run(running) })
	defer wait.Wait()
	defer stop()
	d.rtp(line)
	trunks, _ := at.trunks()
	for _, t := range trunks {
		d.trunk(ctx, line, t)
	}
}

// quietly keeps trunks from being registered at by a look.
func quietly(t *sip.Trunk) { t.Register = false }

func (d *doctor) rtp(line *sip.Carrier) {
	name := "sound ports " + d.serving.RTPPorts
	if err := line.CheckSound(); err != nil {
		d.add(name, broken, oneLine(err.Error()), "choose other ports with --rtp-ports, and let them through the firewall (UDP)")
		return
	}
	d.add(name, fine, fmt.Sprintf("room for %d calls; the firewall must let them through (UDP)", line.FreeLines()), "")
}

func (d *doctor) trunk(ctx context.Context, line *sip.Carrier, t sip.Trunk) {
	host, port := line.Told(t.Name)
	name := "trunk " + t.Name
	if advice := hidden(line.Reached(t.Name), host); advice != "" {
		d.add(name+" is told", warning, fmt.Sprintf("%s, a private address", host), advice)
	} else {
		d.add(name+" is told", fine, net.JoinHostPort(host, fmt.Sprint(port)), "")
	}
	ctx, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	began := time.Now()
	code, err := line.Ping(ctx, t.Name)
	where := t.Address()
	switch {
	case err != nil:
		d.add(name, broken, where+" does not answer OPTIONS", "is the address right, does the firewall let SIP through, does the provider know this machine's address?")
	case code == 503:
		d.add(name, warning, where+" answers 503: it takes no calls now", "")
	case code == 401 || code == 403 || code == 407:
		d.add(name, warning, fmt.Sprintf("%s answers %d to OPTIONS: it is there, but may not know us", where, code), "check user and secret, and that the provider allows this machine's address")
	default:
		d.add(name, fine, fmt.Sprintf("%s answers OPTIONS with %d in %d ms", where, code, time.Since(began).Milliseconds()), "")
	}
	if t.From == "" {
		d.add(name+" number", warning, "has no from: calls that leave by it show another trunk's number", "add from=%2B… to its URL")
	}
}

// hidden is advice for a trunk on a public address that is told a private one of ours.
func hidden(trunk netip.Addr, told string) string {
	ours, err := netip.ParseAddr(told)
	if err != nil || !trunk.IsValid() || !ours.IsPrivate() || trunk.IsPrivate() || trunk.IsLoopback() {
		return ""
	}
	return "the trunk can not send sound there: set --sip-advertise to this machine's public address"
}
