package agentbuilder

import (
	"net/url"
	"path"
	"regexp"
	"strings"
)

// frontier are the addresses of a site that may be worth reading, best first. What generates links without end is kept
// small by what it looks like: too long or too deep, the same again, or too many of one folder.
type frontier struct {
	site    string // the host, without www.
	waiting []candidate
	seen    map[string]bool
	folders map[string]int
	// found counts what came in, but for guesses.
	found int
}

// candidate is an address that waits.
type candidate struct {
	url   *url.URL
	depth int
	score int
	guess bool // nobody said that it is there
}

// Bounds of what is looked at.
const (
	maxCandidates = 500
	maxFolder     = 6   // addresses of one folder, such as products
	maxQueries    = 3   // addresses that differ in their query
	maxAddress    = 300 // bytes
	maxSegments   = 7
)

func newFrontier(home *url.URL) *frontier {
	return &frontier{site: siteOf(home), seen: map[string]bool{}, folders: map[string]int{}}
}

// siteOf is what the addresses of one site have in common: the host without www. and a port of its own. http and https
// are one site.
func siteOf(u *url.URL) string {
	host := strings.ToLower(strings.TrimPrefix(strings.ToLower(u.Hostname()), "www."))
	if p := u.Port(); p != "" && p != "80" && p != "443" {
		host += ":" + p
	}
	return host
}

// add takes an address in, unless it was seen, is of another site or not worth it.
func (f *frontier) add(u *url.URL, depth int, text string, guess bool) {
	if u.Scheme != "http" && u.Scheme != "https" || siteOf(u) != f.site || u.User != nil || len(f.waiting) >= maxCandidates {
		return
	}
	own := *u
	own.Fragment, own.RawFragment = "", ""
	own.RawQuery = withoutTracking(own.Query())
	key := keyOf(&own)
	if f.seen[key] || trap(&own) {
		return
	}
	f.seen[key] = true
	folder, most := folderOf(&own)
	if f.folders[folder] >= most {
		return
	}
	f.folders[folder]++
	if !guess {
		f.found++
	}
	f.waiting = append(f.waiting, candidate{url: &own, depth: depth, score: score(&own, depth, text, guess), guess: guess})
}

// mark notes that an address was read already, such as one that a redirect led to.
func (f *frontier) mark(u *url.URL) (again bool) {
	key := keyOf(u)
	again = f.seen[key]
	f.seen[key] = true
	return again
}

// next takes the best address out; of equal ones the first that came.
func (f *frontier) next() (candidate, bool) {
	best := -1
	for i := range f.waiting {
		if best < 0 || f.waiting[i].score > f.waiting[best].score {
			best = i
		}
	}
	if best < 0 {
		return candidate{}, false
	}
	c := f.waiting[best]
	f.waiting = append(f.waiting[:best], f.waiting[best+1:]...)
	return c, true
}

// keyOf is equal for spellings of one page's address.
func keyOf(u *url.URL) string {
	p := strings.TrimSuffix(path.Clean("/"+u.EscapedPath()), "/")
	for _, index := range []string{"/index.html", "/index.htm", "/index.php", "/home"} {
		p = strings.TrimSuffix(p, index)
	}
	return p + "?" + u.Query().Encode()
}

func withoutTracking(q url.Values) string {
	for name := range q {
		switch name = strings.ToLower(name); {
		case strings.HasPrefix(name, "utm_"), name == "fbclid", name == "gclid", name == "ref", strings.Contains(name, "sess"), name == "sid":
			for have := range q {
				if strings.ToLower(have) == name {
					delete(q, have)
				}
			}
		}
	}
	return q.Encode()
}

var (
	notAPageName = regexp.MustCompile(`(?i)\.(pdf|jpe?g|png|gif|webp|avif|svg|ico|css|js|mjs|json|xml|rss|atom|txt|zip|gz|rar|7z|exe|dmg|apk|mp[34]|m4a|wav|ogg|avi|mov|webm|docx?|xlsx?|pptx?|csv|ics|woff2?|ttf|eot)$`)
	noContent    = regexp.MustCompile(`(?i)/(wp-admin|wp-json|wp-login|xmlrpc|feed|rss|cart|basket|checkout|warenkorb|kasse|panier|carrito|login|log-in|signin|sign-in|signup|register|logout|account|my-account|konto|password|search|suche|recherche|cgi-bin|cdn-cgi|api|print|share|compare|wishlist|unsubscribe)(/|$)`)
	calendar     = regexp.MustCompile(`/(19|20)\d\d/(0?[1-9]|1[0-2])(/|\?|$)|[?&](month|year|date|day|week|page|p|sort|order|filter|offset|start)=`)
	digits       = regexp.MustCompile(`\d+`)
)

// trap tells addresses that lead to no page, or to too many.
func trap(u *url.URL) bool {
	if len(u.String()) > maxAddress || notAPageName.MatchString(u.Path) || noContent.MatchString(u.Path) ||
		calendar.MatchString(u.EscapedPath()+"?"+u.RawQuery) {
		return true
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(segments) > maxSegments {
		return true
	}
	times := map[string]int{}
	for _, s := range segments {
		if times[s]++; times[s] > 2 && s != "" {
			return true
		}
	}
	return false
}

// folderOf is what addresses made by one program have in common, and how many of them are worth reading.
func folderOf(u *url.URL) (folder string, most int) {
	if u.RawQuery != "" {
		return "?" + u.Path, maxQueries
	}
	dir, last := path.Split(strings.TrimSuffix(u.Path, "/"))
	if shape := digits.ReplaceAllString(last, "#"); shape != last { // page-1, page-2
		return digits.ReplaceAllString(dir, "#") + shape, maxFolder
	}
	if dir == "/" || dir == "" {
		return "/", 100
	}
	return digits.ReplaceAllString(dir, "#"), maxFolder
}

// What callers ask about, in the words of addresses and links.
var (
	wanted = regexp.MustCompile(`(?i)contact|kontakt|contacto|contatt|about|ueber-?uns|über uns|a-propos|nosotros|chi-siamo|over-ons|team|` +
		`hours|opening|oeffnungszeiten|öffnungszeiten|horaires|horario|orari|faq|question|fragen|preguntas|help|hilfe|support|` +
		`pric(es?|ing)|preise|tarif|precios|prezzi|prijzen|rates|fees|service|leistung|servicio|servizi|diensten|menu|menü|speisekarte|carta|` +
		`location|standort|anfahrt|directions|find-us|visit|book|reserv|termin|werkstatt|workshop|repair|reparatur|appointment|deliver|lieferung|livraison|env[ií]o|shipping|versand|` +
		`return|retoure|refund|rueckgabe|rückgabe|warranty|garantie|insurance|treatment|behandlung|offer|angebot|what-we-do|company|unternehmen`)
	unwanted = regexp.MustCompile(`(?i)privacy|datenschutz|cookie|terms|agb|legal|impressum|imprint|disclaimer|mentions-legales|aviso|licen[sc]e|sitemap|` +
		`blog|news|aktuelles|press|presse|career|karriere|jobs?|stellen|gallery|galerie|archive|author|tag/|category/|event|calendar|` +
		`login|download|newsletter|investor`)
	greatlyWanted = regexp.MustCompile(`(?i)contact|kontakt|about|hours|faq|pric(es?|ing)|preise|service|leistung|menu|speisekarte`)
)

func score(u *url.URL, depth int, text string, guess bool) int {
	s := 100 - 20*depth - 4*strings.Count(strings.Trim(u.Path, "/"), "/")
	about := u.Path + " " + text
	if strings.Trim(u.Path, "/") == "" && u.RawQuery == "" {
		s += 60
	}
	if wanted.MatchString(about) {
		s += 30
	}
	if greatlyWanted.MatchString(about) {
		s += 15
	}
	if unwanted.MatchString(about) {
		s -= 50
	}
	if u.RawQuery != "" {
		s -= 20
	}
	if guess {
		s -= 60
	}
	return s
}

// usual are pages that many sites have, for sites that name none of theirs.
var usual = []string{"/about", "/contact", "/services", "/faq", "/pricing", "/about-us", "/menu", "/hours", "/kontakt", "/products"}
