package agentbuilder

import (
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// Site is what was read of a website, as it is kept on the job.
type Site struct {
	// URL is the page that the job's address led to.
	URL   string `json:"url"`
	Facts Facts  `json:"facts"`
	Pages []Page `json:"pages"`
}

// Page is one page.
type Page struct {
	URL         string `json:"url"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Markdown    string `json:"markdown"`
	// Ignored are sentences that give orders to a machine; they are in no other field.
	Ignored []string `json:"ignored,omitempty"`
}

// Facts are what a site says of its company in a form that machines read: JSON-LD, meta elements, telephone links.
type Facts struct {
	Name string `json:"name,omitempty"`
	// SiteName is what the site calls itself.
	SiteName    string   `json:"site_name,omitempty"`
	Kind        string   `json:"kind,omitempty"` // schema.org's type, such as Restaurant
	Description string   `json:"description,omitempty"`
	Phone       string   `json:"phone,omitempty"`
	Email       string   `json:"email,omitempty"`
	Address     string   `json:"address,omitempty"`
	Hours       []string `json:"hours,omitempty"`
	More        []string `json:"more,omitempty"` // "Serves: Italian", "Prices: $$"
	Questions   []QA     `json:"questions,omitempty"`
	Language    string   `json:"language,omitempty"` // of the first page
}

// QA is a question that the site answers.
type QA struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Bounds of what is kept, in code points.
const (
	maxPageText = 20_000
	maxSiteText = 200_000
	maxFact     = 400
	maxFacts    = 20 // of each list
)

// fill takes what f lacks from more: the first page that says something is believed.
func (f *Facts) fill(more Facts) {
	for _, pair := range []struct{ to, from *string }{
		{&f.Name, &more.Name}, {&f.SiteName, &more.SiteName}, {&f.Kind, &more.Kind}, {&f.Description, &more.Description},
		{&f.Phone, &more.Phone}, {&f.Email, &more.Email}, {&f.Address, &more.Address}, {&f.Language, &more.Language},
	} {
		if *pair.to == "" {
			*pair.to = *pair.from
		}
	}
	if len(f.Hours) == 0 {
		f.Hours = more.Hours
	}
	f.More = appendNew(f.More, more.More...)
	for _, q := range more.Questions {
		if len(f.Questions) < maxFacts && !hasQuestion(f.Questions, q) {
			f.Questions = append(f.Questions, q)
		}
	}
}

func hasQuestion(all []QA, q QA) bool {
	for _, have := range all {
		if have.Question == q.Question {
			return true
		}
	}
	return false
}

func appendNew(all []string, more ...string) []string {
	for _, text := range more {
		if text == "" || len(all) >= maxFacts {
			continue
		}
		seen := false
		for _, have := range all {
			seen = seen || have == text
		}
		if !seen {
			all = append(all, text)
		}
	}
	return all
}

// tidy takes out what repeats from page to page, such as menus and cookie bars that no element tells, and bounds the whole.
func (s *Site) tidy() {
	pages := map[uint64]int{} // lines, by on how many pages they are
	for _, p := range s.Pages {
		seen := map[uint64]bool{}
		for line := range strings.Lines(p.Markdown) {
			if key := lineKey(line); key != 0 && !seen[key] {
				seen[key] = true
				pages[key]++
			}
		}
	}
	told := map[uint64]bool{}
	left := maxSiteText
	for i := range s.Pages {
		var b strings.Builder
		for line := range strings.Lines(s.Pages[i].Markdown) {
			key := lineKey(line)
			everywhere := pages[key] >= 3 && pages[key]*2 > len(s.Pages)
			if key != 0 && everywhere && told[key] {
				continue
			}
			told[key] = true
			b.WriteString(line)
		}
		text := clip(squeeze(b.String()), left)
		left -= utf8.RuneCountInString(text)
		s.Pages[i].Markdown = text
	}
}

// lineKey is 0 for lines that mean nothing alone: empty ones, and the frame of a table.
func lineKey(line string) uint64 {
	line = strings.TrimSpace(line)
	if strings.Trim(line, "|-: ") == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(line))
	return h.Sum64() | 1
}

// squeeze leaves one empty line where there are more.
func squeeze(text string) string {
	var b strings.Builder
	empty := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" && empty {
			continue
		}
		empty = line == ""
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// clip keeps at most so many code points, whole lines or words where it can.
func clip(text string, most int) string {
	if most <= 0 {
		return ""
	}
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	end := 0
	for i := range text {
		if most == 0 {
			end = i
			break
		}
		most--
	}
	cut := text[:end]
	for _, at := range []string{"\n", " "} {
		if i := strings.LastIndex(cut, at); i > len(cut)*3/4 {
			return strings.TrimSpace(cut[:i])
		}
	}
	return strings.TrimSpace(cut)
}
