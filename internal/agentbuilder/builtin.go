package agentbuilder

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// builtin writes a modest agent without a model: what the site says for machines, the headings and what stands under them,
// and the owner's instructions word for word. The same source always gives the same draft. It is nil where there is
// nothing to write from.
func (s *source) builtin() *draft {
	if s.site == nil && !strings.ContainsFunc(s.instructions, unicode.IsLetter) {
		return nil
	}
	d := &draft{
		CompanyName: s.firm, Role: "Receptionist", Personality: defaultPersonality, Goals: defaultGoals(s.firm),
		Guardrails: []string{
			"Promise nothing on behalf of the company: no prices, dates or services beyond your facts.",
			"Never ask for passwords or payment details.",
		},
		Tone: s.tone(), Language: s.language,
	}
	d.Greeting, _ = phrase(s.language)
	d.Greeting = fmt.Sprintf(d.Greeting, orElse(s.firm, agentName(s.site, s.instructions, "")))
	d.Facts = s.extracts()
	return d
}

// reserved are trades in which people expect a business-like voice.
var reserved = regexp.MustCompile(`(?i)legal|attorney|notary|medical|dentist|physician|clinic|hospital|financial|insurance|accounting|bank|government|funeral`)

// tone is the one that the instructions ask for, else the trade's.
func (s *source) tone() string {
	asked := strings.ToLower(s.instructions)
	for _, t := range []struct{ sign, tone string }{
		{"informal", "Casual"}, {"casual", "Casual"}, {"locker", "Casual"}, {"formal", "Formal"}, {"förmlich", "Formal"},
		{"professional", "Professional"}, {"professionell", "Professional"}, {"friendly", "Friendly"}, {"freundlich", "Friendly"}, {"warm", "Friendly"},
	} {
		if strings.Contains(asked, t.sign) {
			return t.tone
		}
	}
	if s.site != nil && s.site.Facts.Kind != "" && !reserved.MatchString(s.site.Facts.Kind) {
		return "Friendly"
	}
	return "Professional"
}

// Bounds of what is taken from a site, in code points.
const (
	maxExtract     = 6_000
	maxPageExtract = 1_500
)

// extracts are the lines of the pages that say something, page by page, under the headings that they stand under.
func (s *source) extracts() []string {
	if s.site == nil {
		return nil
	}
	var all []string
	left := maxExtract
	add := func(line string, budget *int) {
		if n := utf8.RuneCountInString(line); n <= *budget && n <= left {
			*budget -= n
			left -= n
			all = append(all, line)
		}
	}
	for _, p := range s.site.Pages {
		budget := maxPageExtract
		add(p.Description, &budget)
		heading := ""
		for line := range strings.Lines(p.Markdown) {
			line = strings.TrimSpace(line)
			if h := strings.TrimLeft(line, "#"); h != line {
				heading = oneLine(h, 100)
				continue
			}
			line = spokenRow(line)
			if utf8.RuneCountInString(line) < 4 || !strings.ContainsFunc(line, unicode.IsLetter) {
				continue
			}
			line = oneLine(line, maxFact)
			if heading != "" && !strings.Contains(letters(line), letters(heading)) {
				line = heading + ": " + line
			}
			add(line, &budget)
		}
	}
	return all
}

var marks = regexp.MustCompile(`\*\*|__|^[-*+>]\s+|^\d+\.\s+`)

// spokenRow takes the marks of Markdown away; the cells of a table row become a list.
func spokenRow(line string) string {
	if strings.HasPrefix(line, "|") {
		if strings.Trim(line, "|-: ") == "" {
			return ""
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
			if c = strings.TrimSpace(c); c != "" {
				cells = append(cells, c)
			}
		}
		line = strings.Join(cells, ", ")
	}
	return strings.TrimSpace(marks.ReplaceAllString(line, ""))
}
