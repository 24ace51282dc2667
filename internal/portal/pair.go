package portal

import (
	"net/http"
	"net/url"
	"strings"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// asked is what the page of a pairing shows.
type asked struct {
	Pairing *callwrightv1.Pairing
	// Typed is the code as it was typed, when there is no pairing to show.
	Typed   string
	Problem string
	// MayDecide is false for those who may only read.
	MayDecide bool
	// Age is how long ago the client asked.
	Age string
}

// client is what the assistant calls itself, or a word for one that gave no name.
func (a asked) client() string {
	if name := a.Pairing.GetClientName(); name != "" {
		return "“" + name + "”"
	}
	return "an assistant"
}

// caution is what the owner should know before approving.
func (a asked) caution() string {
	text := "The app that asks gave no name."
	if a.Pairing.GetClientName() != "" {
		text = "The name " + a.client() + " was given by the app itself and is not verified."
	}
	text += " It asked " + a.Age
	if from := a.Pairing.GetClientAddress(); from != "" {
		text += " from " + from
	}
	return text + "."
}

// pairCode is the code in the address of the page of a pairing; empty for any other address.
func pairCode(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path != "/pair" {
		return ""
	}
	return u.Query().Get("code")
}

// tidyCode shows a typed code as codes are shown. Whether it is right is for the services to say.
func tidyCode(typed string) string {
	code := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(typed))
	if len(code) == 8 {
		return code[:4] + "-" + code[4:]
	}
	return strings.TrimSpace(typed)
}

func (p *portal) pairPage(v *visit) error {
	typed := v.r.URL.Query().Get("code")
	if len(typed) > 64 || strings.ContainsRune(typed, 0) {
		return v.show(http.StatusNotFound, pairCodeView(v.page("Connect an assistant"), asked{Problem: noSuchCode}))
	}
	if typed == "" {
		return v.show(http.StatusOK, pairCodeView(v.page("Connect an assistant"), asked{}))
	}
	if v.me == nil {
		e, err := v.entrance("/pair?code=" + url.QueryEscape(typed))
		if err != nil {
			return err
		}
		e.Code = tidyCode(typed)
		return v.show(http.StatusOK, pairEntranceView(v.page("Connect an assistant"), e))
	}
	found, err := p.pairings.LookUpPairing(v.ctx, &callwrightv1.LookUpPairingRequest{UserCode: typed})
	if err != nil {
		return v.wrongCode(typed, err)
	}
	return v.showPairing(http.StatusOK, found.GetPairing(), "")
}

const noSuchCode = "No assistant is waiting with this code. Look at it again; it works for a few minutes only."

// wrongCode asks for the code once more.
func (v *visit) wrongCode(typed string, err error) error {
	f := fault.FromStatus(err)
	if _, ok := refusal(err); !ok && f.Kind != fault.NotFound {
		return err
	}
	problem := noSuchCode
	if f.Kind != fault.NotFound {
		v.retryAfter(f)
		problem = sentence(f)
	}
	return v.show(f.Kind.HTTP(), pairCodeView(v.page("Connect an assistant"), asked{Typed: tidyCode(typed), Problem: problem}))
}

func (v *visit) showPairing(status int, found *callwrightv1.Pairing, problem string) error {
	a := asked{
		Pairing: found, Problem: problem, Age: ago(v.p.now(), found.GetCreatedAt().AsTime()),
		MayDecide: v.me.GetRole() != "viewer",
	}
	return v.show(status, pairView(v.page("Connect an assistant"), a))
}

// decide approves or denies. What became of it is shown by the page of the code.
func (p *portal) decide(v *visit) error {
	code := v.form("code")
	to := "/pair?code=" + url.QueryEscape(code)
	if v.me == nil {
		return v.redirect(to) // the session has ended; the page asks to sign in and comes back
	}
	decision := v.form("decision")
	if decision != "approve" && decision != "deny" {
		return fault.New(fault.Invalid, "validation_failed", "The form says neither to approve nor to deny.")
	}
	_, err := p.pairings.DecidePairing(v.ctx, &callwrightv1.DecidePairingRequest{UserCode: code, Approve: decision == "approve"})
	if err == nil {
		return v.redirect(to)
	}
	if f := fault.FromStatus(err); f.Kind == fault.Conflict { // too old, or decided by somebody else
		found, err := p.pairings.LookUpPairing(v.ctx, &callwrightv1.LookUpPairingRequest{UserCode: code})
		if err != nil {
			return v.wrongCode(code, err)
		}
		return v.showPairing(http.StatusConflict, found.GetPairing(), sentence(f))
	}
	return v.wrongCode(code, err)
}
