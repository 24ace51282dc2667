package portal

import (
	"net/http"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// linkForm is what the pages of links that work once show: first a field for the token, which the script fills from the
// address's fragment, then what the link is for.
type linkForm struct {
	// Action is the page's path.
	Action string
	// About is nil until the token is known.
	About   *callwrightv1.LookUpLinkResponse
	Token   string
	Problem string
	Typed   map[string]string
	Next    string
}

// lookUp tells what the link of the form is for. A token for another page is as good as none.
func (v *visit) lookUp(kind, token string) (*callwrightv1.LookUpLinkResponse, error) {
	about, err := v.p.people.LookUpLink(v.ctx, &callwrightv1.LookUpLinkRequest{Token: token})
	if err == nil && about.GetKind() != kind {
		err = fault.New(fault.NotFound, "link_not_found", "this link is for something else")
	}
	return about, err
}

// link is the page of one kind of link. use acts on a form that has a password; a form without one only asks what the
// link is for.
func (p *portal) link(v *visit, kind, title string, view func(page, linkForm) component,
	use func(token, password string) (*callwrightv1.SignedIn, error), message string) error {
	f := linkForm{Action: v.r.URL.Path, Token: v.form("token"), Typed: v.typed(), Next: v.next()}
	if v.r.Method != http.MethodPost {
		return v.show(http.StatusOK, view(v.page(title), f))
	}
	password, sent := v.secretForm("password"), v.r.PostForm.Has("password")
	about, err := v.lookUp(kind, f.Token)
	if err == nil && sent {
		var in *callwrightv1.SignedIn
		if in, err = use(f.Token, password); err == nil {
			return v.enter(in, message)
		}
	}
	f.About = about
	status := http.StatusOK
	if err != nil {
		e := fault.FromStatus(err)
		if _, ok := refusal(err); !ok && e.Code != "link_not_found" {
			return err
		}
		if e.Code == "link_not_found" {
			f.About, f.Token = nil, ""
		}
		v.retryAfter(e)
		status, f.Problem = e.Kind.HTTP(), sentence(e)
	}
	return v.show(status, view(v.page(title), f))
}

func (p *portal) setUpPage(v *visit) error { return p.setUp(v) }

func (p *portal) setUp(v *visit) error {
	return p.link(v, "set_up", "Set up Callwright", setUpView, func(token, password string) (*callwrightv1.SignedIn, error) {
		in, err := p.people.SetUp(v.ctx, &callwrightv1.SetUpRequest{
			Token: token, Email: v.form("email"), Password: password, Name: v.fullName(), WorkspaceName: v.form("workspace_name"),
		})
		return in.GetSignedIn(), err
	}, "welcome")
}

func (p *portal) invitePage(v *visit) error { return p.acceptInvite(v) }

func (p *portal) acceptInvite(v *visit) error {
	return p.link(v, "invite", "Join a workspace", inviteView, func(token, password string) (*callwrightv1.SignedIn, error) {
		in, err := p.people.AcceptInvite(v.ctx, &callwrightv1.AcceptInviteRequest{Token: token, Password: password, Name: v.fullName()})
		return in.GetSignedIn(), err
	}, "welcome")
}

func (p *portal) resetPage(v *visit) error { return p.resetPassword(v) }

func (p *portal) resetPassword(v *visit) error {
	return p.link(v, "reset", "Set a new password", resetView, func(token, password string) (*callwrightv1.SignedIn, error) {
		in, err := p.people.ResetPassword(v.ctx, &callwrightv1.ResetPasswordRequest{Token: token, Password: password})
		return in.GetSignedIn(), err
	}, "password-set")
}
