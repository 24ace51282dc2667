package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/agent"
)

func TestRenderFillsReferencesOnce(t *testing.T) {
	vars := map[string]string{"Name": "Ada", "trick": "{{custom.secret}} {{var.name}}", "html": "<b>&</b>", "dollar": "$1 ${x}", "empty": ""}
	custom := map[string]any{
		"secret": "s3cret", "Plan": "gold", "age": 41.0, "big": 1e21, "small": 0.000001, "number": json.Number("12.50"), "exp": json.Number("1e3"),
		"huge": json.Number("1e999"), "yes": true, "no": false, "none": nil, "list": []any{"a", 2.0, true}, "texts": []string{"x", "y"},
		"whole": 7, "object": map[string]any{"a": "b"},
	}
	for text, want := range map[string]string{
		"Hi {{var.name}}!":                                                      "Hi Ada!",
		"{{var.NAME}}{{ var.Name }}{{\tvar.name\n}}":                            "AdaAdaAda",
		"{{custom.plan}} {{custom.PLAN}}":                                       "gold gold",
		"[{{var.missing}}] [{{custom.none}}] [{{custom.gone}}] [{{var.empty}}]": "[] [] [] []",
		"{{var.trick}}":                                                         "{{custom.secret}} {{var.name}}",
		"{{var.html}}{{var.dollar}}":                                            "<b>&</b>$1 ${x}",
		"{{custom.age}} {{custom.big}} {{custom.small}}":                        "41 1000000000000000000000 0.000001",
		"{{custom.number}} {{custom.exp}} {{custom.huge}}|":                     "12.50 1000 |",
		"{{custom.yes}} {{custom.no}}":                                          "true false",
		"{{custom.list}}; {{custom.texts}}; {{custom.whole}}":                   "a, 2, true; x, y; 7",
		"{{custom.object}}":                                                     `{"a":"b"}`,
		"{{vars.name}} {{name}} {{VAR.name}} {{ other.x }} {{#x}}":              "{{vars.name}} {{name}} {{VAR.name}} {{ other.x }} {{#x}}",
		"{{var.name} {var.name}} {{var.name":                                    "{{var.name} {var.name}} {{var.name",
		"{{{var.name}}}":                                                        "{Ada}",
		"{{var.1a}} {{var.a-b}} {{var.}} {{var.größe}}":                         "{{var.1a}} {{var.a-b}} {{var.}} {{var.größe}}",
		"{{var." + strings.Repeat("a", 63) + "}}":                               "",
		"{{var." + strings.Repeat("a", 64) + "}}":                               "{{var." + strings.Repeat("a", 64) + "}}",
		`{{ "x" | upcase }}`:                                                    `{{ "x" | upcase }}`,
		"":                                                                      "",
		"no braces":                                                             "no braces",
	} {
		require.Equal(t, want, agent.Render(text, vars, custom), text)
	}
	require.Equal(t, "Hi !", agent.Render("Hi {{var.name}}!", nil, nil))
}

func TestRenderedValuesAreNeverExpandedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`(\{\{|\}\}|var\.|custom\.|a|b| ){0,12}`).Draw(t, "value")
		require.Equal(t, "<"+value+">", agent.Render("<{{var.a}}>", map[string]string{"a": value, "b": "B"}, map[string]any{"a": "C"}))
	})
}

func TestReferencesListsWhatATextNeeds(t *testing.T) {
	require.Equal(t, []string{"custom.plan", "var.a", "var.b"}, agent.References("{{var.B}} {{var.a}} {{ custom.Plan }} {{var.b}} {{x.y}}"))
	require.Empty(t, agent.References("nothing"))
}

func TestThePromptIsTheAgentsOwnOrComposed(t *testing.T) {
	require.Equal(t, "Own {{var.x}}", agent.PromptOf(agent.Settings{Name: ptr("Nora"), Prompt: ptr("Own {{var.x}}")}))
	s := agent.Settings{
		Name: ptr("Nora"), Role: ptr("receptionist"), CompanyName: ptr("Acme"), CompanyWebsite: ptr("https://acme.example"),
		Description: ptr("Answers for the clinic."), Personality: ptr("Warm and quick."), ToneOfVoice: ptr("Friendly"), Objective: ptr("Book a visit for {{var.name}}."),
		Goals: []string{"Find a date", "Confirm it"}, Instruction: ptr("Ask for the insurance."), Guardrails: []string{"Never invent facts"},
		CustomPrompt: ptr("We close at six."), LenResp: ptr("short"), Language: ptr("de"), Languages: []string{"de", "en"},
	}
	want := `You are Nora, receptionist at Acme (https://acme.example).

Answers for the clinic.

You are speaking with one person on the telephone. Use plain spoken sentences: no lists, no markup, no emoji. Ask one question at a time.

# Personality
Warm and quick.

# Tone
Your tone is friendly.

# Objective
Book a visit for {{var.name}}.

# Goals
- Find a date
- Confirm it

# Instructions
Ask for the insurance.

# Rules you never break
- Never invent facts

# More from your owner
We close at six.

# Length
Answer in one short sentence wherever that is enough.

# Language
Speak the language of tag de. When the other person speaks another of these languages, answer in it: de, en.`
	require.Equal(t, want, agent.PromptOf(s))
	require.Equal(t, want, agent.ComposePrompt(s), "the same each time")
	bare := agent.ComposePrompt(agent.Settings{})
	require.True(t, strings.HasPrefix(bare, "You are a voice agent.\n\n"), bare)
	require.NotContains(t, bare, "#", "no heading without something under it")
}
