package agentbuilder_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/openai"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// site is a website on this machine that remembers what was asked of it.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	agents map[string]bool
}

func serve(t testing.TB, h http.HandlerFunc) *site {
	s := &site{agents: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.RequestURI())
		s.agents[r.UserAgent()] = true
		s.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests are the paths that were asked for so far.
func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func file(t testing.TB, name string) []byte {
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return text
}

// restaurant has JSON-LD, cards, tables, a page in Latin-1, and a folder that robots.txt keeps to itself.
func restaurant(t testing.TB) *site {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		switch name {
		case "":
			name = "index.html"
		case "staff/rota.html":
			name = "staff.html"
		case "robots.txt":
			w.Header().Set("Content-Type", "text/plain")
		}
		text, err := os.ReadFile("testdata/restaurant/" + name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(name, ".html") {
			w.Header().Set("Content-Type", "text/html") // the character set stands in the page
		}
		w.Write(text)
	})
}

var shopPages = map[string]string{
	"/versand":    `<p>Wir versenden mit DHL für 5,90 Euro, Räder mit Spedition für 49 Euro.</p>`,
	"/rueckgabe":  `<p>Sie können Ware 30 Tage lang zurückgeben.</p>`,
	"/werkstatt":  `<p>Termine gibt es oft am selben Tag.</p>`,
	"/ueber-uns":  `<p>Heike Müller und ihr Team sind seit 1999 da.</p>`,
	"/faq":        `<script type="application/ld+json">FAQ</script><p>Antworten auf häufige Fragen.</p>`,
	"/impressum":  `<p>Radhaus Müller GmbH</p>`,
	"/produkte/1": `<p>Ein Rad.</p>`,
}

// shop has a sitemap index with a compressed sitemap, a cookie bar, and menus that no element tells from content.
func shop(t testing.TB) *site {
	var s *site
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		page := func(title, body string) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			text := strings.ReplaceAll(string(file(t, "shop/page.html")), "TITLE", title)
			body = strings.Replace(body, "FAQ", string(file(t, "shop/faq.json")), 1)
			fmt.Fprint(w, strings.Replace(text, "BODY", body, 1))
		}
		path := r.URL.Path
		switch {
		case path == "/":
			w.Write(file(t, "shop/index.html"))
		case path == "/robots.txt":
			fmt.Fprintf(w, "User-agent: *\nAllow: /\nSitemap: %s/sitemaps/index.xml\n", s.URL)
		case path == "/sitemaps/index.xml":
			fmt.Fprintf(w, `<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
				<sitemap><loc>%[1]s/sitemaps/products.xml</loc></sitemap><sitemap><loc>%[1]s/sitemaps/pages.xml.gz</loc></sitemap>
				<sitemap><loc>https://elsewhere.example/s.xml</loc></sitemap></sitemapindex>`, s.URL)
		case path == "/sitemaps/products.xml":
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range 400 {
				fmt.Fprintf(w, `<url><loc>%s/produkte/%d</loc></url>`, s.URL, i)
			}
			fmt.Fprint(w, `</urlset>`)
		case path == "/sitemaps/pages.xml.gz":
			var text strings.Builder
			for _, p := range slices.Sorted(maps.Keys(shopPages)) {
				fmt.Fprintf(&text, `<url><loc> %s%s </loc></url>`, s.URL, p)
			}
			w.Write(zipped(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + text.String() + `</urlset>`))
		case shopPages[path] != "":
			page(strings.TrimPrefix(path, "/"), shopPages[path])
		case strings.HasPrefix(path, "/produkte/"):
			page("Rad "+path[10:], "<p>Ein Rad mit der Nummer "+path[10:]+".</p>")
		default:
			http.NotFound(w, r)
		}
	})
	return s
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// model answers as the test says and remembers what it was asked.
type model struct {
	answer  func(p openai.Prompt) (string, error)
	prompts []openai.Prompt
}

func (m *model) Model() string { return "test-model" }

func (m *model) Complete(ctx context.Context, p openai.Prompt, s openai.Schema) (json.RawMessage, error) {
	m.prompts = append(m.prompts, p)
	if err := s.Check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	text, err := m.answer(p)
	return json.RawMessage(text), err
}

func answers(text string) *model {
	return &model{answer: func(openai.Prompt) (string, error) { return text, nil }}
}

var errDown = errors.New("down")

// rig is a workspace with a worker.
type rig struct {
	db     *store.DB
	ctx    context.Context
	builds agentbuilder.Builds
	worker *agentbuilder.Worker
	pauses []time.Duration
	crash  func(point string)
}

func newRig(t *testing.T, db *store.DB, m agentbuilder.Model) *rig {
	out := egress.New(egress.Config{AllowPrivate: true})
	t.Cleanup(out.Close)
	return newRigWith(t, db, m, out)
}

func newRigWith(t *testing.T, db *store.DB, m agentbuilder.Model, out *egress.Client) *rig {
	r := &rig{db: db, builds: agentbuilder.Builds{DB: db, Egress: out}}
	r.ctx, _ = storetest.Workspace(t, db)
	r.worker = agentbuilder.NewWorker(agentbuilder.Config{
		DB: db, Egress: out, Model: m, UserAgent: "Callwright/test (+https://callwright.example)", Log: slog.New(slog.DiscardHandler),
	})
	r.worker.Pause(func(_ context.Context, d time.Duration) { r.pauses = append(r.pauses, d) })
	r.worker.At(func(p string) {
		if r.crash != nil {
			r.crash(p)
		}
	})
	return r
}

func (r *rig) submit(t *testing.T, website, instructions string) *ent.AgentBuild {
	row, err := r.builds.Create(r.ctx, agentbuilder.Request{WebsiteURL: website, Instructions: instructions})
	require.NoError(t, err)
	return row
}

// step does one step as River does.
func (r *rig) step(row *ent.AgentBuild, step string, attempt int) error {
	return r.worker.Work(r.ctx, &river.Job[agentbuilder.Build]{
		JobRow: &rivertype.JobRow{Attempt: attempt},
		Args:   agentbuilder.Build{WorkspaceID: row.WorkspaceID, JobID: row.ID, Step: step},
	})
}

// build does a job to its end and returns the row.
func (r *rig) build(t *testing.T, website, instructions string) *ent.AgentBuild {
	row := r.submit(t, website, instructions)
	if website != "" {
		require.NoError(t, r.step(row, agentbuilder.StepRead, 1))
	}
	require.NoError(t, r.step(row, agentbuilder.StepWrite, 1))
	return r.get(t, row)
}

func (r *rig) get(t *testing.T, row *ent.AgentBuild) *ent.AgentBuild {
	row, err := agentbuilder.Get(r.ctx, r.db.Ent(), row.ID)
	require.NoError(t, err)
	return row
}

// made is the agent of a completed job.
func (r *rig) made(t *testing.T, row *ent.AgentBuild) agent.Settings {
	require.Equal(t, agentbuilder.Completed, row.Status, "%s: %s", row.ErrorCode, row.Error)
	a, err := agent.Get(r.ctx, r.db.Ent(), *row.AgentID)
	require.NoError(t, err)
	s, err := agent.SettingsOf(a)
	require.NoError(t, err)
	return s
}

func (r *rig) agents(t *testing.T) int {
	n, err := r.db.Ent().Agent.Query().Count(r.ctx)
	require.NoError(t, err)
	return n
}

// rulesOf are the texts that an agent takes orders from.
func rulesOf(s agent.Settings) string {
	return strings.Join(append(append([]string{*s.Name, *s.Role, *s.Personality, *s.WelcomeMsg, *s.Description}, s.Goals...), s.Guardrails...), "\n")
}
