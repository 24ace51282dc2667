package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

const (
	openAPIPath = "/openapi.json"
	docsPath    = "/docs"
)

// referencePages serve the OpenAPI description and the page that shows it. Both are public and not throttled: they are
// made once and cost no more than a file.
type referencePages struct {
	openAPI func() (text []byte, tag string)
	page    http.Handler
	policy  func() string
}

func newReferencePages(address string) *referencePages {
	page := v5emb.NewWithConfig(swgui.Config{
		// Relative, so that the page works behind a proxy that puts a path in front.
		BasePath:         "./",
		InternalBasePath: docsPath + "/",
		SettingsUI:       map[string]string{"defaultModelsExpandDepth": "0", "displayRequestDuration": "true"},
	})("Callwright API", ".."+openAPIPath, "")
	return &referencePages{
		openAPI: sync.OnceValues(func() ([]byte, string) {
			text := describe(address)
			sum := sha256.Sum256(text)
			return text, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		}),
		page:   page,
		policy: sync.OnceValue(func() string { return policyOf(page) }),
	}
}

// has reports whether a path is the reference's.
func (*referencePages) has(path string) bool {
	return path == openAPIPath || path == docsPath || strings.HasPrefix(path, docsPath+"/")
}

func (p *referencePages) serve(x *exchange, r *http.Request) {
	const allow = "GET, HEAD, OPTIONS"
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		x.Header().Set("Allow", allow)
		x.WriteHeader(http.StatusNoContent)
		return
	default:
		refuseMethod(x, allow)
		return
	}
	if r.URL.Path == openAPIPath {
		text, tag := p.openAPI()
		h := x.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Etag", tag)
		http.ServeContent(x, r, "", time.Time{}, bytes.NewReader(text))
		return
	}
	p.show(x, r)
}

// show serves the page and what it is made of. Nothing of it comes from elsewhere, and the policy sees to that.
func (p *referencePages) show(x *exchange, r *http.Request) {
	h := x.Header()
	h.Set("Content-Security-Policy", p.policy())
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "public, max-age=300")
	if r.URL.Path == docsPath { // its addresses are relative to /docs/
		h.Set("Location", "docs/")
		x.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	x.head = r.Method == http.MethodHead
	p.page.ServeHTTP(&assetWriter{exchange: x}, r)
}

// assetWriter puts a missing file into our error body.
type assetWriter struct {
	*exchange
	missing bool
}

func (w *assetWriter) WriteHeader(status int) {
	if w.missing = status == http.StatusNotFound; w.missing {
		refuse(w.exchange, errNoRoute)
		return
	}
	w.exchange.WriteHeader(status)
}

func (w *assetWriter) Write(b []byte) (int, error) {
	if w.missing {
		return len(b), nil
	}
	return w.exchange.Write(b)
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// policyOf allows what the page brings with it and names its inline scripts by their hashes. Styles are set by the
// page's own code, element by element.
func policyOf(page http.Handler) string {
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, docsPath+"/", nil))
	scripts := "'self'"
	for _, s := range inlineScript.FindAllStringSubmatch(w.Body.String(), -1) {
		sum := sha256.Sum256([]byte(s[1]))
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
