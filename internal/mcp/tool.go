package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// tool is one tool: its parameters, what it asks and how the answer looks.
type tool struct {
	name, title, about string
	params             []param
	// A fresh request for the arguments.
	request func() proto.Message
	// The one call of the service.
	call func(context.Context, proto.Message) (any, error)
	// Schema of the answer.
	output map[string]any
}

// The members of answers, exactly those of the specification.
// spec: Resources, Agent (as read through the tool server); Endpoints, MCP tools.
var (
	agentSummary = names(`id name description status role modality model language languages timezone voice_id
		company_name enable_recording created_at`)
	agentFull = append(agentSummary[:len(agentSummary):len(agentSummary)], names(`company_website updated_at prompt
		custom_prompt instruction objective welcome_msg seed_phrase post_call_notes tone_of_voice len_resp creativity
		speaking_rate patience_level reasoning_effort ring_duration outbound_ring_duration silence_timeout idle_reminder
		idle_reminder_duration idle_reminder_message call_duration call_limit call_back call_tag greeting_interrupt
		call_screening_message voicemail_behavior voicemail_message add_background_noise background_noise_level
		background_noise_type noise_cancellation is_transcript_enabled expressive_mode is_hipaa_compliant
		retention_period contact_access self_learning recording_consent consent_type consent_prompt widget_theme
		widget_position widget_mode widget_primary_color widget_hover_color widget_text_color widget_hover_text_color
		widget_cta_text widget_trigger_heading widget_trigger_button_text widget_welcome_message widget_start_call_text
		widget_end_call_text widget_hover_text widget_connecting_text widget_active_text widget_stop_text
		widget_tc_enabled widget_tc_text widget_tc_privacy_url`)...)
	callSummary = names(`id status direction to from duration answered_by summary created_at agent_id contact_id
		campaign_id schedule_time content_redacted redaction_reason`)
	callFull = append(callSummary[:len(callSummary):len(callSummary)],
		names(`transcript ended_reason ended_message retry_after`)...)
)

func names(text string) fieldset {
	var fs fieldset
	for _, n := range strings.Fields(text) {
		fs = append(fs, protoreflect.Name(n))
	}
	return fs
}

// page are the parameters of every list.
var page = []param{
	{name: "offset", about: "Rows to skip.", kind: kindInteger, min: 0, max: 1_000_000, preset: 0},
	{name: "limit", about: "Rows to return.", kind: kindInteger, min: 1, max: 200, preset: 20},
	{name: "sort", about: "Order of the rows.", kind: kindEnum, preset: "created_at:desc"},
}

// tools lists the four tools.
func tools(c callwrightv1.AssistantServiceClient) []tool {
	return []tool{
		{
			name: "list_agents", title: "List agents",
			about: "Lists the workspace's voice agents, newest first. Filters are combined.",
			params: append([]param{
				{name: "q", about: "Part of the agent's name, in upper or lower case.", max: 100},
				{name: "status", about: "Status, such as active, inactive or draft.", max: 64},
				{name: "modality", about: "Modality, such as voice, chat or email.", max: 32},
				{name: "language", about: "Language tag, such as en or de-CH.", max: 32},
			}, page...),
			request: func() proto.Message { return new(callwrightv1.FindAgentsRequest) },
			call: func(ctx context.Context, m proto.Message) (any, error) {
				r := m.(*callwrightv1.FindAgentsRequest)
				a, err := c.FindAgents(ctx, r)
				return list(a.GetAgents(), agentSummary, a.GetTotal(), r.Offset), err
			},
			output: listSchema(agentSummary.schema(new(callwrightv1.Agent))),
		},
		{
			name: "get_agent", title: "Read an agent", about: "Reads one voice agent with all its settings.",
			params:  []param{{name: "agent_id", about: "Id of the agent.", kind: kindUUID, required: true}},
			request: func() proto.Message { return new(callwrightv1.ReadAgentRequest) },
			call: func(ctx context.Context, m proto.Message) (any, error) {
				a, err := c.ReadAgent(ctx, m.(*callwrightv1.ReadAgentRequest))
				return one(a.GetAgent(), agentFull), err
			},
			output: oneSchema(agentFull.schema(new(callwrightv1.Agent))),
		},
		{
			name: "list_calls", title: "List calls",
			about:   "Lists the workspace's calls, newest first, without transcripts. Filters are combined.",
			params:  append(callParams, page...),
			request: func() proto.Message { return new(callwrightv1.FindCallsRequest) },
			call: func(ctx context.Context, m proto.Message) (any, error) {
				r := m.(*callwrightv1.FindCallsRequest)
				a, err := c.FindCalls(ctx, r)
				return list(a.GetCalls(), callSummary, a.GetTotal(), r.Offset), err
			},
			output: listSchema(callSummary.schema(new(callwrightv1.AssistantCall))),
		},
		{
			name: "get_call", title: "Read a call", about: "Reads one call with its transcript and how it ended.",
			params:  []param{{name: "call_id", about: "Id of the call.", kind: kindUUID, required: true}},
			request: func() proto.Message { return new(callwrightv1.ReadCallRequest) },
			call: func(ctx context.Context, m proto.Message) (any, error) {
				a, err := c.ReadCall(ctx, m.(*callwrightv1.ReadCallRequest))
				return one(a.GetCall(), callFull), err
			},
			output: oneSchema(callFull.schema(new(callwrightv1.AssistantCall))),
		},
	}
}

var callParams = []param{
	{name: "agent_id", about: "Only calls of this agent.", kind: kindUUID},
	{name: "contact_id", about: "Only calls with this contact.", kind: kindUUID},
	{name: "campaign_id", about: "Only calls of this campaign.", kind: kindUUID},
	{name: "status", about: "Only calls that stand there.", kind: kindEnum},
	{name: "direction", about: "Who rang whom.", kind: kindEnum},
	{name: "from_date", about: "ISO 8601 time or date: calls created then or later.", kind: kindTime},
	{name: "to_date", about: "ISO 8601 time or date: calls created then or earlier; a date means the end of that day, UTC.", kind: kindTime},
	{name: "to_number", about: "Number dialed, in full.", max: 32},
	{name: "from_number", about: "Number calling, in full.", max: 32},
	{name: "min_duration", about: "Seconds; calls that lasted that long or longer.", kind: kindInteger, max: noMax},
	{name: "max_duration", about: "Seconds; calls that lasted that long or shorter.", kind: kindInteger, max: noMax},
	{name: "answered_by", about: "Who or what took the call.", kind: kindEnum},
	{name: "include_test", about: "Test conversations too.", kind: kindBoolean, preset: false},
}

func one(m proto.Message, fs fieldset) any { return map[string]any{"data": fs.encode(m)} }

func list[M proto.Message](rows []M, fs fieldset, total int64, offset int32) any {
	data := make([]any, len(rows))
	for i, m := range rows {
		data[i] = fs.encode(m)
	}
	return map[string]any{
		"data":       data,
		"pagination": map[string]any{"total": total, "has_more": int64(offset)+int64(len(rows)) < total},
	}
}

func oneSchema(row map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"data": row}, "required": []string{"data"}}
}

func listSchema(row map[string]any) map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"data": map[string]any{"type": "array", "items": row},
			"pagination": map[string]any{
				"type": "object",
				"properties": map[string]any{
					"total":    map[string]any{"type": "integer", "description": "Rows that match, ignoring paging."},
					"has_more": map[string]any{"type": "boolean", "description": "Rows exist beyond this page."},
				},
				"required": []string{"total", "has_more"},
			},
		},
		"required": []string{"data", "pagination"},
	}
}

// describe is the tool as tools/list shows it.
func (t tool) describe() mcp.Tool {
	fields := t.request().ProtoReflect().Descriptor().Fields()
	members, required := map[string]any{}, []string{}
	for _, p := range t.params {
		members[p.name] = p.schema(fields.ByName(protoreflect.Name(p.name)))
		if p.required {
			required = append(required, p.name)
		}
	}
	input := map[string]any{"type": "object", "properties": members}
	if len(required) > 0 {
		input["required"] = required
	}
	d := mcp.NewToolWithRawSchema(t.name, t.about, must(input))
	d.RawOutputSchema = must(t.output)
	yes, no := true, false
	d.Annotations = mcp.ToolAnnotation{Title: t.title, ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no}
	return d
}

// handle runs the tool. A failure is a result that says so, not a protocol error. CONTRACT.md §2, Tool server.
func (t tool) handle(log *slog.Logger) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := t.run(ctx, r)
		if err != nil {
			f := faultOf(err)
			if f.Kind == fault.Internal {
				log.ErrorContext(ctx, "tool failed", "tool", t.name, "error", err)
			}
			return failure(f), nil
		}
		raw := must(answer)
		return mcp.NewToolResultStructured(raw, string(raw)), nil
	}
}

func (t tool) run(ctx context.Context, r mcp.CallToolRequest) (any, error) {
	request := t.request()
	raw := r.Params.RawArguments
	if raw == nil && r.Params.Arguments != nil {
		raw = must(r.Params.Arguments)
	}
	if err := decode(t.params, raw, request); err != nil {
		return nil, err
	}
	return t.call(ctx, request)
}

// faultOf is what went wrong, found here or by the service.
func faultOf(err error) *fault.Error {
	var own *fault.Error
	if errors.As(err, &own) {
		return own
	}
	return fault.FromStatus(err)
}

// failure is a result with isError and no structured content: clients hold structured content against the tool's output
// schema even when it is an error. A record that is not there is not_found, whatever its kind.
func failure(f *fault.Error) *mcp.CallToolResult {
	code := f.Code
	if f.Kind == fault.NotFound {
		code = "not_found"
	}
	body := map[string]any{"error_code": code, "message": f.Message}
	if s := f.RetrySeconds(); s > 0 {
		body["retry_after"] = s
	}
	return mcp.NewToolResultError(string(must(body)))
}

// must encodes what is made of JSON values here; that it can be encoded is a property of this package.
func must(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mcp: encode: %v", err))
	}
	return raw
}
