package agent_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func ptr[T any](v T) *T { return &v }

// with makes settings with one field, given as JSON.
func with(t *testing.T, field string, value any) agent.Settings {
	t.Helper()
	text, err := json.Marshal(map[string]any{"name": "Nora", field: value})
	require.NoError(t, err)
	var s agent.Settings
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&s), "%s is not a field of Settings", field)
	return s
}

// texts of a limit in characters, with a character of four bytes.
func long(n int) string { return strings.Repeat("🙂", n) }

func items(n int, of string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = of
	}
	return out
}

// Every field of CONTRACT.md §3, Agent fields, with values that are just in and just out of range.
func TestEveryFieldKeepsItsRange(t *testing.T) {
	type in struct {
		ok, bad []any
		says    string
	}
	one := func(values ...string) in {
		c := in{bad: []any{"", "nonsense", strings.ToUpper(values[0]), " " + values[0]}, says: "must be one of " + strings.Join(values, ", ")}
		for _, v := range values {
			c.ok = append(c.ok, v)
		}
		return c
	}
	between := func(low, high int) in {
		return in{ok: []any{low, high}, bad: []any{low - 1, high + 1}, says: fmt.Sprintf("must be %d to %d", low, high)}
	}
	text := in{ok: []any{"x", long(20_000), " "}, bad: []any{long(20_001), "a\x00b"}, says: "must"}
	label := in{ok: []any{"x", long(128)}, bad: []any{long(129), "a\x00b"}, says: "must"}
	colour := in{ok: []any{"#00ff9C"}, bad: []any{"", "red", "#fff", "#00ff9c0", "#00ff9g", "00ff9c", "#00ff9c\n"}, says: "#rrggbb"}
	address := in{ok: []any{"http://example.com", "https://example.com/a?b=c#d", "https://" + strings.Repeat("a", 2040)},
		bad: []any{"", "example.com", "ftp://example.com", "javascript:alert(1)", "https://", "https:///a", "http://a b", "https://" + strings.Repeat("a", 2041)}, says: "must"}
	flag := in{ok: []any{true, false}}
	unit := in{ok: []any{0, 1, 0.5}, bad: []any{-0.01, 1.01}, says: "must be 0 to 1"}
	tag := in{ok: []any{"en", "de", "pt-BR", "zh-Hant-TW", "en-us"}, bad: []any{"", "english", "en_US", "e", "en-", "-en", "xx-nope-nope-nope", "en US"}, says: "BCP 47"}
	list := in{ok: []any{[]string{}, []string{"a"}, items(50, "x"), []string{long(20_000)}},
		bad: []any{items(51, "x"), []string{""}, []string{" "}, []string{long(20_001)}, []string{"a\x00"}}, says: "must"}

	desks := map[string]string{}
	for i := range 21 {
		desks[fmt.Sprintf("desk %d", i)] = "+15551230001"
	}

	cases := map[string]in{
		"transfer_numbers": {ok: []any{map[string]string{}, map[string]string{"front desk": "+15551230001", long(64): "+4930123456"}},
			bad: []any{desks, map[string]string{"": "+15551230001"}, map[string]string{long(65): "+15551230001"}, map[string]string{"a": "911"},
				map[string]string{"a": ""}, map[string]string{"a": "+15551230001", " a ": "+15551230001"}}, says: "transfer_numbers"},
		"name":   {ok: []any{"x", long(128), " x "}, bad: []any{"", "  ", long(129), "a\x00b"}, says: "must"},
		"status": one("active", "inactive", "draft"), "modality": one("voice", "chat", "email"),
		"tone_of_voice": one("Professional", "Friendly", "Casual", "Formal"), "len_resp": one("short", "medium", "long"),
		"patience_level": one("low", "medium", "high"), "reasoning_effort": one("none", "low", "medium", "high"),
		"voicemail_behavior": one("hang_up", "leave_message", "continue"), "consent_type": one("stay_on_line", "verbal"),
		"creativity": unit, "background_noise_level": unit,
		"speaking_rate": {ok: []any{0.5, 2, 1.25}, bad: []any{0.49, 2.01, 0}, says: "must be 0.5 to 2"},
		"ring_duration": between(0, 120), "outbound_ring_duration": between(5, 180), "silence_timeout": between(5, 600),
		"idle_reminder_duration": between(3, 300), "call_duration": between(1, 240), "call_limit": between(0, 1_000_000),
		"retention_period": between(0, 3650),
		"language":         tag,
		"languages": {ok: []any{[]string{}, []string{"en", "de"}, items(20, "en")},
			bad: []any{items(21, "en"), []string{"english"}, []string{""}}, says: "must"},
		"timezone": {ok: []any{"Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", "Asia/Calcutta"},
			bad: []any{"", "Local", "Berlin", "Europe/Nowhere", "../etc/passwd", "+02:00"}, says: "IANA"},
		"company_website": address, "widget_tc_privacy_url": address, "goals": list, "guardrails": list,
	}
	for _, name := range strings.Fields(`description prompt custom_prompt instruction objective welcome_msg seed_phrase post_call_notes
		idle_reminder_message call_screening_message voicemail_message consent_prompt widget_welcome_message widget_tc_text personality`) {
		cases[name] = text
	}
	for _, name := range strings.Fields(`role model voice_id company_name background_noise_type widget_theme widget_position widget_mode
		widget_cta_text widget_trigger_heading widget_trigger_button_text widget_start_call_text widget_end_call_text widget_hover_text
		widget_connecting_text widget_active_text widget_stop_text`) {
		cases[name] = label
	}
	for _, name := range strings.Fields(`widget_primary_color widget_hover_color widget_text_color widget_hover_text_color`) {
		cases[name] = colour
	}
	for _, name := range strings.Fields(`enable_recording idle_reminder call_back call_tag greeting_interrupt add_background_noise
		noise_cancellation is_transcript_enabled expressive_mode is_hipaa_compliant contact_access self_learning recording_consent
		widget_tc_enabled`) {
		cases[name] = flag
	}
	require.Len(t, cases, reflect.TypeFor[agent.Settings]().NumField(), "a field has no case")

	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for name, c := range cases {
			for _, v := range c.ok {
				a, err := agent.Create(ctx, db, with(t, name, v))
				require.NoError(t, err, "%s: %.40v", name, v)
				a, err = agent.Get(ctx, db.Ent(), a.ID)
				require.NoError(t, err)
				s, err := agent.SettingsOf(a)
				require.NoError(t, err)
				want := with(t, name, v)
				if v == " x " {
					want.Name = ptr("x")
				}
				want.Status, want.Modality, want.Language = or(want.Status, "active"), or(want.Modality, "voice"), or(want.Language, "en")
				wantText, err := json.Marshal(want)
				require.NoError(t, err)
				gotText, err := json.Marshal(s)
				require.NoError(t, err)
				require.JSONEq(t, string(wantText), string(gotText), name)
			}
			for _, v := range c.bad {
				_, err := agent.Create(ctx, db, with(t, name, v))
				require.True(t, fault.Is(err, "validation_failed"), "%s: %.40v: %v", name, v, err)
				require.True(t, strings.HasPrefix(fault.From(err).Message, name), fault.From(err).Message)
				require.Contains(t, fault.From(err).Message, c.says)
			}
		}
	})
}

func or(p *string, otherwise string) *string {
	if p == nil {
		return &otherwise
	}
	return p
}

func TestWhatJSONCanNotSayIsRefusedToo(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for says, s := range map[string]agent.Settings{
			"creativity":    {Name: ptr("x"), Creativity: ptr(math.NaN())},
			"speaking_rate": {Name: ptr("x"), SpeakingRate: ptr(math.Inf(1))},
			"description":   {Name: ptr("x"), Description: ptr("\xff")},
			"name":          {Name: ptr("\xff")},
			"name is":       {},
			"goals [1]":     {Name: ptr("x"), Goals: []string{"a", "\xff"}},
		} {
			_, err := agent.Create(ctx, db, s)
			require.True(t, fault.Is(err, "validation_failed"), says)
			require.True(t, strings.HasPrefix(fault.From(err).Message, says), fault.From(err).Message)
		}
	})
}
