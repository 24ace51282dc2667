package portal

import (
	"net/http"
	"strconv"
	"strings"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// settings is what the page of the workspace's settings shows.
type settings struct {
	Workspace *callwrightv1.Workspace
	Problem   string
}

func (s settings) countries() string {
	return strings.Join(s.Workspace.GetPolicy().GetAllowedCountries(), ", ")
}

// number shows an optional number; nothing for one that is not set.
func number(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// windowText is a ceiling of the plan in words.
func windowText(key string) string {
	return upperFirst(strings.ReplaceAll(strings.Replace(key, "_per_", " in ", 1), "_", " "))
}

func (p *portal) settingsPage(v *visit) error {
	got, err := p.workspaces.GetWorkspace(v.ctx, &callwrightv1.GetWorkspaceRequest{})
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, settingsView(v.page("Settings"), settings{Workspace: got.GetData()}))
}

// updateSettings saves what the form says. A field that is left empty goes back to its default.
func (p *portal) updateSettings(v *visit) error {
	asked, err := v.workspaceForm()
	if err == nil {
		_, err = p.workspaces.UpdateWorkspace(v.ctx, &callwrightv1.UpdateWorkspaceRequest{Workspace: asked})
	}
	if err == nil {
		return v.done("/settings", "settings-saved")
	}
	f, ok := refusal(err)
	if !ok {
		return err
	}
	now, err := p.workspaces.GetWorkspace(v.ctx, &callwrightv1.GetWorkspaceRequest{})
	if err != nil {
		return err
	}
	if asked != nil { // what was typed stays, what nobody can type is of the workspace
		asked.Id, asked.Plan = now.GetData().GetId(), now.GetData().GetPlan()
		if asked.Hipaa == nil {
			asked.Hipaa = now.GetData().Hipaa
		}
		now.Data = asked
	}
	return v.show(f.Kind.HTTP(), settingsView(v.page("Settings"), settings{Workspace: now.GetData(), Problem: sentence(f)}))
}

func (v *visit) workspaceForm() (*callwrightv1.Workspace, error) {
	name, zone := v.form("name"), v.form("timezone")
	w := &callwrightv1.Workspace{Name: &name, Timezone: &zone}
	if v.form("hipaa_shown") != "" { // a box that is not ticked is not sent
		on := v.form("hipaa") != ""
		w.Hipaa = &on
	}
	hours := &callwrightv1.QuietHours{SingleCalls: v.form("single_calls") != ""}
	if from := v.form("from"); from != "" {
		hours.From = &from
	}
	if to := v.form("to"); to != "" {
		hours.To = &to
	}
	w.Policy = &callwrightv1.WorkspacePolicy{QuietHours: hours, AllowedCountries: strings.FieldsFunc(strings.ToUpper(v.form("countries")),
		func(r rune) bool { return r == ',' || r == ' ' || r == ';' })}
	for field, at := range map[string]**int32{
		"calls_per_number_per_day": &w.Policy.CallsPerNumberPerDay, "calls_per_second": &w.Policy.CallsPerSecond,
	} {
		if text := v.form(field); text != "" {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return nil, fault.Invalidf("%s must be a whole number", strings.ReplaceAll(field, "_", " "))
			}
			small := int32(n)
			*at = &small
		}
	}
	return w, nil
}
