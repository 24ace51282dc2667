package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/rest/resttest"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// The options say what a field may hold, the rules decide it. Here each bound is tried on both of its sides, through the
// whole program, and each example of the reference is sent as it stands there.
func TestBoundsAndExamplesAreWhatTheRulesSay(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		r := referenced{t: t, house: h, tenant: h.found(t, "acme"), tried: map[string]bool{}}
		r.tenant.fill(t, "acme")
		r.document = r.read()
		for _, op := range r.document.Operations() {
			for _, b := range readBindings(t) {
				if b.template == op.Path && strings.EqualFold(b.verb, op.Verb) {
					r.operation(op, b)
				}
			}
		}
		require.Greater(t, len(r.tried), 150, "bounds were tried")
	})
}

type referenced struct {
	t        *testing.T
	house    *house
	tenant   *tenant
	document *resttest.Document
	tried    map[string]bool
}

func (r *referenced) read() *resttest.Document {
	status, text := r.send("GET", "/openapi.json", nil, "")
	require.Equal(r.t, 200, status)
	d, err := resttest.Parse(text)
	require.NoError(r.t, err)
	return d
}

func (r *referenced) send(verb, target string, body any, credential string) (int, []byte) {
	text, err := json.Marshal(body)
	require.NoError(r.t, err)
	if body == nil {
		text = nil
	}
	req, err := http.NewRequestWithContext(r.t.Context(), strings.ToUpper(verb), r.house.url+target, bytes.NewReader(text))
	require.NoError(r.t, err)
	req.Header.Set("Authorization", credential)
	resp, err := r.house.client.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp.StatusCode, answer
}

// unlikely are operations whose example can not succeed as it stands.
var unlikely = map[string]int{
	"pollPairing":  404, // there is no such device code
	"updateAction": 400, // it is for a webhook, and the record that is there is a summary
	// the campaign that is there is a draft
	"pauseCampaign":  409,
	"resumeCampaign": 409,
}

func (r *referenced) operation(op resttest.Operation, b binding) {
	served := r.house.services[string(b.method.Parent().FullName())]
	if !served || b.method.IsStreamingServer() || b.verb == "DELETE" {
		return
	}
	fields := b.method.Input().Fields()
	if b.body == "" {
		for i := range fields.Len() {
			if f := fields.Get(i); !strings.Contains(b.template, "{"+string(f.Name())+"}") {
				r.query(b, f)
			}
		}
		return
	}
	status, answer := r.send(b.verb, r.path(b), r.example(op), r.credential(b))
	if want := unlikely[op.ID]; want != 0 {
		require.Equal(r.t, want, status, "%s: %s", op.ID, answer)
	} else {
		assert.Less(r.t, status, 300, "the example of %s: %s", op.ID, answer)
	}
	if b.body != "*" {
		if b.verb != "POST" {
			return // the rules of a PUT are those of the POST
		}
		fields = fields.ByName(protoreflect.Name(b.body)).Message().Fields()
	}
	for i := range fields.Len() {
		if f := fields.Get(i); !strings.Contains(b.template, "{"+string(f.Name())+"}") && !f.IsMap() {
			r.member(op, b, f)
		}
	}
}

// path names fresh records of the workspace.
func (r *referenced) path(b binding) string {
	values := map[string]string{}
	for name := range placeholders(b.template) {
		f := b.method.Input().Fields().ByName(protoreflect.Name(name))
		values[name] = r.tenant.fresh(r.t, refOf(f), r.tenant.ids)
	}
	if id := values["agent_id"]; id != "" && values["id"] != "" { // an action is of the agent in its path
		values["agent_id"] = r.tenant.ids[callwrightv1.Ref_REF_AGENT]
	}
	return b.path(values)
}

func (r *referenced) credential(b binding) string {
	a := authOf(b.method)
	switch {
	case a.GetPublic():
		return ""
	case a.GetUserOnly():
		return r.tenant.credential(r.t, "token")
	}
	return r.tenant.credential(r.t, "key")
}

var exampleIDs = regexp.MustCompile(`0198c1f2-7d3e-7a41-9b52-0000000000([0-9a-f]{2})`)

// example is an operation's example with ids that are there.
func (r *referenced) example(op resttest.Operation) map[string]any {
	text := exampleIDs.ReplaceAllStringFunc(string(op.Example), func(id string) string {
		kind, err := strconv.ParseInt(id[len(id)-2:], 16, 32)
		require.NoError(r.t, err)
		return r.tenant.fresh(r.t, callwrightv1.Ref(kind), r.tenant.ids)
	})
	body := map[string]any{}
	require.NoError(r.t, json.Unmarshal([]byte(text), &body))
	return body
}

func limits(f protoreflect.FieldDescriptor) *callwrightv1.Bounds {
	b, _ := proto.GetExtension(f.Options(), callwrightv1.E_Bounds).(*callwrightv1.Bounds)
	return b
}

// sides are values just inside and just outside of a field's bounds.
func sides(f protoreflect.FieldDescriptor) (good, bad []any) {
	b := limits(f)
	text := f.Kind() == protoreflect.StringKind
	plain := text && b.GetPattern() == "" && b.GetFormat() == "" && len(b.GetOneOf()) == 0
	if n := int(b.GetMaxLength()); n > 0 {
		if plain {
			good = append(good, strings.Repeat("ä", n))
		}
		bad = append(bad, strings.Repeat("ä", n+1))
	}
	if n := int(b.GetMinLength()); n > 0 && plain {
		good, bad = append(good, strings.Repeat("ä", n)), append(bad, strings.Repeat("ä", n-1))
	}
	for _, one := range b.GetOneOf() {
		good = append(good, one)
	}
	if len(b.GetOneOf()) > 0 || b.GetPattern() != "" {
		bad = append(bad, "?")
	}
	if b != nil && b.Min != nil {
		good, bad = append(good, b.GetMin()), append(bad, b.GetMin()-1)
	}
	if b != nil && b.Max != nil {
		good, bad = append(good, b.GetMax()), append(bad, b.GetMax()+1)
	}
	if f.IsList() {
		good, bad = nil, nil
		if n := int(b.GetMaxItems()); n > 0 && len(b.GetFormat()) == 0 {
			good, bad = append(good, texts(n)), append(bad, texts(n+1))
		}
	}
	return good, bad
}

func texts(n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = fmt.Sprintf("text %d", i)
	}
	return all
}

// kinds are what a remark begins with where a field belongs to one type of the record.
var kinds = regexp.MustCompile(`^([a-z_]+)(, [a-z_]+)*: `)

// needs are what a type of action can not do without.
var needs = map[string]map[string]any{
	"webhook": {"url": "https://crm.example.com/"}, "summary": {"prompt": "x"}, "success_check": {"criteria": "x"},
	"extract_data": {"description": "x"}, "select": {"options": []any{"x"}},
}

func (r *referenced) member(op resttest.Operation, b binding, f protoreflect.FieldDescriptor) {
	t, name := r.t, memberName(f)
	if limits(f).GetReadOnly() {
		return
	}
	with := func(value any) (int, []byte) {
		body := maps.Clone(r.example(op))
		if m := kinds.FindStringSubmatch(callwrightv1.Remarks()[string(f.FullName())]); m != nil {
			body = map[string]any{"name": "x", "type": m[1], "key": "k" + strconv.Itoa(len(r.tried))}
			maps.Copy(body, needs[m[1]])
		}
		body[name] = value
		r.tried[fmt.Sprint(f.FullName(), value)] = true
		return r.send(b.verb, r.path(b), body, r.credential(b))
	}
	good, bad := sides(f)
	for _, value := range good {
		status, answer := with(value)
		assert.False(t, status == 400 && strings.Contains(string(answer), `"message":"`+name+" "), "%s: %s %.40v: %s", op.ID, name, value, answer)
	}
	for _, value := range bad {
		status, answer := with(value)
		assert.Equal(t, 400, status, "%s takes %s %.40v: %.200s", op.ID, name, value, answer)
		assert.Contains(t, string(answer), name, "%s: %s %.40v", op.ID, name, value)
	}
	if limits(f).GetRequired() {
		body := r.example(op)
		delete(body, name)
		status, answer := r.send(b.verb, r.path(b), body, r.credential(b))
		assert.True(t, status == 400 || unlikely[op.ID] != 0, "%s does without %s: %s", op.ID, name, answer)
	}
}

func (r *referenced) query(b binding, f protoreflect.FieldDescriptor) {
	t, name := r.t, memberName(f)
	good, bad := sides(f)
	ask := func(value any) (int, []byte) {
		r.tried[fmt.Sprint(f.FullName(), value)] = true
		return r.send(b.verb, r.path(b)+"?"+name+"="+url.QueryEscape(fmt.Sprint(value)), nil, r.credential(b))
	}
	for _, value := range good {
		status, answer := ask(value)
		assert.Equal(t, 200, status, "%s?%s=%.40v: %s", b.template, name, value, answer)
	}
	for _, value := range bad {
		status, answer := ask(value)
		assert.Equal(t, 400, status, "%s?%s=%.40v: %.200s", b.template, name, value, answer)
		assert.Contains(t, string(answer), name)
	}
}
