package analysis

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
)

// Builtin is the source of analyses that were made without a language model.
const Builtin = "builtin"

// deterministic concludes without a model: it repeats what was said and looks for words. The same call always gives the
// same result, and the record says who made it.
func (m material) deterministic() conclusion {
	c := conclusion{source: Builtin}
	said := m.words()
	if summary := m.extract(); summary != "" {
		c.summary = &summary
	}
	for _, a := range m.actions {
		switch a.Type {
		case agent.ActionSummary:
			if c.personalized == nil && c.summary != nil {
				c.personalized = &outcome{ActionID: a.ID.String(), Name: a.Name, Content: c.summary}
			}
		case agent.ActionSuccessCheck:
			if mentions(said, orText(a.Criteria, a.Name)) {
				c.checks = append(c.checks, checkOf(a))
			}
		case agent.ActionExtractData:
			c.extracted = append(c.extracted, extractionOf(a, m.find(a.Format, a.Name+" "+a.Description)))
		}
	}
	for _, t := range m.tags {
		if c.tag == nil && mentions(said, t.Name) {
			c.tag = &t.ID
		}
	}
	return c
}

// extract is an extractive summary: the caller's longest statements, in the order in which they were made.
func (m material) extract() string {
	type statement struct {
		at   int
		text string
	}
	var all []statement
	for i, t := range m.turns {
		if text := strings.TrimSpace(t.Content); t.Role == call.RoleUser && text != "" {
			all = append(all, statement{i, text})
		}
	}
	slices.SortStableFunc(all, func(a, b statement) int { return len(b.text) - len(a.text) })
	all = all[:min(len(all), 3)]
	slices.SortFunc(all, func(a, b statement) int { return a.at - b.at })
	var b strings.Builder
	for _, s := range all {
		if b.Len() == 0 {
			b.WriteString("The caller said: ")
		} else {
			b.WriteString(" … ")
		}
		b.WriteString("“" + clip(s.text, 200) + "”")
	}
	return b.String()
}

func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return strings.TrimSpace(string(runes[:most])) + "…"
}

// words are those that were said, folded.
func (m material) words() map[string]bool {
	said := map[string]bool{}
	for _, t := range m.turns {
		if t.Role == call.RoleAgent || t.Role == call.RoleUser {
			for _, w := range split(t.Content) {
				said[w] = true
			}
		}
	}
	return said
}

func split(text string) []string {
	return strings.FieldsFunc(store.Fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// mentions tells whether most of a text's words of four letters and more were said; of shorter texts, all words.
func mentions(said map[string]bool, text string) bool {
	words := split(text)
	long := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return len([]rune(w)) < 4 || filler[w] })
	if len(long) > 0 {
		words = long
	}
	hits := 0
	for _, w := range words {
		if said[w] {
			hits++
		}
	}
	return len(words) > 0 && hits*3 >= len(words)*2
}

// filler are words of criteria that say nothing of the call.
var filler = map[string]bool{
	"that": true, "this": true, "with": true, "they": true, "them": true, "their": true, "have": true, "been": true,
	"were": true, "will": true, "would": true, "when": true, "whether": true, "from": true, "call": true, "caller": true,
	"agent": true, "customer": true, "person": true, "successfully": true, "agreed": true, "agrees": true,
}

var (
	emailPattern  = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)
	phonePattern  = regexp.MustCompile(`\+?\d[\d ()-]{6,}\d`)
	numberPattern = regexp.MustCompile(`-?\d+(\.\d+)?`)
	datePattern   = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)
)

// find looks for a value in what the caller said; nil when nothing is there.
func (m material) find(format, about string) any {
	pattern := (*regexp.Regexp)(nil)
	about = store.Fold(about)
	switch {
	case format == "number":
		pattern = numberPattern
	case format == "date":
		pattern = datePattern
	case format == "text" && strings.Contains(about, "mail"):
		pattern = emailPattern
	case format == "text" && (strings.Contains(about, "phone") || strings.Contains(about, "number")):
		pattern = phonePattern
	default:
		return nil
	}
	for _, t := range m.turns {
		if t.Role == call.RoleUser {
			if found := pattern.FindString(t.Content); found != "" {
				return found
			}
		}
	}
	return nil
}
