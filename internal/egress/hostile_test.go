package egress_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/egress"
)

// patience is far above what any of these takes: who needs it hangs.
const patience = time.Minute

// forever writes until the client goes away.
func forever(conn net.Conn, text string) {
	many := []byte(strings.Repeat(text, 1+4096/len(text)))
	for {
		if _, err := conn.Write(many); err != nil {
			return
		}
	}
}

// dribble writes one byte now and then until the client goes away.
func dribble(conn net.Conn, text string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
		<-tick.C
	}
}

func gone(conn net.Conn) { io.Copy(io.Discard, conn) }

// readRequest takes the whole request in, so that closing the connection is no reset.
func readRequest(conn net.Conn) {
	if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
		io.Copy(io.Discard, req.Body)
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func TestHostileReceiversAreClassifiedInBoundedTimeAndMemory(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	cases := map[string]struct {
		answer    func(net.Conn)
		unread    bool         // the request is left to answer
		class     egress.Class // "" = an answer
		status    int
		body      string
		length    int // of the body, where it is endless
		truncated bool
	}{
		"never answers":           {answer: gone, class: egress.Timeout},
		"one header byte by byte": {answer: func(c net.Conn) { io.WriteString(c, head); dribble(c, "X-A: b\r\n") }, class: egress.Timeout},
		"a body byte by byte, for ever": {
			answer: func(c net.Conn) { io.WriteString(c, head+"\r\n"); dribble(c, "z") }, status: 200, truncated: true, length: -1,
		},
		"endless chunks": {
			answer: func(c net.Conn) {
				io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
				forever(c, "5\r\nhello\r\n")
			}, status: 200, truncated: true, length: 16 << 10,
		},
		"endless headers":     {answer: func(c net.Conn) { io.WriteString(c, head); forever(c, "X-A: b\r\n") }, class: egress.Protocol},
		"an endless header":   {answer: func(c net.Conn) { io.WriteString(c, head+"X-A: "); forever(c, "b") }, class: egress.Protocol},
		"endless early hints": {answer: func(c net.Conn) { forever(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") }, class: egress.Protocol},
		"garbage":             {answer: func(c net.Conn) { io.WriteString(c, "\x00\x01\x02 what is this\r\n\r\n") }, class: egress.Protocol},
		"a reset": {answer: func(c net.Conn) {
			c.(*net.TCPConn).SetLinger(0)
		}, class: egress.Closed},
		"closed at once":   {answer: func(net.Conn) {}, class: egress.Closed},
		"headers that end": {answer: func(c net.Conn) { io.WriteString(c, head+"X-A: b\r\n") }, class: egress.Closed},
		"a redirect": {answer: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
			gone(c)
		}, status: 301},
		"gzip nobody asked for": {
			answer: func(c net.Conn) {
				io.WriteString(c, head+"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"+zipped("hi"))
			}, status: 200, body: zipped("hi"),
		},
		"no content": {answer: func(c net.Conn) { io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n"); gone(c) }, status: 204},
		"another protocol": {
			answer: func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
				gone(c)
			}, status: 101,
		},
		"a body shorter than said": {
			answer: func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc")
			}, status: 500, body: "abc", truncated: true,
		},
		"a request left unread": {unread: true, answer: func(c net.Conn) {
			c.Read(make([]byte, 1))
			io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
			gone(c)
		}, status: 413, body: "no"},
	}
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			port, _ := listen(t, "127.0.0.1:0", func(conn net.Conn) {
				if !tc.unread {
					readRequest(conn)
				}
				tc.answer(conn)
			})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)

			resp, err := c.Do(ctx, egress.Webhook, egress.Request{
				Method: "POST", URL: "http://127.0.0.1:" + port + "/hook", Body: []byte(`{"payload_version":"1.1"}`),
				Timeout: 500 * time.Millisecond,
			})

			runtime.ReadMemStats(&after)
			require.NoError(t, ctx.Err(), "ended by its own limits")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
			require.Positive(t, resp.Duration)
			if tc.class != "" {
				require.Equal(t, tc.class, egress.ClassOf(err), "%v", err)
				require.NotEmpty(t, egress.ClassOf(err).Sentence())
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.status, resp.Status)
			require.Equal(t, tc.truncated, resp.Truncated)
			switch tc.length {
			case 0:
				require.Equal(t, tc.body, string(resp.Body))
			case -1: // as much as came
			default:
				require.Len(t, resp.Body, tc.length)
			}
		})
	}
}
