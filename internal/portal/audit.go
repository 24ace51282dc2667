package portal

import (
	"net/http"
	"strings"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// auditTexts are the actions of the audit in words.
var auditTexts = map[string]string{
	"sign_in": "signed in", "sign_in_failed": "wrong password for", "sign_out": "signed out",
	"sign_out_everywhere": "signed out everywhere", "signed_up": "signed up", "password_changed": "changed the password",
	"password_reset": "set a new password by link", "password_reset_link": "reset link made for", "member_invited": "invited",
	"invite_deleted": "took back the invite of", "member_joined": "joined", "role_changed": "changed the role of",
	"member_removed": "removed", "key_created": "made the key", "key_deleted": "deleted the key",
	"pairing_approved": "approved the assistant", "pairing_denied": "denied the assistant", "pairing_claimed": "collected the key for",
	"workspace_changed": "changed the workspace",
}

func auditText(action string) string {
	return orText(auditTexts[action], strings.ReplaceAll(action, "_", " "))
}

func (p *portal) auditPage(v *visit) error {
	got, err := p.people.ListAudit(v.ctx, &callwrightv1.ListAuditRequest{Offset: v.offset()})
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, auditView(v.page("Audit"), got.GetEntries(), listing(got.GetPagination(), len(got.GetEntries()))))
}

// connecting is what the page about assistants shows.
type connecting struct {
	Base     string
	Accesses []*callwrightv1.ToolAccess
	Listed   listed
	// Who are names of people and keys by id.
	Who map[string]string
}

func (c connecting) who(a *callwrightv1.ToolAccess) string {
	if name := c.Who[a.GetKeyId()+a.GetUserId()]; name != "" {
		return name
	}
	return "a key that is deleted"
}

func (p *portal) assistantsPage(v *visit) error {
	page := v.page("Connect an assistant")
	c := connecting{Base: p.base(v.r)}
	if !page.owns() {
		return v.show(http.StatusOK, assistantsView(page, c))
	}
	got, err := p.assistants.ListToolAccesses(v.ctx, &callwrightv1.ListToolAccessesRequest{Offset: v.offset()})
	if err != nil {
		return err
	}
	c.Accesses, c.Listed = got.GetData(), listing(got.GetPagination(), len(got.GetData()))
	if c.Who, err = v.people(); err != nil {
		return err
	}
	limit := int32(200)
	keys, err := p.keys.ListApiKeys(v.ctx, &callwrightv1.ListApiKeysRequest{Limit: &limit})
	if err != nil {
		return err
	}
	for _, k := range keys.GetData() {
		c.Who[k.GetId()] = "key " + orText(k.GetName(), "…"+k.GetHint())
	}
	return v.show(http.StatusOK, assistantsView(page, c))
}
