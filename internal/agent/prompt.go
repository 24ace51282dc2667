package agent

import "strings"

// PromptOf is what the model is given: the agent's own prompt, or one composed of its other fields when it has none.
// References are still in it; [Render] fills them in for a call.
func PromptOf(s Settings) string {
	if s.Prompt != nil {
		return *s.Prompt
	}
	return ComposePrompt(s)
}

// CallPrompt is [PromptOf] for a call: an own prompt gets behind it what the settings say besides about the manner of
// speaking, so that tone, length and languages work however the prompt came about.
func CallPrompt(s Settings) string {
	if s.Prompt == nil {
		return ComposePrompt(s)
	}
	var p prompt
	p.line(*s.Prompt)
	p.manner(s)
	return p.String()
}

// lengths says what len_resp asks of the model.
var lengths = map[string]string{
	"short":  "Answer in one short sentence wherever that is enough.",
	"medium": "Answer in one to three sentences.",
	"long":   "Explain as fully as the question needs, a few sentences at a time.",
}

// ComposePrompt writes the prompt of an agent without one. The same settings always give the same text: headings in a
// fixed order, each only when there is something under it.
func ComposePrompt(s Settings) string {
	var p prompt
	p.line(introduction(s))
	if s.Description != nil {
		p.line(*s.Description)
	}
	p.line("You are speaking with one person on the telephone. Use plain spoken sentences: no lists, no markup, no emoji. Ask one question at a time.")
	p.section("Personality", s.Personality)
	p.tone(s)
	p.section("Objective", s.Objective)
	p.list("Goals", s.Goals)
	p.section("Instructions", s.Instruction)
	p.list("Rules you never break", s.Guardrails)
	p.section("More from your owner", s.CustomPrompt)
	p.length(s)
	return p.String()
}

func introduction(s Settings) string {
	var b strings.Builder
	b.WriteString("You are ")
	if s.Name != nil {
		b.WriteString(*s.Name)
	} else {
		b.WriteString("a voice agent")
	}
	if s.Role != nil {
		b.WriteString(", " + *s.Role)
	}
	if s.CompanyName != nil {
		b.WriteString(" at " + *s.CompanyName)
		if s.CompanyWebsite != nil {
			b.WriteString(" (" + *s.CompanyWebsite + ")")
		}
	}
	return b.String() + "."
}

func languages(s Settings) string {
	if s.Language == nil {
		return ""
	}
	text := "Speak the language of tag " + *s.Language + "."
	if len(s.Languages) > 0 {
		text += " When the other person speaks another of these languages, answer in it: " + strings.Join(s.Languages, ", ") + "."
	}
	return text
}

// prompt collects paragraphs.
type prompt struct{ strings.Builder }

func (p *prompt) line(text string) {
	if p.Len() > 0 {
		p.WriteString("\n\n")
	}
	p.WriteString(strings.TrimSpace(text))
}

func (p *prompt) heading(title, text string) { p.line("# " + title + "\n" + strings.TrimSpace(text)) }

func (p *prompt) tone(s Settings) {
	if s.ToneOfVoice != nil {
		p.heading("Tone", "Your tone is "+strings.ToLower(*s.ToneOfVoice)+".")
	}
}

func (p *prompt) length(s Settings) {
	if s.LenResp != nil {
		p.heading("Length", lengths[*s.LenResp])
	}
	if text := languages(s); text != "" {
		p.heading("Language", text)
	}
}

func (p *prompt) manner(s Settings) {
	p.tone(s)
	p.length(s)
}

func (p *prompt) section(title string, text *string) {
	if text != nil && strings.TrimSpace(*text) != "" {
		p.heading(title, *text)
	}
}

func (p *prompt) list(title string, items []string) {
	if len(items) > 0 {
		p.heading(title, "- "+strings.Join(items, "\n- "))
	}
}
