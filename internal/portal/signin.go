package portal

import (
	"net/http"
	"strings"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// entrance is how somebody comes in: what the pages for signing in and up show.
type entrance struct {
	// Next is where the visitor wants to go.
	Next string
	// NeedsSetUp says that nobody can sign in yet, SignUpOpen that everybody may sign up.
	NeedsSetUp, SignUpOpen bool
	// Problem is what was wrong with the form that came.
	Problem string
	// Typed is what the form is filled with again; never a password.
	Typed map[string]string
	// Workspaces are those that the password is right in.
	Workspaces []*callwrightv1.WorkspaceChoice
	// OpenID is what the provider is called that people may sign in with; Ticket is that of one who is vouched for.
	OpenID, Ticket string
	// Code is the pairing that waits for its owner.
	Code string
}

func (v *visit) entrance(next string) (entrance, error) {
	offer, err := v.p.people.GetSignIn(v.ctx, &callwrightv1.GetSignInRequest{})
	if err != nil {
		return entrance{}, err
	}
	return entrance{
		Next: next, NeedsSetUp: offer.GetNeedsSetUp(), SignUpOpen: offer.GetSignUpOpen(), OpenID: offer.GetOpenIdName(),
	}, nil
}

// typed is what a form is filled with again when it is shown once more.
func (v *visit) typed() map[string]string {
	all := map[string]string{}
	for _, name := range []string{"email", "first_name", "last_name", "workspace_name", "token"} {
		all[name] = v.form(name)
	}
	return all
}

// fullName is the one name that people are kept by.
func (v *visit) fullName() string {
	return strings.TrimSpace(v.form("first_name") + " " + v.form("last_name"))
}

func (p *portal) signInPage(v *visit) error {
	if v.me != nil {
		return v.redirect(v.next())
	}
	e, err := v.entrance(v.next())
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, signInView(v.page("Sign in"), e))
}

func (p *portal) signIn(v *visit) error {
	in, err := p.people.SignIn(v.ctx, &callwrightv1.SignInRequest{
		Email: v.form("email"), Password: v.secretForm("password"), WorkspaceId: v.form("workspace_id"),
	})
	if err == nil && in.GetSignedIn() != nil {
		v.adopt(in.GetSignedIn())
		return v.redirect(v.next())
	}
	status, problem := http.StatusOK, ""
	if err != nil {
		f := fault.FromStatus(err)
		if _, ok := refusal(err); !ok && f.Kind != fault.Unauthenticated {
			return err
		}
		v.retryAfter(f)
		status, problem = f.Kind.HTTP(), sentence(f)
	}
	e, err := v.entrance(v.next())
	if err != nil {
		return err
	}
	e.Problem, e.Typed, e.Workspaces = problem, v.typed(), in.GetWorkspaces()
	if code := pairCode(e.Next); code != "" {
		e.Code = code
		return v.show(status, pairEntranceView(v.page("Connect an assistant"), e))
	}
	return v.show(status, signInView(v.page("Sign in"), e))
}

func (p *portal) signUpPage(v *visit) error {
	if v.me != nil {
		return v.redirect(v.next())
	}
	e, err := v.entrance(v.next())
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, signUpView(v.page("Create an account"), e))
}

func (p *portal) signUp(v *visit) error {
	in, err := p.people.SignUp(v.ctx, &callwrightv1.SignUpRequest{
		Email: v.form("email"), Password: v.secretForm("password"), Name: v.fullName(), WorkspaceName: v.form("workspace_name"),
	})
	if err == nil {
		return v.enter(in.GetSignedIn(), "welcome")
	}
	f, ok := refusal(err)
	if !ok {
		return err
	}
	v.retryAfter(f)
	e, err := v.entrance(v.next())
	if err != nil {
		return err
	}
	e.Problem, e.Typed = sentence(f), v.typed()
	if code := pairCode(e.Next); code != "" {
		e.Code = code
		return v.show(f.Kind.HTTP(), pairEntranceView(v.page("Connect an assistant"), e))
	}
	return v.show(f.Kind.HTTP(), signUpView(v.page("Create an account"), e))
}

// enter signs the visitor in and goes on to where they wanted.
func (v *visit) enter(in *callwrightv1.SignedIn, message string) error {
	v.adopt(in)
	next := v.next()
	if next == "/" {
		return v.done(next, message)
	}
	return v.redirect(next)
}

func (p *portal) signOut(v *visit) error {
	if _, err := p.people.SignOut(v.ctx, &callwrightv1.SignOutRequest{}); err != nil {
		return err
	}
	v.dropCookie(sessionCookie)
	if next := v.next(); next != "/" {
		return v.redirect(next)
	}
	return v.done("/sign-in", "signed-out")
}
