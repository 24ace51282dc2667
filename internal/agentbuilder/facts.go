package agentbuilder

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/text/language"
)

// factsOf reads what a page says for machines. It must see the page before it is pruned.
func factsOf(doc *goquery.Document) Facts {
	var f Facts
	doc.Find(`script[type="application/ld+json" i]`).EachWithBreak(func(i int, s *goquery.Selection) bool {
		var data any
		if text := s.Text(); len(text) <= 256<<10 && json.Unmarshal([]byte(text), &data) == nil {
			things := 0
			linked(data, 0, &things, func(thing map[string]any) { f.fill(fromThing(thing)) })
		}
		return i < 10
	})
	f.fill(fromElements(doc))
	return f
}

// fromElements is for sites without JSON-LD.
func fromElements(doc *goquery.Document) Facts {
	f := Facts{
		SiteName: oneLine(meta(doc, "og:site_name", "application-name"), 120),
		Phone:    hrefText(doc, "tel:"),
		Email:    hrefText(doc, "mailto:"),
		Address:  oneLine(doc.Find("address").First().Text(), maxFact),
	}
	lang := doc.Find("html").AttrOr("lang", "")
	if _, err := language.Parse(lang); err == nil && lang != "" && !strings.Contains(lang, "_") && len(lang) <= 20 {
		f.Language = lang
	}
	return f
}

// hrefText is what the first link of a scheme leads to.
func hrefText(doc *goquery.Document, scheme string) string {
	href := doc.Find(`a[href^="`+scheme+`" i]`).First().AttrOr("href", "")
	if len(href) <= len(scheme) {
		return ""
	}
	text, _, _ := strings.Cut(href[len(scheme):], "?")
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	if scheme == "tel:" && !phoneForm.MatchString(text) || scheme == "mailto:" && !emailForm.MatchString(text) {
		return ""
	}
	return oneLine(text, 120)
}

var (
	phoneForm = regexp.MustCompile(`^\+?[0-9][0-9 ()./-]{4,28}$`)
	emailForm = regexp.MustCompile(`^[^@\s]{1,64}@[^@\s]{1,190}$`)
)

// linked visits the things of a JSON-LD document: @graph, lists, and things inside of things.
func linked(data any, depth int, things *int, visit func(map[string]any)) {
	if depth > 6 || *things > 200 {
		return
	}
	switch v := data.(type) {
	case []any:
		for _, item := range v {
			linked(item, depth+1, things, visit)
		}
	case map[string]any:
		*things++
		if v["@type"] != nil {
			visit(v)
		}
		for _, name := range []string{"@graph", "mainEntity", "publisher", "provider", "department", "location", "about", "itemListElement", "item"} {
			if v[name] != nil {
				linked(v[name], depth+1, things, visit)
			}
		}
	}
}

// fromThing reads a thing that may be the company, or the questions that it answers.
func fromThing(t map[string]any) Facts {
	kinds := texts(t["@type"])
	for i, k := range kinds {
		kinds[i] = k[strings.LastIndexByte(k, '/')+1:]
	}
	switch {
	case slices.Contains(kinds, "Question"):
		return Facts{Questions: question(t)}
	case slices.Contains(kinds, "WebSite"):
		return Facts{SiteName: text(t["name"])}
	case !isCompany(kinds, t):
		return Facts{}
	}
	f := Facts{
		Name: text(t["name"]), Kind: kinds[0], Description: text(t["description"]),
		Phone: phoneText(t["telephone"]), Email: strings.TrimPrefix(text(t["email"]), "mailto:"), Address: address(t["address"]),
		Hours: hours(t),
	}
	if f.Phone == "" {
		if c, ok := first(t["contactPoint"]).(map[string]any); ok {
			f.Phone = phoneText(c["telephone"])
		}
	}
	for _, more := range []struct{ name, label string }{
		{"servesCuisine", "Cuisine"}, {"priceRange", "Price range"}, {"areaServed", "Area served"}, {"paymentAccepted", "Payment accepted"},
		{"currenciesAccepted", "Currencies"}, {"acceptsReservations", "Takes reservations"}, {"founder", "Founder"}, {"slogan", "Slogan"},
		{"knowsLanguage", "Languages"},
	} {
		if said := strings.Join(texts(t[more.name]), ", "); said != "" && !isOrder(said) {
			f.More = appendNew(f.More, oneLine(more.label+": "+said, maxFact))
		}
	}
	return f
}

// isCompany knows the types of organisations by name where the name does not end in one of the usual words, and any thing
// that has hours or a telephone of its own.
func isCompany(kinds []string, t map[string]any) bool {
	if len(kinds) == 0 {
		return false
	}
	for _, end := range []string{"Organization", "Business", "Store", "Restaurant", "Service", "Corporation", "Hotel", "Clinic", "Dentist"} {
		if strings.HasSuffix(kinds[0], end) {
			return true
		}
	}
	return t["name"] != nil && (t["telephone"] != nil || t["openingHours"] != nil || t["openingHoursSpecification"] != nil)
}

func question(t map[string]any) []QA {
	a, _ := first(t["acceptedAnswer"]).(map[string]any)
	q := QA{text(t["name"]), text(a["text"])}
	if q.Question == "" || q.Answer == "" {
		return nil
	}
	return []QA{q}
}

func phoneText(v any) string {
	if s := text(v); phoneForm.MatchString(s) {
		return s
	}
	return ""
}

func address(v any) string {
	a, ok := first(v).(map[string]any)
	if !ok {
		return text(v)
	}
	var parts []string
	for _, names := range [][]string{{"streetAddress"}, {"postalCode", "addressLocality"}, {"addressRegion"}, {"addressCountry"}} {
		var part []string
		for _, n := range names {
			if s := text(a[n]); s != "" {
				part = append(part, s)
			}
		}
		if len(part) > 0 {
			parts = append(parts, strings.Join(part, " "))
		}
	}
	return oneLine(strings.Join(parts, ", "), maxFact)
}

// hours are openingHours as they stand, and openingHoursSpecification in the same words.
func hours(t map[string]any) []string {
	var all []string
	for _, s := range texts(t["openingHours"]) {
		all = appendNew(all, oneLine(s, 120))
	}
	list, ok := t["openingHoursSpecification"].([]any)
	if !ok {
		list = []any{t["openingHoursSpecification"]}
	}
	for _, item := range list {
		spec, ok := item.(map[string]any)
		if !ok {
			continue
		}
		days := texts(spec["dayOfWeek"])
		for i, d := range days {
			days[i] = d[strings.LastIndexByte(d, '/')+1:]
		}
		opens, closes := text(spec["opens"]), text(spec["closes"])
		said := strings.TrimSpace(strings.Join(days, ", "))
		switch {
		case opens == "" && closes == "" || opens == closes && strings.HasPrefix(opens, "00:00"):
			said += " closed"
		default:
			said += fmt.Sprintf(" %s to %s", opens, closes)
		}
		if from := text(spec["validFrom"]); from != "" {
			said += fmt.Sprintf(" (from %s to %s)", from, text(spec["validThrough"]))
		}
		all = appendNew(all, oneLine(said, 160))
	}
	return all
}

// first is a value, or the first of a list.
func first(v any) any {
	if list, ok := v.([]any); ok && len(list) > 0 {
		return list[0]
	}
	return v
}

// text is a JSON-LD value as one line: a text, a number, the name of a thing.
func text(v any) string {
	all := texts(first(v))
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		if s := oneLine(withoutTags(v), maxFact); s != "" {
			return []string{s}
		}
	case float64:
		return []string{strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00")}
	case bool:
		return []string{map[bool]string{true: "yes", false: "no"}[v]}
	case map[string]any:
		for _, name := range []string{"@value", "name", "text"} {
			if s, ok := v[name].(string); ok {
				return texts(s)
			}
		}
	case []any:
		var all []string
		for _, item := range v {
			if _, nested := item.([]any); !nested && len(all) < maxFacts {
				all = append(all, texts(item)...)
			}
		}
		return all
	}
	return nil
}

var tag = regexp.MustCompile(`<[^<>]{0,300}>`)

// withoutTags is for answers of questions, which may hold HTML.
func withoutTags(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	s = tag.ReplaceAllString(s, " ")
	return strings.NewReplacer("&amp;", "&", "&nbsp;", " ", "&quot;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">").Replace(s)
}
