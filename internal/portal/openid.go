package portal

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

const (
	// attemptCookie keeps what belongs to a sign-in at the OpenID provider until the person comes back: sealed, and where
	// they want to go.
	attemptCookie = "callwright-openid"
	attemptLife   = 10 * time.Minute
)

// beginOpenID sends the visitor to the OpenID provider. It changes nothing but a cookie, so a link may ask for it; a form
// could not, because the pages' policy lets forms go nowhere else.
func (p *portal) beginOpenID(v *visit) error {
	begun, err := p.people.BeginOpenID(v.ctx, &callwrightv1.BeginOpenIDRequest{})
	if err != nil {
		return err
	}
	v.setCookie(attemptCookie, begun.GetAttempt()+"|"+url.QueryEscape(v.next()), p.now().Add(attemptLife))
	return v.redirect(begun.GetAuthorizationUrl())
}

// finishOpenID takes the visitor back.
func (p *portal) finishOpenID(v *visit) error {
	kept, next, _ := strings.Cut(v.cookie(attemptCookie), "|")
	v.dropCookie(attemptCookie)
	next, _ = url.QueryUnescape(next)
	next = p.local(next)
	q := v.r.URL.Query()
	if q.Get("error") != "" { // the person did not want to, or the provider does not let them
		return v.openIDProblem(next, fault.New(fault.Denied, "openid_denied", "the sign-in was not completed at the provider"))
	}
	got, err := p.people.FinishOpenID(v.ctx, &callwrightv1.FinishOpenIDRequest{Attempt: kept, State: q.Get("state"), Code: q.Get("code")})
	if err != nil {
		return v.openIDProblem(next, err)
	}
	if got.GetSignedIn() == nil {
		e, err := v.entrance(next)
		if err != nil {
			return err
		}
		e.Workspaces, e.Ticket = got.GetWorkspaces(), got.GetTicket()
		return v.show(http.StatusOK, signInView(v.page("Sign in"), e))
	}
	v.adopt(got.GetSignedIn())
	return v.redirect(next)
}

func (p *portal) chooseOpenID(v *visit) error {
	got, err := p.people.ChooseOpenID(v.ctx, &callwrightv1.ChooseOpenIDRequest{Ticket: v.form("ticket"), WorkspaceId: v.form("workspace_id")})
	if err != nil {
		return v.openIDProblem(v.next(), err)
	}
	v.adopt(got.GetSignedIn())
	return v.redirect(v.next())
}

// openIDProblem shows the sign-in page with what went wrong.
func (v *visit) openIDProblem(next string, err error) error {
	f := fault.FromStatus(err)
	if ours, ok := err.(*fault.Error); ok {
		f = ours
	}
	if _, ok := refusal(err); !ok && f.Kind != fault.Denied && f.Kind != fault.Unavailable {
		return err
	}
	e, err := v.entrance(next)
	if err != nil {
		return err
	}
	e.Problem = sentence(f)
	return v.show(f.Kind.HTTP(), signInView(v.page("Sign in"), e))
}
