package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// refusals are the error codes of a method by HTTP status.
type refusals map[int][]string

func (r refusals) add(status int, codes ...string) {
	for _, code := range codes {
		if !slices.Contains(r[status], code) {
			r[status] = append(r[status], code)
		}
	}
}

// refusalsOf are the ways in which a method can fail: those of every method, those that follow from what it takes, and
// those that its rest option names. CONTRACT.md §1, Codes.
func refusalsOf(m protoreflect.MethodDescriptor, rule callwrightv1.RESTRule, o *callwrightv1.Rest, a *callwrightv1.Auth) refusals {
	r := refusals{}
	r.add(400, "validation_failed", "unsupported_version")
	if !a.GetPublic() {
		r.add(401, "unauthorized")
		r.add(403, "forbidden")
	}
	body := m.Input()
	if rule.Body != "" && rule.Body != "*" {
		body = m.Input().Fields().ByName(protoreflect.Name(rule.Body)).Message()
	}
	for _, f := range named(m.Input(), body, rule) {
		r.add(404, kindText(refOf(f))+"_not_found")
	}
	if rule.Body != "" {
		r.add(413, "body_too_large")
	}
	if o.GetIdempotencyKey() {
		r.add(409, "idempotency_in_progress")
		r.add(422, "idempotency_key_reused")
	}
	r.add(429, "rate_limited")
	r.add(500, "internal_error")
	r.add(503, "unavailable")
	r.add(504, "deadline_exceeded")
	for _, e := range o.GetErrors() {
		status, code, _ := strings.Cut(e, " ")
		n, err := strconv.Atoi(status)
		if err != nil || code == "" {
			panic(fmt.Sprintf("rest: %s: an error must look like \"409 call_active\", not %q", m.FullName(), e))
		}
		r.add(n, code)
	}
	return r
}

// named are the fields of a request that name one record: in its path, and in its body.
func named(in, body protoreflect.MessageDescriptor, rule callwrightv1.RESTRule) []protoreflect.FieldDescriptor {
	var all []protoreflect.FieldDescriptor
	path := pathFields(rule.Path)
	for i := range in.Fields().Len() {
		if f := in.Fields().Get(i); slices.Contains(path, string(f.Name())) && refOf(f) != 0 {
			all = append(all, f)
		}
	}
	if rule.Body == "" {
		return all
	}
	for i := range body.Fields().Len() {
		f := body.Fields().Get(i)
		if refOf(f) != 0 && !f.IsList() && !boundsOf(f).GetReadOnly() && !slices.Contains(path, string(f.Name())) {
			all = append(all, f)
		}
	}
	return all
}

// kindText is what a kind of record is called in error codes.
func kindText(r callwrightv1.Ref) string {
	text, _ := proto.GetExtension(r.Descriptor().Values().ByNumber(r.Number()).Options(), callwrightv1.E_Text).(string)
	return text
}

var why = map[int]string{
	400: "The request can not be right.",
	401: "No credential, or one that nobody has.",
	403: "The credential may not do this.",
	404: "The caller's workspace has no such record.",
	409: "The state of things forbids it.",
	410: "It was there once.",
	413: "The body is larger than 8 MiB.",
	416: "The recording does not have this range.",
	412: "The recording is not the one that was asked for.",
	422: "The key was used with another body.",
	429: "A limit is reached. Try again after `Retry-After` seconds.",
	500: "Something went wrong on our side.",
	503: "Try again in a moment.",
	504: "It took too long.",
}

// refusals refers to them in the order of their status.
func (d *describer) refusals(r refusals) object {
	statuses := make([]int, 0, len(r))
	for status := range r {
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	var all object
	for _, status := range statuses {
		all = append(all, pair{strconv.Itoa(status), d.refusal(status, r[status])})
	}
	return all
}

// refusal is an answer that operations with the same codes share.
func (d *describer) refusal(status int, codes []string) object {
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	for _, code := range codes {
		if !slices.Contains(usual, code) {
			name += "." + code
		}
	}
	if d.answers.get(name) == nil {
		headers := commonHeaders()
		switch status {
		case http.StatusUnauthorized:
			headers = append(headers, headerRefs("WWW-Authenticate")...)
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			headers = append(headers, headerRefs("Retry-After")...)
		}
		d.answers = append(d.answers, pair{name, object{
			{"description", why[status]},
			{"headers", headers},
			{"content", object{{"application/json", object{
				{"schema", failureWith(status, codes)},
				{"example", object{{"status", status}, {"error_code", codes[0]}, {"message", why[status]}}},
			}}}},
		}})
	}
	return ref("responses", name)
}

// usual are the codes that answers are not named for.
var usual = []string{"validation_failed", "unsupported_version", "unauthorized", "forbidden", "body_too_large", "rate_limited",
	"internal_error", "unavailable", "deadline_exceeded"}

// failureWith is the error body with the codes that one status of an operation has.
func failureWith(status int, codes []string) object {
	all := make([]any, len(codes))
	for i, code := range codes {
		all[i] = code
	}
	return object{{"allOf", []any{
		ref("schemas", "Failure"),
		object{{"type", "object"}, {"properties", object{
			{"status", object{{"type", "integer"}, {"const", status}}},
			{"error_code", object{{"type", "string"}, {"enum", all}}},
		}}},
	}}}
}

// failure is the schema of every error's body.
func (d *describer) failure() {
	d.component("Failure", func() object {
		return object{
			{"type", "object"},
			{"description", "The body of every error."},
			{"properties", object{
				{"status", object{{"type", "integer"}, {"description", "The HTTP status."}}},
				{"error_code", object{{"type", "string"}, {"description", "Stable; clients branch on it."}}},
				{"message", object{{"type", "string"}, {"description", "For people; its text may change."}}},
				{"details", object{{"type", "object"}, {"additionalProperties", true},
					{"description", "Facts that go with the code."}}},
			}},
			{"required", []any{"status", "error_code", "message"}},
		}
	})
}

// commonHeaders are those of every answer under /v1.
func commonHeaders() object {
	return headerRefs("Service-Version", "X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
}

func headerRefs(names ...string) object {
	var all object
	for _, name := range names {
		all = append(all, pair{name, ref("headers", name)})
	}
	return all
}

func header(kind, description string, example any) object {
	return object{{"description", description}, {"schema", object{{"type", kind}, {"examples", []any{example}}}}}
}

// answerHeaders are the headers that answers have.
var answerHeaders = object{
	{"Service-Version", header("string", "The API version of this answer.", Version)},
	{"X-Request-Id", header("string", "The request's own id when it was sane, else a new one.", "4XJRN2XOVJYHXCQZ7ZL5SKUHDM")},
	{"RateLimit-Limit", header("integer", "Requests that the caller may make in any 60 seconds. Absent when there is no limit.", 100)},
	{"RateLimit-Remaining", header("integer", "How many of them are left now.", 99)},
	{"RateLimit-Reset", header("integer", "Seconds until the oldest request of the window no longer counts.", 60)},
	{"Retry-After", header("integer", "Seconds to wait before the next try.", 12)},
	{"WWW-Authenticate", header("string", "Always Bearer.", "Bearer")},
	{"Idempotency-Replayed", header("string", "true when this is the first answer again.", "true")},
	{"ETag", header("string", "Names this version of the bytes.", `"5d41402a"`)},
	{"Accept-Ranges", header("string", "Always bytes.", "bytes")},
	{"Content-Range", header("string", "Which bytes these are.", "bytes 0-99/16044")},
}

// requestHeaders are the headers that requests may have.
var requestHeaders = object{
	{"Service-Version", object{
		{"name", "Service-Version"}, {"in", "header"}, {"required", false},
		{"description", "The API version to speak. Absent: the current one. Pinning is recommended."},
		{"schema", object{{"type", "string"}, {"enum", []any{Version}}, {"default", Version}}},
	}},
	{"Idempotency-Key", object{
		{"name", "Idempotency-Key"}, {"in", "header"}, {"required", false},
		{"description", "The same key with the same body gives the first answer again for 24 hours, and has no second effect."},
		{"schema", object{{"type", "string"}}},
	}},
}
