package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// TestAPI runs every case of testdata/api over REST and over gRPC, on both databases.
func TestAPI(t *testing.T) {
	files := apiFiles(t)
	bindings := readBindings(t)
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		for file, cases := range files {
			t.Run(file, func(t *testing.T) {
				for _, c := range cases {
					for _, name := range c.names() {
						t.Run(name.text, func(t *testing.T) { runCase(t, h, bindings, c, name.vars) })
					}
				}
			})
		}
	})
}

type caseName struct {
	text string
	vars map[string]any
}

// names are the runs of a case: one, or one for each set of variables.
func (c apiCase) names() []caseName {
	sets := c.Each
	for _, name := range slices.Sorted(maps.Keys(c.For)) {
		if len(sets) == 0 {
			sets = []map[string]any{{}}
		}
		var more []map[string]any
		for _, set := range sets {
			for _, value := range c.For[name] {
				with := maps.Clone(set)
				with[name] = value
				more = append(more, with)
			}
		}
		sets = more
	}
	if len(sets) == 0 {
		return []caseName{{c.Case, nil}}
	}
	var all []caseName
	for _, vars := range sets {
		text := c.Case
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			text += fmt.Sprintf(" %s=%v", name, vars[name])
		}
		all = append(all, caseName{text, vars})
	}
	return all
}

func runCase(t *testing.T, h *house, bindings []binding, c apiCase, vars map[string]any) {
	rest := &surface{t: t, name: "REST", house: h, bindings: bindings, tenant: h.found(t, "acme"), vars: map[string]any{}}
	grpc := &surface{t: t, name: "gRPC", house: h, bindings: bindings, tenant: h.found(t, "acme"), vars: map[string]any{}}
	for _, s := range []*surface{rest, grpc} {
		s.alike = alike{ids: map[string]string{}, own: s.tenant.number}
		s.vars["workspace"], s.vars["own_number"], s.vars["url"] = s.tenant.id.String(), s.tenant.number, h.url
		for k, v := range vars {
			s.vars[k] = expand(v, s.vars)
		}
	}
	for i, step := range c.Steps {
		at := fmt.Sprintf("step %d: %s%s", i+1, step.Send, step.Do)
		toREST, toGRPC := step.with(rest.vars), step.with(grpc.vars)
		if step.Do != "" {
			require.NoError(t, rest.tenant.do(t, toREST.Do), at)
			require.NoError(t, grpc.tenant.do(t, toGRPC.Do), at)
			continue
		}
		var byREST, byGRPC any
		if step.GRPCOnly == "" {
			byREST = rest.take(at, toREST, rest.overREST(toREST))
		}
		if step.RestOnly == "" {
			byGRPC = grpc.take(at, toGRPC, grpc.overGRPC(at, toGRPC))
		} else {
			// A saved id would be of the other workspace.
			require.Empty(t, step.Save, "%s: a step for REST alone can not save", at)
		}
		if step.GRPCOnly == "" && step.RestOnly == "" {
			if step.OwnWords != "" {
				for _, body := range []any{byREST, byGRPC} {
					delete(body.(map[string]any), "message")
					delete(body.(map[string]any), "details")
				}
			}
			require.Equal(t, byREST, byGRPC, "%s: REST and gRPC differ", at)
		}
	}
}

// surface is one way to the services, with the workspace and the variables of its run.
type surface struct {
	t        *testing.T
	name     string
	house    *house
	bindings []binding
	tenant   *tenant
	vars     map[string]any
	alike    alike
}

// reply is what came back, in the shape of REST.
type reply struct {
	answer string // 404 over REST, NotFound over gRPC
	body   any
	header http.Header
}

// take checks a reply against the step and returns it in a form that the other surface's equals.
func (s *surface) take(at string, step apiStep, r reply) any {
	t := s.t
	t.Helper()
	wantHTTP, wantGRPC, _ := strings.Cut(step.Answer, " ")
	if s.name == "REST" {
		require.Equal(t, wantHTTP, r.answer, "%s over REST: %s", at, show(r.body))
	} else {
		require.Equal(t, wantGRPC, r.answer, "%s over gRPC: %s", at, show(r.body))
	}
	if step.Want != nil {
		if err := match("body", step.Want, r.body); err != nil {
			require.NoError(t, err, "%s over %s: %s", at, s.name, show(r.body))
		}
	}
	for name, want := range step.WantHeaders {
		if r.header != nil {
			if err := match(name, want, header(r.header, name)); err != nil {
				require.NoError(t, err, "%s over %s", at, s.name)
			}
		}
	}
	for name, path := range step.Save {
		value, err := pick(r.body, path)
		require.NoError(t, err, "%s over %s", at, s.name)
		s.vars[name] = value
	}
	return s.alike.of(r.body)
}

// header is a header's value; "<absent>" when there is none.
func header(h http.Header, name string) any {
	if v, ok := h[http.CanonicalHeaderKey(name)]; ok {
		return strings.Join(v, ", ")
	}
	return "<absent>"
}

// request is the step's request line, headers and body.
func (s *surface) request(step apiStep) (verb, target string, headers map[string]string, body []byte) {
	verb, target, ok := strings.Cut(step.Send, " ")
	require.True(s.t, ok, "send needs a verb and a path: %q", step.Send)
	switch b := step.Body.(type) {
	case nil:
	case string:
		body = []byte(b)
	default:
		text, err := json.Marshal(b)
		require.NoError(s.t, err)
		body = text
	}
	headers = maps.Clone(step.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	if token := s.tenant.credential(s.t, step.As); token != "" {
		headers["Authorization"] = token
	}
	return verb, target, headers, body
}

func (s *surface) overREST(step apiStep) reply {
	t := s.t
	verb, target, headers, body := s.request(step)
	req, err := http.NewRequestWithContext(t.Context(), verb, s.house.url+encodeTarget(target), bytes.NewReader(body))
	require.NoError(t, err)
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	if len(body) > 0 && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.house.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	r := reply{answer: strconv.Itoa(resp.StatusCode), header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		r.body = readJSON(text)
	} else {
		r.body = map[string]any{"bytes": json.Number(strconv.Itoa(len(text)))}
	}
	return r
}

// encodeTarget writes a query's values as a URL takes them; cases write them as people read them.
func encodeTarget(target string) string {
	path, query, ok := strings.Cut(target, "?")
	if !ok {
		return path
	}
	return path + "?" + queryOf(query).Encode()
}

func queryOf(text string) url.Values {
	values := url.Values{}
	for pair := range strings.SplitSeq(text, "&") {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			values.Add(name, value)
		}
	}
	return values
}

func (s *surface) overGRPC(at string, step apiStep) reply {
	t := s.t
	verb, target, headers, body := s.request(step)
	path, query, _ := strings.Cut(target, "?")
	b, values, ok := resolve(s.bindings, verb, path)
	require.True(t, ok, "%s: no RPC answers this; say rest_only", at)
	in, ok := requestOf(b, values, queryOf(query), body)
	if step.Message != nil {
		if in, ok = requestOf(b, values, nil, nil); ok {
			text, err := json.Marshal(step.Message)
			require.NoError(t, err)
			more := newMessage(b.method.Input())
			require.NoError(t, protojson.Unmarshal(text, more), at)
			proto.Merge(in, more)
		}
	}
	require.True(t, ok, "%s: gRPC can not say this; say rest_only", at)
	ctx := t.Context()
	for k, v := range headers {
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(k), v)
	}
	out := newMessage(b.method.Output())
	if b.method.IsStreamingServer() {
		return s.stream(ctx, b, in)
	}
	if err := s.house.conn.Invoke(ctx, fullMethod(b.method), in, out); err != nil {
		return failed(err)
	}
	return reply{answer: "OK", body: bodyOf(b, out, s.house.url)}
}

// stream counts the bytes behind a recording's first message.
func (s *surface) stream(ctx context.Context, b binding, in proto.Message) reply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.house.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, fullMethod(b.method))
	require.NoError(s.t, err)
	require.NoError(s.t, stream.SendMsg(in))
	require.NoError(s.t, stream.CloseSend())
	size := 0
	for {
		out := newMessage(b.method.Output())
		err := stream.RecvMsg(out)
		if err == io.EOF {
			return reply{answer: "OK", body: map[string]any{"bytes": json.Number(strconv.Itoa(size))}}
		}
		if err != nil {
			return failed(err)
		}
		m := out.ProtoReflect()
		size += len(m.Get(m.Descriptor().Fields().ByName("chunk")).Bytes())
	}
}

// failed is an error status as the REST body that says the same (CONTRACT.md §1, Error body).
func failed(err error) reply {
	e := fault.FromStatus(err)
	body := map[string]any{"status": e.Kind.HTTP(), "error_code": e.Code, "message": e.Message}
	if e.Details != nil {
		body["details"] = e.Details
	}
	text, _ := json.Marshal(body)
	return reply{answer: status.Code(err).String(), body: readJSON(text)}
}
