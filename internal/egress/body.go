package egress

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
)

// readUpTo keeps at most limit bytes and reads at most one more. What can not be read any more (deadline, reset, broken
// compression) is missing, not an error: the status has decided already.
func readUpTo(r io.Reader, limit int64) (body []byte, truncated bool) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(body)) > limit {
		return body[:limit], true
	}
	return body, err != nil
}

// gunzip opens a body that is a gzip file in itself (sitemap.xml.gz), so that nobody behind us unpacks without a limit.
// Gzip as a content coding was opened by the transport already.
func gunzip(resp *http.Response) {
	peeked := bufio.NewReader(resp.Body)
	magic, _ := peeked.Peek(2)
	body := &opened{Reader: peeked, Closer: resp.Body}
	resp.Body = body
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return
	}
	body.Reader = &lazyGzip{from: peeked}
	resp.Uncompressed = true
	resp.ContentLength = -1
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
}

type opened struct {
	io.Reader
	io.Closer
}

// lazyGzip reads the gzip header at the first Read, where an error belongs to the body.
type lazyGzip struct {
	from io.Reader
	z    *gzip.Reader
}

func (l *lazyGzip) Read(p []byte) (int, error) {
	if l.z == nil {
		z, err := gzip.NewReader(l.from)
		if err != nil {
			return 0, err
		}
		l.z = z
	}
	return l.z.Read(p)
}

// bounded ends after so many bytes as if the body ended there.
type bounded struct {
	r    io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *bounded) Close() error { return b.r.Close() }
