package portal

import (
	"net/http"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

func (p *portal) accountPage(v *visit) error {
	return v.show(http.StatusOK, accountView(v.page("Your account"), ""))
}

func (p *portal) changePassword(v *visit) error {
	got, err := p.people.ChangePassword(v.ctx, &callwrightv1.ChangePasswordRequest{
		CurrentPassword: v.secretForm("current_password"), NewPassword: v.secretForm("password"),
	})
	if err == nil {
		v.adopt(got.GetSignedIn())
		return v.done("/account", "password-changed")
	}
	f := fault.FromStatus(err)
	if _, ok := refusal(err); !ok && f.Code != "wrong_password" {
		return err
	}
	v.retryAfter(f)
	return v.show(f.Kind.HTTP(), accountView(v.page("Your account"), sentence(f)))
}

func (p *portal) signOutEverywhere(v *visit) error {
	if _, err := p.people.SignOutEverywhere(v.ctx, &callwrightv1.SignOutEverywhereRequest{}); err != nil {
		return err
	}
	v.dropCookie(sessionCookie)
	return v.done("/sign-in", "signed-out-all")
}
