package rest

import (
	"net/http"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// What is served without the gateway.

// recording describes the download of a recording, which recording.go serves by StreamRecording.
func (d *describer) recording() object {
	m := methodOf("callwright.v1.CallService.StreamRecording")
	rule := callwrightv1.RESTRule{Method: string(m.FullName()), Verb: http.MethodGet, Path: recordingPath}
	r := refusalsOf(m, rule, nil, &callwrightv1.Auth{Scope: callwrightv1.Scope_SCOPE_READ})
	r.add(404, "recording_not_found")
	r.add(412, "precondition_failed")
	r.add(416, "range_not_satisfiable")
	headers := append(commonHeaders(), headerRefs("ETag", "Accept-Ranges")...)
	sound := object{{"audio/wav", object{{"schema", object{{"type", "string"}, {"contentEncoding", "binary"}}}}}}
	answers := object{
		{"200", object{{"description", "The whole recording."}, {"headers", headers}, {"content", sound}}},
		{"206", object{{"description", "The bytes asked for."},
			{"headers", append(headers[:len(headers):len(headers)], headerRefs("Content-Range")...)}, {"content", sound}}},
		{"304", object{{"description", "The client has these bytes already."}}},
	}
	return object{
		{"operationId", "getRecording"},
		{"summary", "Downloads a call's recording"},
		{"description", "WAV: PCM 16 bit, 8 kHz, two channels (left agent, right caller). Ranges and conditions (`Range`, " +
			"`If-None-Match`, `If-Range`) work as in RFC 9110; `HEAD` too.\n\nNeeds the scope `read`.\n\n" + alsoAt(recordingPath)},
		{"tags", []any{tagOf(m)}},
		{"parameters", []any{
			object{{"name", "id"}, {"in", "path"}, {"required", true},
				{"schema", object{{"type", "string"}, {"format", "uuid"}}}},
			object{{"name", "Range"}, {"in", "header"}, {"required", false}, {"description", "Bytes wanted."},
				{"schema", object{{"type", "string"}, {"examples", []any{"bytes=0-99"}}}}},
			ref("parameters", "Service-Version"),
		}},
		{"responses", append(answers, d.refusals(r)...)},
	}
}

// healthPaths are served by internal/server, which answers them before anything else.
var healthPaths = []struct {
	path, id, summary string
	unready           bool
}{
	{"/healthz", "healthz", "Says that the process runs", false},
	{"/readyz", "readyz", "Says whether requests should be sent here", true},
}

func (d *describer) health(id, summary string, unready bool) object {
	d.component("Health", func() object {
		return object{
			{"type", "object"},
			{"properties", object{{"status", object{{"type", "string"}, {"enum", []any{"ok", "ready"}}}}}},
			{"required", []any{"status"}},
		}
	})
	answers := object{{"200", object{
		{"description", "Yes."},
		{"headers", headerRefs("Service-Version")},
		{"content", object{{"application/json", object{{"schema", ref("schemas", "Health")}}}}},
	}}}
	if unready {
		answers = append(answers, pair{"503", object{
			{"description", "No: the database does not answer, or the server is stopping."},
			{"headers", headerRefs("Service-Version")},
			{"content", object{{"application/json", object{{"schema", failureWith(503, []string{"unavailable"})}}}}},
		}})
	}
	return object{
		{"operationId", id},
		{"summary", summary},
		{"description", "Needs no credential and counts against no limit."},
		{"tags", []any{"Health"}},
		{"security", []any{}},
		{"responses", answers},
	}
}
