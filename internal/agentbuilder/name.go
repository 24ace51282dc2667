package agentbuilder

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// maxName is in code points; an agent's name may have 128.
const maxName = 60

// domainName is a site's own label in words: trattoria-bella.example.com is Trattoria Bella. Empty for an address that has
// no name.
func domainName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return ""
	}
	label := strings.TrimPrefix(host, "www.")
	if own, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		label = own
	}
	label, _, _ = strings.Cut(label, ".")
	var out []string
	for _, w := range strings.FieldsFunc(label, func(r rune) bool { return r == '-' || r == '_' }) {
		first, size := utf8.DecodeRuneInString(w)
		out = append(out, string(unicode.ToUpper(first))+w[size:])
	}
	return oneLine(strings.Join(out, " "), maxName)
}

// letters are a name as the labels of domains spell it.
func letters(s string) string { return strings.Join(words(s), "") }

// company is who the agent speaks for, by the first that says so: JSON-LD, the site's own name, its title, its domain, the
// instructions; otherwise is used when nobody does.
func company(site *Site, instructions, otherwise string) string {
	if site != nil {
		domain := domainName(site.URL)
		for _, name := range []string{site.Facts.Name, site.Facts.SiteName, titleName(site, domain), domain} {
			if name = oneLine(name, maxName); fitName(name) {
				return name
			}
		}
	}
	if name := namedIn(instructions); name != "" {
		return name
	}
	return oneLine(aside.ReplaceAllString(otherwise, ""), maxName)
}

// aside is what people add to a workspace's name for themselves.
var aside = regexp.MustCompile(`\s*[(\[][^)\]]*[)\]]\s*$`)

func fitName(name string) bool {
	return utf8.RuneCountInString(name) >= 2 && strings.ContainsFunc(name, unicode.IsLetter) && !isOrder(name) &&
		!hasAddress(name) && len(words(name)) <= 8
}

var titleParts = regexp.MustCompile(`\s+[|–—·»•-]\s+|:\s+|\s*\|\s*`)

// titleName is the part of the first page's title that is the company's name: the one that the domain spells, else the
// last that is more than a greeting.
func titleName(site *Site, domain string) string {
	if len(site.Pages) == 0 {
		return ""
	}
	best, shared := "", 0
	for _, part := range titleParts.Split(site.Pages[0].Title, -1) {
		part = strings.TrimSpace(welcome.ReplaceAllString(strings.TrimSpace(part), ""))
		if letters(part) == "" || common[strings.ToLower(part)] {
			continue
		}
		if d := letters(domain); d != "" && (letters(part) == d || strings.HasPrefix(d, letters(part)) && len(letters(part)) > 3) {
			return part
		}
		n := site.titled(part)
		if best == "" || n > shared || n == shared && len(words(part)) < len(words(best)) {
			best, shared = part, n
		}
	}
	return best
}

// titled counts the pages whose title has the text: a company's name is in many, a page's own in one.
func (s *Site) titled(text string) (n int) {
	for _, p := range s.Pages {
		if strings.Contains(letters(p.Title), letters(text)) {
			n++
		}
	}
	return n
}

var (
	welcome = regexp.MustCompile(`(?i)^(welcome to|willkommen (bei|im|in der)|bienvenue (chez|à)|bienvenidos a|home of)\s+`)
	common  = map[string]bool{"home": true, "homepage": true, "home page": true, "start": true, "startseite": true, "welcome": true,
		"willkommen": true, "accueil": true, "inicio": true, "index": true, "official site": true, "official website": true,
		"about": true, "about us": true, "contact": true, "contact us": true, "services": true, "our services": true, "products": true,
		"opening hours": true, "prices": true, "pricing": true, "menu": true, "faq": true, "news": true, "blog": true, "kontakt": true,
		"über uns": true, "leistungen": true, "preise": true, "contacto": true, "servicios": true}
)

var named = []*regexp.Regexp{
	regexp.MustCompile(`(?:[Cc]alled|[Nn]amed|[Nn]ame is|namens|heißt|llamad[ao]|appelée?)\s+["“„«']?([\p{Lu}\d][\p{L}\d'’&-]*(?:\s+(?:[\p{Lu}\d&][\p{L}\d'’&-]*|and|of|the|und|de|la)){0,5})`),
	regexp.MustCompile(`["“„«]([\p{Lu}\d][^"”“»\n]{1,58})["”“»]`),
	regexp.MustCompile(`(?:\b[Ff]or|\b[Aa]t|\b[Oo]f|\b[Ff]rom|\b[Ww]e are|\b[Ii] run|\b[Bb]ei|\b[Ff]ür|\b[Cc]hez|\b[Pp]our|\b[Pp]ara|\b[Ww]ir sind|\b[Cc]ompany[:,]?|\b[Bb]usiness[:,]?|\b[Ff]irma[:,]?|\b[Ee]mpresa[:,]?)\s+(?:(?:the|a|die|der|das|den|dem|la|le|les|el|los|las|il|het|de)\s+)?(\p{Lu}[\p{L}\d'’&-]*(?:\s+(?:[\p{Lu}\d&][\p{L}\d'’&-]*|and|of|the|und|de|la)){0,5})`),
}

// trailing are words that a name does not end with.
var trailing = regexp.MustCompile(`(?:\s+(?:and|of|the|und|de|la))+$|[.,'’&-]+$`)

// namedIn finds a company's name in instructions: behind "called", in quotation marks, or capitalised behind "for".
func namedIn(instructions string) string {
	for _, form := range named {
		for _, m := range form.FindAllStringSubmatch(instructions, 5) {
			name := oneLine(trailing.ReplaceAllString(trailing.ReplaceAllString(m[1], ""), ""), maxName)
			if fitName(name) && !notNames[strings.ToLower(name)] {
				return name
			}
		}
	}
	return ""
}

var notNames = map[string]bool{"i": true, "we": true, "our": true, "my": true, "english": true, "german": true, "french": true,
	"spanish": true, "monday": true, "tuesday": true, "wednesday": true, "thursday": true, "friday": true, "saturday": true,
	"sunday": true, "customers": true, "kunden": true, "anrufer": true, "gäste": true, "patienten": true, "callers": true, "deutsch": true, "ai": true}

// agentName is derived from the site's domain or from the instructions. spec: Agent builder job.
func agentName(site *Site, instructions, firm string) string {
	base := firm
	switch {
	case site != nil:
		if domain := domainName(site.URL); domain != "" && !strings.Contains(letters(firm), letters(domain)) {
			base = domain
		}
	case firm == "" || !strings.Contains(letters(instructions), letters(firm)):
		base = task(instructions)
	}
	return strings.TrimSpace(base + " Assistant")
}

var (
	request  = regexp.MustCompile(`(?i)^(please\s+)?((create|make|build|set up|write|i (need|want)|we (need|want)|you are)\s+)?(me\s+|us\s+)?(an?\s+|the\s+)?(\w+\s+)?(agent|assistant|receptionist|bot)\b\s*(that|who|which|to|for)?\s*((my|our|an?|the)\s+)?`)
	variable = regexp.MustCompile(`\{\{[^{}]*\}\}|[{}]`)
	clause   = regexp.MustCompile(`[.,;:!?\n]|\s(and|und|et|y|e)\s`)
)

// task is what the instructions ask for first, as a name: "Take orders and be brief." is Take Orders.
func task(instructions string) string {
	text := variable.ReplaceAllString(strings.TrimSpace(instructions), " ")
	text = strings.TrimSpace(request.ReplaceAllString(text, ""))
	if at := clause.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	all := strings.Fields(plain(text))
	all = all[:min(len(all), 4)]
	for i, w := range all {
		first, size := utf8.DecodeRuneInString(w)
		all[i] = string(unicode.ToUpper(first)) + w[size:]
	}
	name := oneLine(strings.Join(all, " "), maxName)
	if !fitName(name) {
		return ""
	}
	return name
}
