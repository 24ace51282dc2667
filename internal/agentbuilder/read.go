package agentbuilder

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// reading is what came out of one HTML document.
type reading struct {
	page  Page
	facts Facts
	links []link
	// noFollow is the page's wish that its links be left alone.
	noFollow bool
}

// link is a link to another page.
type link struct {
	to   *url.URL
	text string
}

// unseen is what no visitor sees.
const unseen = `[hidden], [aria-hidden="true"], [class*="sr-only" i], [class*="visually-hidden" i], [style*="display:none" i], ` +
	`[style*="display: none" i], [style*="visibility:hidden" i], [style*="visibility: hidden" i], [style*="font-size:0" i], ` +
	`[style*="font-size: 0" i], [style*="opacity:0" i]`

// furniture is what stands on every page and says nothing: what the eye skips, and what it does not see.
const furniture = unseen + `, script, style, noscript, template, svg, canvas, iframe, object, embed, video, audio, map, form, dialog, ` +
	`button, select, input, textarea, nav, footer, link, meta, [role="navigation"], ` +
	`[role="dialog"], [role="alertdialog"], [role="search"], [class*="cookie" i], [id*="cookie" i], [class*="consent" i], ` +
	`[id*="consent" i], [class*="breadcrumb" i], [class*="navbar" i], [class*="skip-link" i]`

// parsing is held while a page is read: a tree takes many times the memory of its text, and jobs do not wait for each
// other's networks.
var parsing sync.Mutex

// read turns an HTML document into Markdown, facts and links. Whatever strangers wrote, it ends: the parser bounds how deep
// elements nest, and a document that breaks a library counts as unreadable.
func read(at *url.URL, contentType string, body []byte) (r *reading, err error) {
	parsing.Lock()
	defer parsing.Unlock()
	defer func() {
		if broken := recover(); broken != nil {
			r, err = nil, fmt.Errorf("read %s: %v", at.Host, broken)
		}
	}()
	text, err := decode(contentType, body)
	if err != nil {
		return nil, err
	}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	doc := goquery.NewDocumentFromNode(root)
	r = &reading{page: Page{URL: at.String()}, facts: factsOf(doc)}
	r.page.Title = oneLine(doc.Find("title").First().Text(), 300)
	r.page.Description = oneLine(meta(doc, "description", "og:description"), maxFact)
	r.noFollow = strings.Contains(strings.ToLower(meta(doc, "robots", "callwright")), "nofollow")
	r.links = linksOf(doc, at)

	r.page.Ignored = hiddenOrders(doc)
	doc.Find(furniture).Not("html, body").Remove()
	flatten(doc)
	define(doc)
	trim(root, &room{nodes: 20_000, text: 8 * maxPageText}, 0)
	markdown, err := toMarkdown.ConvertNode(root)
	if err != nil {
		return nil, fmt.Errorf("write the page as Markdown: %w", err)
	}
	r.page.Markdown = clip(squeeze(plain(string(markdown))), maxPageText)
	r.dropOrders()
	return r, nil
}

var toMarkdown = converter.NewConverter(
	converter.WithEscapeMode("disabled"),
	converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithSkipEmptyRows(true), table.WithHeaderPromotion(true),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithNewlineBehavior(table.NewlineBehaviorPreserve))),
)

// decode finds the character set as browsers do: byte order mark, header, meta element, guess.
func decode(contentType string, body []byte) (string, error) {
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		return "", fmt.Errorf("find the character set: %w", err)
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// meta is the content of the first meta element with one of the names.
func meta(doc *goquery.Document, names ...string) string {
	for _, name := range names {
		found := ""
		doc.Find("meta").EachWithBreak(func(_ int, m *goquery.Selection) bool {
			if strings.EqualFold(m.AttrOr("name", m.AttrOr("property", "")), name) {
				found = strings.TrimSpace(m.AttrOr("content", ""))
			}
			return found == ""
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// maxLinks bounds the links that are looked at on one page.
const maxLinks = 1000

func linksOf(doc *goquery.Document, at *url.URL) []link {
	from := at
	if u, err := at.Parse(strings.TrimSpace(doc.Find("base[href]").First().AttrOr("href", ""))); err == nil {
		from = u
	}
	var all []link
	add := func(href, text string) {
		if u, err := from.Parse(strings.TrimSpace(href)); err == nil && len(all) < maxLinks {
			all = append(all, link{u, oneLine(text, 100)})
		}
	}
	doc.Find(`meta[http-equiv="refresh" i]`).Each(func(_ int, m *goquery.Selection) {
		if _, to, ok := strings.Cut(strings.ToLower(m.AttrOr("content", "")), "url="); ok {
			content := m.AttrOr("content", "")
			add(strings.Trim(content[len(content)-len(to):], `'" `), "home")
		}
	})
	doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
		if !strings.Contains(a.AttrOr("rel", ""), "nofollow") {
			add(a.AttrOr("href", ""), a.Text())
		}
	})
	return all
}

// flatten leaves of links their text and of images nothing: addresses are of no use to somebody who listens.
func flatten(doc *goquery.Document) {
	doc.Find("img, picture").Remove()
	doc.Find("a").Each(func(_ int, a *goquery.Selection) {
		for _, n := range a.Nodes {
			n.Data, n.DataAtom, n.Attr = "span", 0, nil
		}
	})
}

// hiddenOrders are the orders in what no visitor sees: nobody gets to read them, and what a model writes is held against
// them.
func hiddenOrders(doc *goquery.Document) []string {
	var all []string
	look := func(text string) {
		if len(all) < maxFacts {
			_, taken := withoutOrders(clip(plain(text), maxPageText))
			all = appendNew(all, taken...)
		}
	}
	doc.Find(unseen).Add("noscript, template").Each(func(_ int, s *goquery.Selection) { look(s.Text()) })
	var comments func(n *html.Node)
	comments = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.CommentNode {
				look(c.Data)
			}
			comments(c)
		}
	}
	comments(doc.Nodes[0])
	return all
}

// define writes terms before what they mean, as in "Monday: closed"; Markdown has no lists of definitions.
func define(doc *goquery.Document) {
	for _, list := range doc.Find("dt").Parent().Nodes {
		term, last := "", (*html.Node)(nil)
		for c := list.FirstChild; c != nil; {
			next := c.NextSibling
			switch {
			case c.Type == html.ElementNode && c.Data == "dt":
				term, last = strings.Join(strings.Fields(goquery.NewDocumentFromNode(c).Text()), " "), c
			case c.Type == html.ElementNode && c.Data == "dd" && term != "":
				c.InsertBefore(&html.Node{Type: html.TextNode, Data: strings.TrimSuffix(term, ":") + ": "}, c.FirstChild)
				if last != nil {
					list.RemoveChild(last)
					last = nil
				}
			}
			c = next
		}
	}
}

// room is how much of a tree is kept: far more than what its text is clipped to, far less than a page can be.
type room struct{ nodes, text int }

// maxNesting is how deep elements may lie in each other; quotations within quotations are written again at every level.
const maxNesting = 100

// trim takes away what comes when there is no room left, and what lies too deep.
func trim(n *html.Node, left *room, depth int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if left.nodes <= 0 || left.text <= 0 || depth > maxNesting {
			n.RemoveChild(c)
		} else {
			left.nodes--
			if c.Type == html.TextNode {
				left.text -= len(c.Data)
			}
			trim(c, left, depth+1)
		}
		c = next
	}
}

// dropOrders takes out of all texts of the page what gives orders to a machine.
func (r *reading) dropOrders() {
	for _, text := range r.texts() {
		rest, taken := withoutOrders(*text)
		if len(taken) == 0 {
			continue
		}
		*text = squeeze(rest)
		for _, t := range taken {
			if len(r.page.Ignored) < maxFacts {
				r.page.Ignored = append(r.page.Ignored, t)
			}
		}
	}
}

// texts are all texts of a page that strangers wrote.
func (r *reading) texts() []*string {
	f := &r.facts
	all := []*string{&r.page.Title, &r.page.Description, &r.page.Markdown, &f.Name, &f.SiteName, &f.Description, &f.Address,
		&f.Phone, &f.Email, &f.Kind}
	for i := range f.Hours {
		all = append(all, &f.Hours[i])
	}
	for i := range f.More {
		all = append(all, &f.More[i])
	}
	for i := range f.Questions {
		all = append(all, &f.Questions[i].Question, &f.Questions[i].Answer)
	}
	return all
}
