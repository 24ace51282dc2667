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
	"strings"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// surfaces are the ways to an RPC. Each takes the request's fields and a credential and returns all of the answer as text.
func (p *probe) surfaces(m protoreflect.MethodDescriptor) map[string]func(in map[string]any, token string) string {
	all := map[string]func(map[string]any, string) string{
		"gRPC": func(in map[string]any, token string) string { return p.askGRPC(m, in, token) },
	}
	if b := p.binding(m); b != nil {
		all["REST"] = func(in map[string]any, token string) string { return p.askREST(b, in, token) }
	}
	return all
}

// askREST returns status, headers and body as one text.
func (p *probe) askREST(b *binding, in map[string]any, token string) string {
	path, query := map[string]string{}, url.Values{}
	var body any
	rest := maps.Clone(in)
	for name := range placeholders(b.template) {
		path[name], _ = rest[name].(string)
		delete(rest, name)
	}
	switch b.body {
	case "":
		for name, value := range rest {
			if text, ok := value.(json.RawMessage); ok {
				value = string(text)
			}
			query.Set(name, fmt.Sprint(value))
		}
	case "*":
		body = rest
	default:
		body = rest[b.body]
	}
	var text []byte
	if b.body != "" {
		text, _ = json.Marshal(body)
	}
	target := p.house.url + b.path(path)
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(p.t.Context(), b.verb, target, bytes.NewReader(text))
	require.NoError(p.t, err)
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	resp, err := p.house.client.Do(req)
	require.NoError(p.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return fmt.Sprintf("HTTP %d\n%s\n%s", resp.StatusCode, headerText(resp.Header), answer)
}

// askGRPC returns code, message, details, metadata and messages as one text.
func (p *probe) askGRPC(m protoreflect.MethodDescriptor, in map[string]any, token string) string {
	text, err := json.Marshal(in)
	require.NoError(p.t, err)
	req := newMessage(m.Input())
	require.NoError(p.t, fill(req.ProtoReflect(), text))
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", token)
	}
	stream, err := p.house.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, fullMethod(m))
	require.NoError(p.t, err)
	_ = stream.SendMsg(req)
	_ = stream.CloseSend()
	var messages []string
	for {
		out := newMessage(m.Output())
		if err = stream.RecvMsg(out); err != nil {
			break
		}
		message, err := json.Marshal(bodyOf(binding{method: m}, out, ""))
		require.NoError(p.t, err)
		messages = append(messages, string(message))
	}
	if err == io.EOF {
		err = nil
	}
	header, _ := stream.Header()
	wire, merr := proto.MarshalOptions{Deterministic: true}.Marshal(status.Convert(err).Proto())
	require.NoError(p.t, merr)
	return fmt.Sprintf("code %s\n%s\n%s\n%s\n%s", status.Code(err), headerText(http.Header(header)),
		headerText(http.Header(stream.Trailer())), wire, strings.Join(messages, "\n"))
}

// headerText leaves out what differs between any two answers.
func headerText(h http.Header) string {
	var lines []string
	for name, values := range h {
		switch strings.ToLower(name) {
		case "date", "x-request-id", "ratelimit-remaining", "ratelimit-reset":
		case "grpc-status-details-bin": // the same bytes as the status
		default:
			lines = append(lines, strings.ToLower(name)+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
