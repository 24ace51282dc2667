package sip_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// raw is a trunk that is nothing but a socket.
type raw struct {
	conn *net.UDPConn
	to   netip.AddrPort

	mu  sync.Mutex
	got []string
}

func plug(t *testing.T) *raw {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	r := &raw{conn: conn}
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			r.mu.Lock()
			if len(r.got) < 10000 {
				r.got = append(r.got, string(buffer[:n]))
			}
			r.mu.Unlock()
		}
	}()
	return r
}

func (r *raw) port() int { return r.conn.LocalAddr().(*net.UDPAddr).Port }

func (r *raw) send(data []byte) { _, _ = r.conn.WriteToUDPAddrPort(data, r.to) }

// codes are the final and provisional answers that carried a Call-ID.
func (r *raw) codes(id string) (codes []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.got {
		if f := strings.Fields(text); len(f) > 1 && f[0] == "SIP/2.0" && strings.Contains(text, id) {
			code, _ := strconv.Atoi(f[1])
			codes = append(codes, code)
		}
	}
	return codes
}

// alive has the line answer an OPTIONS, with all that was sent before it done.
func (r *raw) alive(t *testing.T, after string) {
	t.Helper()
	id := fmt.Sprintf("alive-%d", rand.Uint64())
	for range 20 { // UDP under load
		r.send(message("OPTIONS sip:x@127.0.0.1 SIP/2.0", "Via: SIP/2.0/UDP 127.0.0.1:"+strconv.Itoa(r.port())+";branch=z9hG4bK"+id+";rport",
			"Max-Forwards: 70", "From: <sip:a@127.0.0.1>;tag=1", "To: <sip:b@127.0.0.1>", "Call-ID: "+id, "CSeq: 1 OPTIONS"))
		for range 100 {
			if len(r.codes(id)) > 0 {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	t.Fatalf("the line does not answer any more, after %s", after)
}

const sound = "v=0\r\no=x 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 9 RTP/AVP 0\r\n"

// message puts lines together; the last one is the body if it begins with v=0. Content-Length is added unless a line has
// one.
func message(lines ...string) []byte {
	body := ""
	if n := len(lines) - 1; strings.HasPrefix(lines[n], "v=0") {
		body, lines = lines[n], lines[:n]
		lines = append(lines, "Content-Type: application/sdp")
	}
	head := strings.Join(lines, "\r\n")
	if lower := strings.ToLower(head); !strings.Contains(lower, "content-length") && !strings.Contains(lower, "\r\nl:") {
		head += fmt.Sprintf("\r\nContent-Length: %d", len(body))
	}
	return []byte(head + "\r\n\r\n" + body)
}

// torture are the cases of RFC 4475 §3, in their order and by their names, written anew for a telephone line: what each
// one is about stands in it, the rest is sound. wants is what the answer may begin with, "-" for none at all: in no case a
// call that is none.
func torture(via, self string) []struct {
	name, wants string
	data        []byte
} {
	type c = struct {
		name, wants string
		data        []byte
	}
	invite := func(name string, lines ...string) []byte {
		all := []string{"INVITE sip:+15005550100@" + self + " SIP/2.0"}
		have := strings.ToLower("\n" + strings.Join(lines, "\n"))
		for header, value := range map[string]string{
			"Via": via + ";branch=z9hG4bK-" + name, "Max-Forwards": "70", "From": "<sip:+15005550123@127.0.0.1>;tag=t" + name,
			"To": "<sip:+15005550100@" + self + ">", "Call-ID": name + ".torture", "CSeq": "1 INVITE", "Contact": "<sip:x@127.0.0.1>",
		} {
			if !strings.Contains(have, "\n"+strings.ToLower(header)) {
				all = append(all, header+": "+value)
			}
		}
		body := sound
		if strings.Contains(have, "\nno body") {
			body = "Subject: none"
		}
		for _, l := range lines {
			switch {
			case strings.HasPrefix(l, "INVITE ") || strings.HasPrefix(l, "~"):
				all[0] = strings.TrimPrefix(l, "~")
			case strings.HasPrefix(l, "v=0"):
				body = l
			case l != "no body":
				all = append(all, l)
			}
		}
		return message(append(all, body)...)
	}
	return []c{
		// Valid messages.
		{"wsinv", "-124", invite("wsinv", "TO :\r\n sip:+15005550100@"+self+" ", "from   : \"J \\\\\\\"\"       <sip:j@example.com>\r\n  ;\r\n  tag = 98asjd8",
			"MaX-fOrWaRdS: 0068", "cseq: 0009\r\n  INVITE", "Via  : SIP  /   2.0\r\n /UDP\r\n    127.0.0.1;branch=390skdjuw", "s :",
			"NewFangledHeader:   newfangled value\r\n continued newfangled value", "UnknownHeaderWithUnusualValue: ;;,,;;,;",
			"m:\"Quoted string \\\"\\\"\" <sip:j@127.0.0.1> ; newparam =\r\n      newvalue ;\r\n  secondparam ; q = 0.33")},
		{"intmeth", "-4", message("!interesting-Method0123456789_*+`.%indeed'~ sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0",
			"Via: "+via+";branch=z9hG4bK-.!%66*_+`'~", "To: \"BEL:\\\x07 NUL:\\\x00 DEL:\\\x7F\" <sip:1_unusual.URI~(to-be!sure)@example.com>",
			"From: token1~` token2'+_ token3*%!.- <sip:mundane@example.com>;fromParam''~+*_!.-%=\"\xD1\x80\xD0\xB0\";tag=_token~1'+`*%!-.",
			"Call-ID: intmeth.torture", "CSeq: 139122385 !interesting-Method0123456789_*+`.%indeed'~", "Max-Forwards: 255", "extensionHeader-!.%*+_`'~:\xEF\xBB\xBF\xE5\xA4\xA7")},
		{"esc01", "-124", invite("esc01", "INVITE sip:sips%3Auser%40example.com@"+self+" SIP/2.0", "Contact: <sip:cal%6Cer@127.0.0.1;%6C%72;n%61me=v%61lue%25%34%31>")},
		{"escnull", "-4", message("REGISTER sip:example.com SIP/2.0", "To: sip:null-%00-null@example.com", "From: sip:null-%00-null@example.com;tag=839923423",
			"Max-Forwards: 70", "Call-ID: escnull.torture", "CSeq: 14398234 REGISTER", "Via: "+via+";branch=z9hG4bK-escnull", "Contact: <sip:%00@host5.example.com>", "L:0")},
		{"esc02", "-45", message("RE%47IST%45R sip:registrar.example.com SIP/2.0", "To: \"%Z%45\" <sip:resource@example.com>", "From: \"%Z%45\" <sip:resource@example.com>;tag=f232jadfj23",
			"Call-ID: esc02.torture", "Via: "+via+";branch=z9hG4bK-esc02", "CSeq: 29344 RE%47IST%45R", "Max-Forwards: 70", "Contact: <sip:alias1@host1.example.com>")},
		{"lwsdisp", "-24", message("OPTIONS sip:user@example.com SIP/2.0", "To: sip:user@example.com", "From: caller<sip:caller@example.com>;tag=323", "Max-Forwards: 70",
			"Call-ID: lwsdisp.torture", "CSeq: 60 OPTIONS", "Via: "+via+";branch=z9hG4bK-lwsdisp")},
		{"longreq", "-124", invite("longreq", "Unknown-"+strings.Repeat("Long", 20)+": "+strings.Repeat("value-", 200), "Via: "+via+";branch=z9hG4bK-longreq;"+strings.Repeat("param=value;", 40)+"last",
			"Via: SIP/2.0/TCP sip33.example.com", "v: SIP/2.0/TCP sip32.example.com", "Route: <sip:"+strings.Repeat("x", 500)+"@example.com;lr>")},
		{"dblreq", "-4", append(message("REGISTER sip:example.com SIP/2.0", "To: sip:j.user@example.com", "From: sip:j.user@example.com;tag=43251j3j324", "Max-Forwards: 8",
			"I: dblreq.torture", "Contact: sip:j.user@host.example.com", "CSeq: 8 REGISTER", "Via: "+via+";branch=z9hG4bK-dblreq"), invite("dblreq2")...)},
		{"semiuri", "-24", message("OPTIONS sip:user;par=u%40example.net@example.com SIP/2.0", "To: sip:j_user@example.com", "From: sip:caller@example.org;tag=33242", "Max-Forwards: 3",
			"Call-ID: semiuri.torture", "CSeq: 8 OPTIONS", "Via: "+via+";branch=z9hG4bK-semiuri")},
		{"transports", "-24", message("OPTIONS sip:user@example.com SIP/2.0", "To: sip:user@example.com", "From: <sip:caller@example.com>;tag=323", "Max-Forwards: 70", "Call-ID: transports.torture", "CSeq: 60 OPTIONS",
			"Via: "+via+";branch=z9hG4bK-transports", "Via: SIP/2.0/SCTP t2.example.com", "Via: SIP/2.0/TLS t3.example.com", "Via: SIP/2.0/UNKNOWN t4.example.com")},
		{"mpart01", "-4", message("MESSAGE sip:kumiko@example.org SIP/2.0", "Via: "+via+";branch=z9hG4bK-mpart01", "Max-Forwards: 70", "Route: <sip:127.0.0.1;lr>", "To: <sip:kumiko@example.org>", "From: <sip:fluffy@example.com>;tag=2fb0dcc9",
			"Call-ID: mpart01.torture", "CSeq: 16 MESSAGE", "Content-Type: multipart/mixed;boundary=7a9cbec02ceef655", "Content-Length: 60\r\n\r\n--7a9cbec02ceef655\r\nContent-Type: text/plain\r\n\r\n\x00\xff\xfehello\x00--")},
		{"unreason", "-", message("SIP/2.0 200 = 2**3 * 5**2 \xd0\xbd\xd0\xbe \xd1\x81\xd1\x82\xd0\xbe", "Via: "+via+";branch=z9hG4bK-unreason", "Call-ID: unreason.torture", "CSeq: 35 INVITE",
			"From: <sip:user@example.com>;tag=11141343", "To: <sip:user@example.edu>;tag=2229", "Contact: <sip:user@host198.example.com>")},
		{"noreason", "-", message("SIP/2.0 100 ", "Via: "+via+";branch=z9hG4bK-noreason", "Call-ID: noreason.torture", "CSeq: 35 INVITE", "From: <sip:user@example.com>;tag=39ansfi3", "To: <sip:user@example.edu>;tag=902jndnke3")},
		// Invalid messages.
		{"badinv01", "-4", invite("badinv01", "To: \"Mr. J. User <sip:j.user@example.com> <sip:realj@example.net>", "Contact:\t\"Joe\" <sip:joe@example.org>;;;;")},
		{"clerr", "-4", invite("clerr", "Content-Length: 9999")},
		{"ncl", "-4", invite("ncl", "Content-Length: -999")},
		{"scalar02", "-4", message("REGISTER sip:example.com SIP/2.0", "Via: "+via+";branch=z9hG4bK-scalar02;ttl=300", "To: <sip:user@example.com>", "From: <sip:user@example.com>;tag=239232jh3",
			"CSeq: 36893488147419103232 REGISTER", "Call-ID: scalar02.torture", "Max-Forwards: 300", "Expires: 10000000000000000000000000000000000000000000000000000", "Contact: <sip:user@host129.example.com>;expires=280297596632815")},
		{"scalarlg", "-", message("SIP/2.0 503 Service Unavailable", "Via: "+via+";branch=z9hG4bK-scalarlg", "To: <sip:user@example.com>", "From: sip:other@example.net;tag=2easdjfejw", "CSeq: 9292394834772304023312 OPTIONS",
			"Call-ID: scalarlg.torture", "Retry-After: 949302838503028349304023988", "Warning: 1812 overture \"In Progress\"")},
		{"quotbal", "-4", invite("quotbal", "To: \"Mr. J. User <sip:j.user@example.com>")},
		{"ltgtruri", "-4", invite("ltgtruri", "INVITE <sip:+15005550100@"+self+"> SIP/2.0")},
		{"lwsruri", "-4", invite("lwsruri", "INVITE sip:+15005550100@"+self+"; lr SIP/2.0")},
		{"lwsstart", "-4", invite("lwsstart", "INVITE  sip:+15005550100@"+self+"  SIP/2.0")},
		{"trws", "-24", message("OPTIONS sip:remote-target@example.com SIP/2.0  ", "Via: "+via+";branch=z9hG4bK-trws", "To: <sip:remote-target@example.com>", "From: <sip:l@example.com>;tag=329429089", "Call-ID: trws.torture", "Max-Forwards: 70", "CSeq: 238923 OPTIONS")},
		{"escruri", "-124", invite("escruri", "INVITE sip:+15005550100@"+self+"?Route=%3Csip:example.com%3E SIP/2.0")},
		{"baddate", "-124", invite("baddate", "Date: Fri, 01 Jan 2010 16:00:00 EST")},
		{"regbadct", "-4", message("REGISTER sip:example.com SIP/2.0", "To: sip:user@example.com", "From: sip:user@example.com;tag=998332", "Max-Forwards: 70", "Call-ID: regbadct.torture", "CSeq: 1 REGISTER",
			"Via: "+via+";branch=z9hG4bK-regbadct", "Contact: sip:user@example.com?Route=%3Csip:sip.example.com%3E")},
		{"badaspec", "-24", message("OPTIONS sip:user@example.org SIP/2.0", "Via: "+via+";branch=z9hG4bK-badaspec", "Max-Forwards: 70", "From: \"Bell, Alexander\" <sip:a.g.bell@example.com>;tag=433423",
			"To: \"Watson, Thomas\" < sip:t.watson@example.org >", "Call-ID: badaspec.torture", "CSeq: 3923239 OPTIONS", "l: 0")},
		{"baddn", "-24", message("OPTIONS sip:t.watson@example.org SIP/2.0", "Via: "+via+";branch=z9hG4bK-baddn", "Max-Forwards: 70", "From: Bell, Alexander <sip:a.g.bell@example.com>;tag=43",
			"To: Watson, Thomas <sip:t.watson@example.org>", "Call-ID: baddn.torture", "CSeq: 31 OPTIONS")},
		{"badvers", "-45", message("OPTIONS sip:t.watson@example.org SIP/7.0", "Via: SIP/7.0/UDP 127.0.0.1;branch=z9hG4bK-badvers", "Max-Forwards: 70", "From: A. Bell <sip:a.g.bell@example.com>;tag=qweoiqpe", "To: T. Watson <sip:t.watson@example.org>",
			"Call-ID: badvers.torture", "CSeq: 31 OPTIONS")},
		{"mismatch01", "-4", message("OPTIONS sip:user@example.com SIP/2.0", "To: sip:j.user@example.com", "From: sip:caller@example.net;tag=34525", "Max-Forwards: 6", "Call-ID: mismatch01.torture", "CSeq: 8 INVITE", "Via: "+via+";branch=z9hG4bK-mismatch01", "l: 0")},
		{"mismatch02", "-45", message("NEWMETHOD sip:user@example.com SIP/2.0", "To: sip:j.user@example.com", "From: sip:caller@example.net;tag=34525", "Max-Forwards: 6", "Call-ID: mismatch02.torture", "CSeq: 8 INVITE", "Via: "+via+";branch=z9hG4bK-mismatch02", sound)},
		{"bigcode", "-", message("SIP/2.0 4294967301 better not break the receiver", "Via: "+via+";branch=z9hG4bK-bigcode", "Call-ID: bigcode.torture", "CSeq: 35 INVITE", "From: <sip:user@example.com>;tag=41", "To: <sip:user@example.edu>;tag=22")},
		// Transaction layer.
		{"badbranch", "-24", message("OPTIONS sip:user@example.com SIP/2.0", "To: sip:user@example.com", "From: sip:caller@example.org;tag=33242", "Max-Forwards: 3", "Via: "+via+";branch=z9hG4bK", "Call-ID: badbranch.torture", "CSeq: 8 OPTIONS", "l: 0")},
		// Application layer.
		{"insuf", "-4", message("INVITE sip:+15005550100@"+self+" SIP/2.0", "CSeq: 193942 INVITE", "Via: "+via+";branch=z9hG4bK-insuf", sound)},
		{"unkscm", "-24", message("OPTIONS nobodyKnowsThisScheme:totallyopaquecontent SIP/2.0", "To: sip:user@example.com", "From: sip:caller@example.net;tag=384", "Max-Forwards: 3", "Call-ID: unkscm.torture", "CSeq: 3923423 OPTIONS", "Via: "+via+";branch=z9hG4bK-unkscm")},
		{"novelsc", "-24", message("OPTIONS soap.beep://192.0.2.103:3002 SIP/2.0", "To: sip:user@example.com", "From: sip:caller@example.net;tag=384", "Max-Forwards: 3", "Call-ID: novelsc.torture", "CSeq: 3923423 OPTIONS", "Via: "+via+";branch=z9hG4bK-novelsc")},
		{"unksm2", "-4", message("REGISTER sip:example.com SIP/2.0", "To: isbn:2983792873", "From: <http://www.example.com>;tag=3234233", "Call-ID: unksm2.torture", "CSeq: 234902 REGISTER", "Max-Forwards: 70", "Via: "+via+";branch=z9hG4bK-unksm2", "Contact: <name:John_Smith>")},
		{"bext01", "-4", invite("bext01", "Require: nothingSupportsThis, nothingSupportsThisEither", "Proxy-Require: noProxiesSupportThis")},
		{"invut", "-4", message("INVITE sip:+15005550100@"+self+" SIP/2.0", "Contact: <sip:caller@127.0.0.1>", "To: sip:j.user@example.com", "From: sip:caller@example.net;tag=8392034", "Max-Forwards: 70", "Call-ID: invut.torture", "CSeq: 235448 INVITE",
			"Via: "+via+";branch=z9hG4bK-invut", "Content-Type: application/unknownformat", "Content-Length: 13\r\n\r\n<a>hello</a>\r\n")},
		{"regaut01", "-4", message("REGISTER sip:example.com SIP/2.0", "To: sip:j.user@example.com", "From: sip:j.user@example.com;tag=87321hj23128", "Max-Forwards: 8", "Call-ID: regaut01.torture", "CSeq: 9338 REGISTER", "Via: "+via+";branch=z9hG4bK-regaut01", "Authorization: NoOneKnowsThisScheme opaque-data=here")},
		{"multi01", "-4", invite("multi01", "Call-ID: multi01.torture", "CSeq: 5 INVITE", "Call-ID: 98asdh@192.0.2.1", "Call-ID: 98asdh@192.0.2.2", "CSeq: 59 INVITE", "From: sip:caller@example.com;tag=3413415", "From: sip:caller@example.net;tag=2923420123", "To: sip:user@example.com", "To: sip:other@example.net", "Contact: <sip:x@127.0.0.1>")},
		{"mcl01", "-24", message("OPTIONS sip:user@example.com SIP/2.0", "Via: "+via+";branch=z9hG4bK-mcl01", "To: sip:user@example.com", "From: sip:other@example.net;tag=3923942", "Call-ID: mcl01.torture", "CSeq: 15932 OPTIONS", "Content-Length: 13", "Max-Forwards: 60", "Content-Length: 5\r\n\r\nThere's no way")},
		{"bcast", "-", message("SIP/2.0 200 OK", "Via: "+via+";branch=z9hG4bK-bcast", "Via: SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK1saber23", "Call-ID: bcast.torture", "CSeq: 35 INVITE", "From: <sip:user@example.com>;tag=11141343", "To: <sip:user@example.edu>;tag=2229")},
		{"zeromf", "-24", message("OPTIONS sip:user@example.com SIP/2.0", "To: sip:user@example.com", "From: sip:caller@example.net;tag=3ghsd41", "Call-ID: zeromf.torture", "CSeq: 39234321 OPTIONS", "Via: "+via+";branch=z9hG4bK-zeromf", "Max-Forwards: 0")},
		{"cparam01", "-4", message("REGISTER sip:example.com SIP/2.0", "Via: "+via+";branch=z9hG4bK-cparam01", "Max-Forwards: 70", "From: sip:watson@example.com;tag=DkfVgjkrtMwaerKKpe", "To: sip:watson@example.com", "Call-ID: cparam01.torture", "CSeq: 2 REGISTER", "Contact: sip:+19725552222@gw1.example.net;unknownparam")},
		{"cparam02", "-4", message("REGISTER sip:example.com SIP/2.0", "Via: "+via+";branch=z9hG4bK-cparam02", "Max-Forwards: 70", "From: sip:watson@example.com;tag=838293", "To: sip:watson@example.com", "Call-ID: cparam02.torture", "CSeq: 3 REGISTER", "Contact: <sip:+19725552222@gw1.example.net;unknownparam>")},
		{"regescrt", "-4", message("REGISTER sip:example.com SIP/2.0", "To: sip:user@example.com", "From: sip:user@example.com;tag=8", "Max-Forwards: 70", "Call-ID: regescrt.torture", "CSeq: 14398234 REGISTER", "Via: "+via+";branch=z9hG4bK-regescrt", "Contact: <sip:user@example.com?Route=%3Csip:sip.example.com%3E>")},
		{"sdp01", "-124", invite("sdp01", "Accept: text/nobodyKnowsThis")},
		// Backward compatibility.
		{"inv2543", "-4", message("INVITE sip:+15005550100@"+self+" SIP/2.0", "Via: "+strings.TrimSuffix(via, ";rport"), "From: <sip:caller@127.0.0.1>", "To: <sip:+15005550100@"+self+">", "Call-ID: inv2543.torture", "CSeq: 1 INVITE", sound)},
	}
}

func TestTortureMessages(t *testing.T) {
	r := plug(t)
	l := open(t, nil, trunkAt(r.port()))
	r.to = netip.MustParseAddrPort(l.addr())
	l.deciding(func(context.Context, carrier.Offer) carrier.Decision {
		return carrier.Decision{Refuse: carrier.CauseBusy}
	})
	cases := torture(fmt.Sprintf("SIP/2.0/UDP 127.0.0.1:%d;rport", r.port()), l.addr())
	require.Len(t, cases, 49)
	for _, c := range cases {
		r.send(c.data)
		r.alive(t, c.name)
	}
	for _, c := range cases {
		codes := r.codes(c.name + ".torture")
		for _, code := range codes {
			require.True(t, c.wants != "-" && strings.Contains(c.wants, strconv.Itoa(code/100)), "%s was answered %v, wanted classes %q", c.name, codes, c.wants)
		}
		if testing.Verbose() {
			t.Logf("%-12s %v", c.name, codes)
		}
	}
	require.Eventually(t, func() bool { return l.Active() == 0 }, 40*time.Second, 10*time.Millisecond)
}

// seeds are sound messages of all kinds, to be broken.
func seeds(via, self string) [][]byte {
	var all [][]byte
	for _, c := range torture(via, self) {
		all = append(all, c.data)
	}
	for i, method := range []string{"INVITE", "ACK", "BYE", "CANCEL", "OPTIONS", "UPDATE", "INFO", "REFER", "NOTIFY", "PRACK", "SUBSCRIBE"} {
		all = append(all, message(method+" sip:+15005550100@"+self+" SIP/2.0", "Via: "+via+";branch=z9hG4bKseed"+method, "Max-Forwards: 70", "From: \"A\" <sip:+15005550123@127.0.0.1>;tag=seed",
			"To: <sip:+15005550100@"+self+">"+[]string{"", ";tag=there"}[i%2], "Call-ID: seed-"+method, "CSeq: 7 "+method, "Contact: <sip:x@127.0.0.1:9>", "Session-Expires: 90;refresher=uac", "Supported: timer, 100rel",
			"Refer-To: <sip:y@127.0.0.1>", "Event: refer", "RAck: 1 2 INVITE", "Authorization: Digest username=\"a\", realm=\"b\", nonce=\"c\", uri=\"sip:d\", response=\"e\", qop=auth, nc=00000001", sound))
	}
	for _, code := range []string{"100 Trying", "183 Progress", "200 OK", "401 Unauthorized", "407 Proxy", "422 Small", "486 Busy", "503 No"} {
		all = append(all, message("SIP/2.0 "+code, "Via: "+via+";branch=z9hG4bKseed", "From: <sip:a@127.0.0.1>;tag=seed", "To: <sip:b@127.0.0.1>;tag=x", "Call-ID: seed-response", "CSeq: 7 INVITE", "Contact: <sip:x@127.0.0.1:9>",
			"WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=MD5", "Retry-After: 5", "Min-SE: 90", "Record-Route: <sip:127.0.0.1;lr>", sound))
	}
	return all
}

// broken changes a message in one to eight places.
func broken(r *rand.Rand, all [][]byte) []byte {
	m := bytes.Clone(all[r.IntN(len(all))])
	for range 1 + r.IntN(8) {
		if len(m) == 0 {
			return m
		}
		at := r.IntN(len(m))
		n := min(r.IntN(40), len(m)-at)
		switch r.IntN(8) {
		case 0:
			m[at] ^= 1 << r.IntN(8)
		case 1:
			m[at] = byte(r.IntN(256))
		case 2: // leave out
			m = append(m[:at:at], m[at+n:]...)
		case 3: // twice
			m = append(m[:at+n:at+n], m[at:]...)
		case 4: // a piece of another
			other := all[r.IntN(len(all))]
			from := r.IntN(len(other))
			m = append(m[:at:at], append(bytes.Clone(other[from:min(from+r.IntN(60), len(other))]), m[at:]...)...)
		case 5: // a number that is too large
			m = append(m[:at:at], append([]byte(strings.Repeat("9", r.IntN(30))), m[at:]...)...)
		case 6: // two lines in each other's place
			if lines := bytes.Split(m, []byte("\r\n")); len(lines) > 2 {
				i, j := r.IntN(len(lines)), r.IntN(len(lines))
				lines[i], lines[j] = lines[j], lines[i]
				m = bytes.Join(lines, []byte("\r\n"))
			}
		case 7:
			m = append(m[:at:at], append([]byte([]string{"\x00", "\r\n\r\n", "\"", "<", ">", ";", ",", "@", ":", "%", "[", "::1]", "\r\n ", "\xff"}[r.IntN(14)]), m[at:]...)...)
		}
	}
	return m[:min(len(m), 60000)]
}

// Broken messages of a trunk do no harm: afterwards calls both ways go well. The environment's CALLWRIGHT_MUTATIONS says
// how many; a million is the goal.
func TestBrokenMessagesDoNoHarm(t *testing.T) {
	t.Parallel()
	count := 5000
	if n, err := strconv.Atoi(os.Getenv("CALLWRIGHT_MUTATIONS")); err == nil {
		count = n
	}
	r := plug(t)
	far := siptest.FreePort(t)
	l := open(t, func(c *sip.Config) {
		c.Addr, c.Log = fmt.Sprintf("127.0.0.1:%d", siptest.FreePort(t)), slog.New(slog.DiscardHandler)
		c.InviteRate, c.MaxCalls = 1e5, 1e6 // what is refused for its number is tortured by nothing
	}, trunkAt(far, "name=far"), trunkAt(r.port(), "name=raw"))
	l.deciding(func(context.Context, carrier.Offer) carrier.Decision {
		<-l.offers                                                                // nobody looks at them
		return carrier.Decision{Run: func(ctx context.Context, leg carrier.Leg) { // a few of them are calls
			_ = leg.Hangup(ctx, carrier.CauseNormal)
			for range leg.Events() {
			}
		}}
	})
	r.to = netip.MustParseAddrPort(l.addr())
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	all := seeds(fmt.Sprintf("SIP/2.0/UDP 127.0.0.1:%d;rport", r.port()), l.addr())
	began := time.Now()
	for i := range count {
		r.send(broken(random, all))
		if i%40 == 39 { // no faster than they are read
			r.alive(t, fmt.Sprintf("%d broken messages of seed %d", i+1, seed))
			r.mu.Lock()
			r.got = nil
			r.mu.Unlock()
		}
	}
	t.Logf("%d in %v, %d goroutines", count, time.Since(began).Round(time.Millisecond), runtime.NumGoroutine())
	theirs := open(t, func(c *sip.Config) { c.Addr = fmt.Sprintf("127.0.0.1:%d", far) }, trunkAt(l.Port()))
	calls := 100
	for name, pair := range map[string][2]*line{"from": {theirs, l}, "to": {l, theirs}} {
		var done sync.WaitGroup
		for range 10 {
			done.Go(func() {
				for range calls / 10 {
					leg, ended := pair[0].dial(10*time.Second, nil)
					if ended != nil {
						t.Errorf("a call %s the line that was tortured: %v", name, ended)
						return
					}
					_ = leg.Hangup(t.Context(), carrier.CauseNormal)
				}
			})
		}
		done.Wait()
	}
}
