package portal

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// assetPrefix stands before the files of the pages, and after it a hash of them all: a browser keeps them for ever, and
// asks for new ones as soon as one has changed.
const assetPrefix = "/assets/"

var assetHash = func() string {
	h := sha256.New()
	_ = fs.WalkDir(assetFiles, "assets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := assetFiles.ReadFile(path)
		h.Write([]byte(path))
		h.Write(text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16]
}()

// assetURL is the address of a file.
func assetURL(name string) string { return assetPrefix + assetHash + "/" + name }

// types are the media types by the end of a name. Those of the system would differ from machine to machine.
var types = map[string]string{
	"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
	"woff2": "font/woff2", "txt": "text/plain; charset=utf-8",
}

func (p *portal) asset(w http.ResponseWriter, r *http.Request, name string) {
	hash, name, _ := strings.Cut(name, "/")
	text, err := assetFiles.ReadFile("assets/" + name)
	if hash != assetHash || err != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		p.next.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[name[strings.LastIndexByte(name, '.')+1:]])
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
