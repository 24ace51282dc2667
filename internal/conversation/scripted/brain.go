package scripted

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/conversation"
)

// Brain follows the script: greeting, a line for the objective, one for each goal, an offer of help, goodbye. It is a
// pure function of the Thought; its own words are English.
type Brain struct{}

// Its lines.
const (
	offer    = "Thank you. I have made a note of that. Is there anything else I can help you with?"
	question = "Thank you. Could you tell me a little more about that?"
	farewell = "Thank you for your time. Goodbye."
)

// Think is that of conversation.Brain.
func (Brain) Think(_ context.Context, t conversation.Thought, emit func(conversation.Part) error) error {
	last := ""
	for _, m := range t.History {
		if last = ""; m.Role == conversation.RoleUser {
			last = m.Text
		} else if m.Role == conversation.RoleFunctionResult {
			last = m.Text
		}
	}
	if n := len(t.History); n > 0 && t.History[n-1].Role == conversation.RoleFunctionResult {
		return nil // the key was pressed; the other side speaks next
	}
	if digit := option(last); digit != "" && t.AnsweredBy == conversation.AnsweredByIVR {
		arguments, err := json.Marshal(map[string]string{"digits": digit})
		if err != nil {
			return err
		}
		return emit(conversation.Part{Tool: &conversation.ToolCall{ID: "press-" + digit, Name: conversation.ToolPressDigits, Arguments: arguments}})
	}
	if !t.Greeted {
		return emit(conversation.Part{Sentence: greeting(t.Script)})
	}
	lines := lines(t.Script)
	said := 0
	for _, m := range t.History {
		if m.Role == conversation.RoleAgent {
			for _, l := range lines[said:] {
				if strings.HasPrefix(l, m.Text) || strings.HasPrefix(m.Text, l) { // what was cut short counts as said
					said++
					break
				}
			}
		}
	}
	if said < len(lines) && !goodbye(last) {
		return emit(conversation.Part{Sentence: lines[said]})
	}
	if err := emit(conversation.Part{Sentence: farewell}); err != nil {
		return err
	}
	return emit(conversation.Part{Tool: &conversation.ToolCall{ID: "end", Name: conversation.ToolEndCall, Arguments: json.RawMessage(`{}`)}})
}

// greeting is the agent's own, or one made of its name.
func greeting(s conversation.Script) string {
	if s.Greeting != "" {
		return s.Greeting
	}
	text := "Hello"
	if s.AgentName != "" {
		text += ", this is " + s.AgentName
		if s.Company != "" {
			text += " from " + s.Company
		}
	}
	if s.Direction == carrier.Inbound {
		return text + ". How can I help you?"
	}
	return text + ". Is now a good time to talk?"
}

// lines are what is said between the greeting and the goodbye.
func lines(s conversation.Script) (all []string) {
	if s.Direction == carrier.Inbound {
		all = append(all, question)
	} else if s.Objective != "" {
		all = append(all, "I am calling about the following: "+sentence(s.Objective)+" Is that all right with you?")
	}
	for i, goal := range s.Goals {
		if goal = strings.TrimSpace(goal); goal != "" && i < 5 {
			all = append(all, "Next on my list: "+sentence(goal)+" What do you think?")
		}
	}
	if len(all) == 0 {
		all = append(all, question)
	}
	return append(all, offer)
}

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

var goodbyes = regexp.MustCompile(`(?i)\b(good ?bye|bye|that is all|that's all|no,? thank(s| you)|not interested|auf wiedersehen|tschüss|adiós|au revoir)\b`)

// goodbye tells that the other side wants to end.
func goodbye(text string) bool { return goodbyes.MatchString(text) }

var options = regexp.MustCompile(`(?i)\bpress\s+(?:the\s+)?([0-9*#]|one|two|three|four|five|six|seven|eight|nine|zero)\b`)

var digits = map[string]string{
	"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "zero": "0",
}

// option is the first key that a menu offers.
func option(text string) string {
	found := options.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	if digit, ok := digits[strings.ToLower(found[1])]; ok {
		return digit
	}
	return found[1]
}
