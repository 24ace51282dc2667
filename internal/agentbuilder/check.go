package agentbuilder

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	webAddress  = regexp.MustCompile(`(?i)\b(?:https?://|www\.)\S+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|ai|app|dev|info|biz|shop|store|site|online|xyz|co|me|eu|de|fr|es|it|nl|uk|us|at|ch|example|test)\b(?:/\S*)?`)
	mailAddress = regexp.MustCompile(`[^\s@<>]+@[^\s@<>]+\.[a-zA-Z]{2,}`)
	phoneNumber = regexp.MustCompile(`\+?\(?\d[\d\s()./-]{5,}\d`)
)

// hasAddress tells whether a text leads somewhere: an address of the web, of mail, or a telephone number.
func hasAddress(s string) bool {
	return webAddress.MatchString(s) || mailAddress.MatchString(s) || phoneNumber.MatchString(s)
}

// judge knows what a rule or a fact may say.
type judge struct {
	instructions string
	own          string // the instructions' words, for what the owner said in person
	ordered      map[string]bool
	said         map[string]bool // runs of the site's words
	numbers      map[string]bool
	// tainted are words of orders that stand nowhere else.
	tainted map[string]bool
	dropped int
}

const (
	orderRun = 5 // words in a row that make a rule a copy of an order on a page
	pageRun  = 9 // and of any text of a page
)

func newJudge(site *Site, instructions string) *judge {
	j := &judge{instructions: instructions, own: " " + strings.Join(words(instructions), " ") + " ",
		ordered: map[string]bool{}, said: map[string]bool{}, numbers: map[string]bool{}, tainted: map[string]bool{}}
	j.count(instructions)
	if site == nil {
		return j
	}
	for _, p := range site.Pages {
		for _, o := range p.Ignored {
			runs(o, orderRun, j.ordered)
			runs(o, 1, j.tainted)
		}
		for line := range strings.Lines(p.Markdown) {
			runs(line, pageRun, j.said)
		}
		j.count(p.Title + "\n" + p.Description + "\n" + p.Markdown)
	}
	j.count(factLines(site.Facts))
	for _, w := range words(material(site) + " " + instructions + " " + usualInGreetings) {
		delete(j.tainted, w)
	}
	return j
}

// usualInGreetings are words that say nothing about where a text is from.
const usualInGreetings = `hello hi hey good morning afternoon evening day welcome thank thanks you for calling call to at the a an this is
	are we i my our your it its here speaking how can may do what help assist today please and of on in with assistant agent
	receptionist host bot virtual voice customer caller callers customers service support team`

// name returns a short text, such as a role, that has no word of an order; empty otherwise.
func (j *judge) name(text string, most int) string {
	if text = j.rule(text, most); text != "" && repeats(text, 1, j.tainted) {
		j.dropped++
		return ""
	}
	return text
}

// rule returns a line as it may stand among an agent's rules; empty when it may not. What the owner wrote may stand
// there in any case.
func (j *judge) rule(line string, most int) string {
	line = oneLine(line, most)
	if line == "" || strings.Contains(j.own, " "+strings.Join(words(line), " ")+" ") {
		return line
	}
	if isOrder(line) || repeats(line, orderRun, j.ordered) || repeats(line, pageRun, j.said) || j.asksSecrets(line) || j.leadsAway(line) {
		j.dropped++
		return ""
	}
	return line
}

func (j *judge) rules(lines []string, most int) []string {
	var all []string
	for _, l := range lines {
		if l = j.rule(strings.TrimLeft(l, "-*• "), 300); l != "" && len(all) < most {
			all = appendNew(all, l)
		}
	}
	return all
}

// asksSecrets: a rule about secrets is one only where it forbids them, or the owner speaks of them too.
func (j *judge) asksSecrets(line string) bool {
	folded := foldSentence(line)
	found := secret.FindString(folded)
	return found != "" && !forbids.MatchString(folded) && !strings.Contains(strings.ToLower(j.instructions), found)
}

var forbids = regexp.MustCompile(`\b(?:never|do not|don't|not|no|without|avoid|refuse)\b`)

// leadsAway: no rule sends callers to an address or number that the owner did not name.
func (j *judge) leadsAway(line string) bool {
	for _, form := range []*regexp.Regexp{webAddress, mailAddress, phoneNumber} {
		for _, found := range form.FindAllString(line, -1) {
			if !strings.Contains(strings.ToLower(j.instructions), strings.ToLower(strings.TrimSpace(found))) {
				return true
			}
		}
	}
	return false
}

// fact returns a line as it may stand among what the agent knows: no order, and with no number that neither the site nor
// the owner names, which is where inventions show.
func (j *judge) fact(line string) string {
	line = oneLine(strings.TrimLeft(line, "-*• "), maxFact)
	if line == "" {
		return ""
	}
	if isOrder(line) || repeats(line, orderRun, j.ordered) || !j.knowsNumbers(line) {
		j.dropped++
		return ""
	}
	return line
}

var numberForm = regexp.MustCompile(`\d+`)

func (j *judge) count(text string) {
	for _, n := range numberForm.FindAllString(text, -1) {
		j.numbers[bare(n)] = true
	}
	for _, n := range phoneNumber.FindAllString(text, -1) {
		j.numbers[bare(strings.Join(numberForm.FindAllString(n, -1), ""))] = true
	}
}

func bare(n string) string {
	if n = strings.TrimLeft(n, "0"); n == "" {
		return "0"
	}
	return n
}

// knowsNumbers takes 5 pm for 17:00, and telephone numbers however they are grouped.
func (j *judge) knowsNumbers(line string) bool {
	rest := line
	for _, n := range phoneNumber.FindAllString(line, -1) {
		if j.numbers[bare(strings.Join(numberForm.FindAllString(n, -1), ""))] {
			rest = strings.Replace(rest, n, " ", 1)
		}
	}
	for _, n := range numberForm.FindAllString(rest, -1) {
		b := bare(n)
		if j.numbers[b] {
			continue
		}
		afternoon := len(b) <= 2 && j.numbers[plus12(b)]
		if !afternoon {
			return false
		}
	}
	return true
}

func plus12(n string) string {
	v := 0
	for _, d := range n {
		v = v*10 + int(d-'0')
	}
	if v < 1 || v > 12 {
		return ""
	}
	v += 12
	return string(rune('0'+v/10)) + string(rune('0'+v%10))
}

// mentions tells whether the pages or the instructions have a name.
func (j *judge) mentions(site *Site, name string) bool {
	n := letters(name)
	if n == "" {
		return false
	}
	if strings.Contains(letters(j.instructions), n) {
		return true
	}
	if site == nil {
		return false
	}
	if strings.Contains(letters(site.Facts.Name+" "+site.Facts.SiteName+" "+domainName(site.URL)), n) {
		return true
	}
	for _, p := range site.Pages {
		if strings.Contains(letters(p.Title+"\n"+p.Markdown), n) {
			return true
		}
	}
	return false
}

// greets reports whether a greeting names the company.
func greets(greeting, firm string) bool { return strings.Contains(letters(greeting), letters(firm)) }

// short tells texts that are spoken in one breath.
func short(s string) bool { return utf8.RuneCountInString(s) <= 300 }
