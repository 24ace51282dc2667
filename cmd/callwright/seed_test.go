package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/identity"
)

// seeds says how a record of a kind is made: a new kind of id in an RPC needs a line here, and nothing else. <mark> is
// the workspace's own text; <n> counts in each workspace from 1, so that what must be unique within a workspace is equal
// in all of them.
var seeds = map[callwrightv1.Ref]struct {
	path string
	body map[string]any
}{
	callwrightv1.Ref_REF_PHONE_NUMBER: {"/v1/phone-numbers", map[string]any{"number": "+1555456<n>", "label": "<mark>", "agent_id": "<agent>"}},
	callwrightv1.Ref_REF_CONTACT:      {"/v1/contact", map[string]any{"phone": "+1555123<n>", "email": "equal<n>@example.com", "first_name": "<mark>", "additional_notes": "<mark>"}},
	callwrightv1.Ref_REF_CALL_TAG:     {"/v1/call-tags", map[string]any{"name": "Equal <n> in <mark>", "emoji": "🙂"}},
	callwrightv1.Ref_REF_CUSTOM_FIELD: {"/v1/custom-fields", map[string]any{"key": "equal_<n>", "label": "<mark>", "type": "text"}},
	callwrightv1.Ref_REF_DO_NOT_CALL:  {"/v1/do-not-call", map[string]any{"phone": "+1555789<n>", "reason": "<mark>"}},
	callwrightv1.Ref_REF_CAMPAIGN:     {"/v1/campaigns", map[string]any{"name": "<mark>", "agent_id": "<agent>", "steps": []any{map[string]any{"type": "call"}, map[string]any{"type": "sms", "message": "<mark>"}}}},
	callwrightv1.Ref_REF_ACTION:       {"/v1/agents/<agent>/actions", map[string]any{"type": "summary", "name": "<mark>", "prompt": "<mark>"}},
}

// fill gives the workspace records of every kind, with mark in every text that they have. A second fill adds more.
func (w *tenant) fill(t *testing.T, mark string) {
	t.Helper()
	w.mark = mark
	w.ids = map[callwrightv1.Ref]string{callwrightv1.Ref_REF_WORKSPACE: w.id.String()}
	w.ids[callwrightv1.Ref_REF_AGENT] = w.fresh(t, callwrightv1.Ref_REF_AGENT, w.ids)
	for kind := range seeds {
		w.ids[kind] = w.fresh(t, kind, w.ids)
	}
	for _, kind := range []callwrightv1.Ref{callwrightv1.Ref_REF_USER, callwrightv1.Ref_REF_API_KEY, callwrightv1.Ref_REF_INVITE,
		callwrightv1.Ref_REF_JOB} {
		w.ids[kind] = w.fresh(t, kind, w.ids)
	}
	_, err := campaign.Enroll(w.ctx(t), w.house.db, uuid.MustParse(w.ids[callwrightv1.Ref_REF_CAMPAIGN]), campaign.Request{
		Contacts: []campaign.Entry{{Input: contact.Input{Phone: new("+15551239999"), FirstName: &mark}, Variables: map[string]string{"mark": mark}}},
	})
	require.NoError(t, err)
	running := w.fresh(t, callwrightv1.Ref_REF_CALL, w.ids)
	require.NoError(t, w.dial(t, uuid.MustParse(running)))
	ended := w.fresh(t, callwrightv1.Ref_REF_CALL, w.ids)
	require.NoError(t, w.talk(t, uuid.MustParse(ended), 12, 1600, []string{mark, mark, mark}))
	w.conclude(t, uuid.MustParse(ended)) // its summary repeats the mark
	w.ids[callwrightv1.Ref_REF_CALL] = ended
	w.ids[callwrightv1.Ref_REF_DELIVERY] = w.fresh(t, callwrightv1.Ref_REF_DELIVERY, w.ids)
}

// fresh makes a record that no request has used up yet. Its agent, if it has one, is that of the ids beside it.
func (w *tenant) fresh(t *testing.T, kind callwrightv1.Ref, beside map[callwrightv1.Ref]string) string {
	t.Helper()
	w.made++
	switch kind {
	case callwrightv1.Ref_REF_AGENT:
		a, err := agent.Create(w.ctx(t), w.house.db, marked(w.mark))
		require.NoError(t, err)
		return a.ID.String()
	case callwrightv1.Ref_REF_CALL:
		c, err := call.Place(w.ctx(t), w.house.db, call.Request{
			To: "+15551230001", AgentID: uuid.MustParse(w.ids[callwrightv1.Ref_REF_AGENT]),
			Variables: map[string]string{"name": w.mark}, Metadata: json.RawMessage(fmt.Sprintf(`{"mark":%q}`, w.mark)),
		})
		require.NoError(t, err)
		return c.ID.String()
	case callwrightv1.Ref_REF_USER:
		u, err := w.house.identity.CreateUser(w.ctx(t), identity.NewUser{WorkspaceID: w.id, Name: w.mark, Role: identity.RoleMember})
		require.NoError(t, err)
		return u.ID.String()
	case callwrightv1.Ref_REF_API_KEY:
		k, err := w.house.identity.CreateKey(w.ctx(t), w.id, identity.NewKey{Name: w.mark})
		require.NoError(t, err)
		return k.Row.ID.String()
	case callwrightv1.Ref_REF_INVITE:
		owner := identity.Principal{WorkspaceID: w.id, UserID: &w.founded.Owner.ID, Role: identity.RoleOwner}
		i, _, err := w.house.identity.Invite(identity.WithPrincipal(w.ctx(t), owner), fmt.Sprintf("%s-%d@example.com", w.mark, w.made), identity.RoleMember)
		require.NoError(t, err)
		return i.ID.String()
	case callwrightv1.Ref_REF_JOB: // not by a request: only 50 of them pass in a day
		b, err := w.house.db.Ent().AgentBuild.Create().SetWebsiteURL("https://" + w.mark + ".example.com").SetInstructions(w.mark).
			SetStatus("failed").SetError(w.mark).SetPages(json.RawMessage(fmt.Sprintf(`{"pages":[{"url":%[1]q,"title":%[1]q}]}`, w.mark))).Save(w.ctx(t))
		require.NoError(t, err)
		return b.ID.String()
	case callwrightv1.Ref_REF_DELIVERY: // jobs make them, not requests
		d, err := w.house.db.Ent().Delivery.Create().SetCallID(uuid.MustParse(w.ids[callwrightv1.Ref_REF_CALL])).
			SetActionID(uuid.New()).SetURL("https://" + w.mark + ".example.com").SetStatus("abandoned").Save(w.ctx(t))
		require.NoError(t, err)
		return d.ID.String()
	}
	seed, ok := seeds[kind]
	if !ok {
		id, ok := w.ids[kind]
		require.True(t, ok, "nobody knows how to make a record of kind %s: add it to seeds", kind)
		return id
	}
	vars := map[string]any{"mark": w.mark, "n": fmt.Sprintf("%04d", w.made), "agent": beside[callwrightv1.Ref_REF_AGENT]}
	return w.post(t, expand(seed.path, vars).(string), expand(seed.body, vars))
}

// post makes a record and returns its id.
func (w *tenant) post(t *testing.T, path string, body any) string {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), "POST", w.house.url+path, bytes.NewReader(text))
	require.NoError(t, err)
	req.Header.Set("Authorization", w.credential(t, "key"))
	resp, err := w.house.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode, "POST %s: %s", path, answer)
	id, err := pick(readJSON(answer), "data.id")
	require.NoError(t, err)
	return id.(string)
}

// marked are settings with mark in every free text.
func marked(mark string) agent.Settings {
	s := agent.Settings{Name: &mark}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if strings.HasPrefix(v.Type().Field(i).Tag.Get("rule"), "text ") {
			v.Field(i).Set(reflect.ValueOf(&mark))
		}
	}
	s.Goals, s.Guardrails = []string{mark}, []string{mark}
	return s
}
