package main_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// canary is in every text of workspace B, some of which are kept in lower case. Nobody with A's credentials may see it.
const canary = "CANARY-B"

// TestEveryRPCSaysWhoMayCallItAndWhatItsIDsName: without both, TestNoRPCTellsOfAnotherWorkspace could not see an RPC.
func TestEveryRPCSaysWhoMayCallItAndWhatItsIDsName(t *testing.T) {
	eachMethod(func(m protoreflect.MethodDescriptor) {
		a := authOf(m)
		require.True(t, a.GetPublic() || a.GetScope() != callwrightv1.Scope_SCOPE_UNSPECIFIED, "%s has no (auth)", m.FullName())
		for _, p := range append(fieldPaths(m.Input()), fieldPaths(m.Output())...) {
			f := p[len(p)-1]
			if f.Kind() == protoreflect.StringKind && idName.MatchString(string(f.Name())) && noRecord[f.FullName()] == "" {
				require.NotZero(t, refOf(f), "%s has no (ref)", f.FullName())
			}
		}
	})
}

var idName = regexp.MustCompile(`(^|_)ids?$`)

// noRecord are fields that look like ids and name no record of a workspace.
var noRecord = map[protoreflect.FullName]string{
	"callwright.v1.Agent.voice_id":        "a provider's name for a voice",
	"callwright.v1.DeletedRecord.id":      "a record that is gone, of whatever kind",
	"callwright.v1.DeletedCustomField.id": "the same",
	"callwright.v1.DeletedCallTag.id":     "the same",
	"callwright.v1.ToolAccess.subject_id": "an agent or a call, whichever was asked for",
}

// TestNoRPCTellsOfAnotherWorkspace puts another workspace's ids into every id field of every RPC, over both surfaces and
// with every kind of credential: the answer is the one for an id that nobody has, to the byte, no list shows anything of
// the other workspace, and none of its rows changes.
func TestNoRPCTellsOfAnotherWorkspace(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		for _, leak := range newProbe(t, open(t, db)).leaks() {
			t.Error(leak)
		}
	})
}

// TestAnEmptyRequestIsNoFaultOfOurs: over gRPC every message within a request can be absent, also where REST always has one.
func TestAnEmptyRequestIsNoFaultOfOurs(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		p := newProbe(t, open(t, db))
		eachMethod(func(m protoreflect.MethodDescriptor) {
			if !p.asks(m) {
				return
			}
			ids, _ := p.request(m, true)
			for _, path := range fieldPaths(m.Input()) {
				if len(path) > 1 {
					delete(ids, memberName(path[0])) // what goodRequests put in
				}
			}
			for _, in := range []map[string]any{{}, ids} { // with a person of their own, who can be signed out or removed
				token := p.a.user(t, identity.RoleOwner, p.house.identity, true)
				p.inspect(string(m.Name())+" with "+show(in), p.askGRPC(m, in, token), "")
			}
		})
		require.Empty(t, p.found)
	})
}

// TestIsolationTestNoticesALeak proves that the test above can fail: handlers that run outside of their workspace.
// The scope is the same code on both databases, so one of them is enough here.
func TestIsolationTestNoticesALeak(t *testing.T) {
	for _, rpc := range []string{"GetCall", "GetCallDetail", "ListCalls", "CancelCall", "DeleteCall", "StreamRecording",
		"GetAgent", "UpdateAgent", "DeleteAgent", "ListAgents", "GetPhoneNumber", "ListPhoneNumbers", "DeletePhoneNumber",
		"GetContact", "DeleteContact", "GetCallTag", "ListCallTags", "DeleteAction", "ListDoNotCall",
		"GetCampaign", "ListEnrollments", "GetAgentBuild"} {
		t.Run(rpc, func(t *testing.T) {
			h := openWith(t, storetest.SQLite(t), func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar { return unscoped{r, rpc} })
			require.NotEmpty(t, newProbe(t, h).only(rpc).leaks(), "%s looks at all workspaces and nothing was noticed", rpc)
		})
	}
}

// unscoped takes the workspace away from the context of one RPC.
type unscoped struct {
	grpc.ServiceRegistrar
	rpc string
}

func (u unscoped) RegisterService(d *grpc.ServiceDesc, impl any) {
	own := *d
	own.Methods = slices.Clone(d.Methods)
	for i, m := range own.Methods {
		if m.MethodName == u.rpc {
			own.Methods[i].Handler = func(srv any, ctx context.Context, dec func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
				return m.Handler(srv, ctx, dec, func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
					return chain(ctx, req, info, func(ctx context.Context, req any) (any, error) { return h(store.System(ctx), req) })
				})
			}
		}
	}
	own.Streams = slices.Clone(d.Streams)
	for i, s := range own.Streams {
		if s.StreamName == u.rpc {
			own.Streams[i].Handler = func(srv any, ss grpc.ServerStream) error { return s.Handler(srv, systemStream{ss}) }
		}
	}
	u.ServiceRegistrar.RegisterService(&own, impl)
}

type systemStream struct{ grpc.ServerStream }

func (s systemStream) Context() context.Context { return store.System(s.ServerStream.Context()) }

// probe asks everything and remembers what it should not have been told.
type probe struct {
	t        *testing.T
	house    *house
	bindings []binding
	a, b     *tenant
	tokens   map[string]string // credential → Authorization
	rpc      string            // only this one; empty for all
	unique   int
	found    []string
}

func newProbe(t *testing.T, h *house) *probe {
	p := &probe{t: t, house: h, bindings: readBindings(t), a: h.found(t, "A"), b: h.found(t, canary)}
	p.a.fill(t, "MARK-A")
	p.b.fill(t, canary)
	p.tokens = map[string]string{}
	for _, as := range []string{"key", "token", "none", "deleted key", "user without workspace"} {
		p.tokens[as] = p.a.credential(t, as)
	}
	return p
}

func (p *probe) only(rpc string) *probe {
	p.rpc = rpc
	return p
}

func (p *probe) report(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// leaks walks all RPCs.
func (p *probe) leaks() []string {
	before := p.rows(p.b)
	lists := p.lists()
	p.b.fill(p.t, canary+"-AGAIN")
	for name, now := range p.lists() {
		if now != lists[name] {
			p.report("%s changed when another workspace got more rows: %s, then %s", name, lists[name], now)
		}
	}
	require.NotEqual(p.t, before, p.rows(p.b), "the hash of B's rows does not see new rows")
	before = p.rows(p.b)
	eachMethod(func(m protoreflect.MethodDescriptor) {
		if p.asks(m) {
			p.method(m)
		}
	})
	if p.rows(p.b) != before {
		p.report("rows of another workspace changed")
	}
	// Nothing that people wrote or said belongs into a log, whosever it is.
	for line := range strings.Lines(p.house.log.String()) {
		if has(line, canary) || has(line, p.a.mark) {
			p.report("the log holds a workspace's text: %s", line)
		}
	}
	require.NotEmpty(p.t, p.house.log.String())
	return p.found
}

// asks says whether an RPC is looked at: not while its service is only described.
func (p *probe) asks(m protoreflect.MethodDescriptor) bool {
	return (p.rpc == "" || p.rpc == string(m.Name())) && p.house.services[string(m.Parent().FullName())]
}

// method tries every id field of an RPC.
func (p *probe) method(m protoreflect.MethodDescriptor) {
	for _, path := range fieldPaths(m.Input()) {
		ref := refOf(path[len(path)-1])
		if ref == 0 {
			continue
		}
		foreign, ok := p.b.ids[ref]
		require.True(p.t, ok, "%s takes an id of kind %s: add it to seeds", m.FullName(), ref)
		p.field(m, names(path), foreign, func(id string) any {
			if path[len(path)-1].IsList() {
				return []any{id}
			}
			return id
		})
	}
	for _, in := range insideText[string(m.Name())] {
		p.field(m, []string{in.field}, p.b.ids[in.ref], func(id string) any {
			return json.RawMessage(strings.ReplaceAll(in.text, "ID", id))
		})
	}
}

// insideText are the ids that hide in free JSON, where no descriptor shows them.
var insideText = map[string][]struct {
	field, text string
	ref         callwrightv1.Ref
}{
	"ListCalls": {
		{"where", `{"id":"ID"}`, callwrightv1.Ref_REF_CALL},
		{"where", `{"id":{"in":["ID"]}}`, callwrightv1.Ref_REF_CALL},
		{"where", `{"agent_id":"ID"}`, callwrightv1.Ref_REF_AGENT},
		{"where", `{"OR":[{"NOT":{"id":"ID"}}]}`, callwrightv1.Ref_REF_CALL},
		{"where", `{"workspace_id":"ID"}`, callwrightv1.Ref_REF_WORKSPACE},
	},
	"ListContacts": {
		{"where", `{"id":"ID"}`, callwrightv1.Ref_REF_CONTACT},
		{"where", `{"OR":[{"id":{"in":["ID"]}}]}`, callwrightv1.Ref_REF_CONTACT},
	},
}

// field sends one id field with every value, credential and surface.
func (p *probe) field(m protoreflect.MethodDescriptor, path []string, foreign string, wrap func(string) any) {
	for as, token := range p.tokens {
		if authOf(m).GetPublic() && as != "none" {
			continue // nobody looks at it
		}
		for surface, ask := range p.surfaces(m) {
			at := fmt.Sprintf("%s %s as %s over %s", m.Name(), strings.Join(path, "."), as, surface)
			send := func(id string) string {
				in, unique := p.request(m, as == "key" || as == "token")
				set(in, path, wrap(id))
				answer := ask(in, token)
				p.inspect(at, answer, id)
				return strings.ReplaceAll(answer, unique, "<unique>")
			}
			unknown := p.alike(send(uuid.NewString()))
			for kind, id := range map[string]string{"foreign": foreign, "upper-case foreign": strings.ToUpper(foreign)} {
				if answer := p.alike(send(id)); answer != unknown && !slowedDown(answer) {
					p.report("%s: the answer for the %s id\n%s\nis not the one for an unknown id\n%s", at, kind, answer, unknown)
				}
			}
			for _, id := range []string{"not-a-uuid", "", "{" + foreign + "}", strings.ReplaceAll(foreign, "-", "")} {
				answer := send(id)
				// An empty id can make another path of it.
				if as != "key" && as != "token" && !authOf(m).GetPublic() && id != "" && answer != unknown {
					p.report("%s: %q is answered otherwise than an unknown id\n%s\n%s", at, id, answer, unknown)
				}
			}
		}
	}
}

// slowedDown answers say nothing of any id: what is open to everybody bounds how often it is asked.
func slowedDown(answer string) bool {
	return strings.HasPrefix(answer, "HTTP 429") || strings.HasPrefix(answer, "code ResourceExhausted")
}

// inspect looks for what may be in no answer.
func (p *probe) inspect(at, answer, sent string) {
	if strings.HasPrefix(answer, "HTTP 5") || strings.HasPrefix(answer, "code Internal") || strings.HasPrefix(answer, "code Unknown") {
		p.report("%s fails with %q: %s", at, sent, answer)
	}
	if has(answer, canary) {
		p.report("%s shows another workspace's text: %s", at, answer)
	}
	for kind, id := range p.b.ids {
		if !strings.EqualFold(id, sent) && strings.Contains(answer, id) {
			p.report("%s shows another workspace's id of kind %s: %s", at, kind, answer)
		}
	}
}

// counted are the numbers that fresh records carry.
var counted = regexp.MustCompile(`\d{4,}`)

// alike leaves errors as they are, to the byte. What a success made has ids, times and a number of its own.
func (p *probe) alike(answer string) string {
	if !strings.HasPrefix(answer, "HTTP 2") && !strings.HasPrefix(answer, "code OK") {
		return answer
	}
	a := alike{ids: map[string]string{}}
	return counted.ReplaceAllString(a.of(answer).(string), "<n>")
}

// request is a good request of an RPC, with A's own ids, and the text in it that no other request has. Ids that only
// narrow a list are left out.
func (p *probe) request(m protoreflect.MethodDescriptor, fresh bool) (map[string]any, string) {
	p.unique++
	in := map[string]any{}
	b := p.binding(m)
	own := maps.Clone(p.a.ids)
	for _, f := range refsInOrder(m.Input()) {
		if b == nil || b.body == "" && !placeholders(b.template)[memberName(f)] {
			continue
		}
		if fresh {
			own[refOf(f)] = p.a.fresh(p.t, refOf(f), own)
		}
		in[memberName(f)] = own[refOf(f)]
	}
	unique := fmt.Sprintf("+1777%07d", p.unique)
	for name, value := range goodRequests[string(m.Name())] {
		set(in, strings.Split(name, "."), expand(value, map[string]any{"unique": unique}))
	}
	return in, unique
}

// refsInOrder are a request's own id fields, agents before what belongs to them.
func refsInOrder(m protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	var all []protoreflect.FieldDescriptor
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); refOf(f) != 0 && !f.IsList() {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b protoreflect.FieldDescriptor) int { return int(refOf(a)) - int(refOf(b)) })
	return all
}

// goodRequests are the fields without which an RPC never comes to its ids.
var goodRequests = map[string]map[string]any{
	"PlaceCall":         {"to": "+15551234567"},
	"CreateAgent":       {"agent.name": "A"},
	"CreatePhoneNumber": {"phone_number.number": "<unique>"},
	"CreateCampaign":    {"campaign.name": "A"},
	"UpdateCampaign":    {"campaign.name": "A"},
}

// binding is where REST offers an RPC; nil where it does not, as with what the tool server and the pages call.
func (p *probe) binding(m protoreflect.MethodDescriptor) *binding {
	for _, b := range p.bindings {
		if b.method.FullName() == m.FullName() {
			return &b
		}
	}
	return nil
}

// lists asks everything of A that needs no id. The answers must not depend on B.
func (p *probe) lists() map[string]string {
	answers := map[string]string{}
	eachMethod(func(m protoreflect.MethodDescriptor) {
		name := string(m.Name())
		if !p.asks(m) || !strings.HasPrefix(name, "List") && !strings.HasPrefix(name, "Find") && name != "GetUsage" {
			return
		}
		if name == "ListToolAccesses" {
			return // it grows by what is asked here; the tests of the tool server look at it
		}
		for surface, ask := range p.surfaces(m) {
			in, _ := p.request(m, false)
			at := name + " over " + surface
			answers[at] = timeAnywhere.ReplaceAllString(ask(in, p.tokens["token"]), "<time>")
			if strings.HasPrefix(answers[at], "code Unimplemented") || strings.HasPrefix(answers[at], "HTTP 405") {
				p.t.Logf("%s is not implemented", m.FullName())
				continue
			}
			if name != "GetUsage" && name != "ListAudit" && !has(answers[at], p.a.mark) {
				p.report("%s does not show a workspace its own rows: %s", at, answers[at])
			}
			p.inspect(at, answers[at], "")
		}
	})
	return answers
}

// has looks for a mark in any case.
func has(text, mark string) bool { return strings.Contains(strings.ToUpper(text), mark) }

// rows is a hash over all rows of a workspace, in every table that ent knows.
func (p *probe) rows(tenant *tenant) [32]byte {
	ctx := reflect.ValueOf(store.System(p.t.Context()))
	client := reflect.ValueOf(p.house.db.Ent()).Elem()
	var all []string
	for i := range client.NumField() {
		query := client.Field(i).MethodByName("Query")
		if !client.Type().Field(i).IsExported() || !query.IsValid() {
			continue
		}
		out := query.Call(nil)[0].MethodByName("All").Call([]reflect.Value{ctx})
		require.True(p.t, out[1].IsNil(), "%v", out[1])
		for j := range out[0].Len() {
			row := out[0].Index(j)
			if owner := fmt.Sprint(reflect.Indirect(reflect.Indirect(row).FieldByName("WorkspaceID"))); owner == tenant.id.String() {
				text, err := json.Marshal(row.Interface())
				require.NoError(p.t, err)
				all = append(all, client.Type().Field(i).Name+string(text))
			}
		}
	}
	require.NotEmpty(p.t, all)
	slices.Sort(all)
	return sha256.Sum256([]byte(strings.Join(all, "\n")))
}
