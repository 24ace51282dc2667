//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// BenchmarkReadOneTag reads one call tag by its id over HTTP: through the whole program, and from a bare handler that asks
// the same of the same database, without a credential and with a key that it looks up. The figure that counts is cpu-µs:
// processor time of a request, without that of the client, which the line "nothing" measures.
func BenchmarkReadOneTag(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			c, driver, dsn := store.Config{DataDir: b.TempDir()}, "sqlite", ""
			if name == "postgres" {
				c = store.Config{DatabaseURL: storetest.PostgresURL(b)}
				driver, dsn = "pgx", c.DatabaseURL
			} else {
				dsn = "file:" + filepath.Join(c.DataDir, "callwright.db") + "?_pragma=query_only(1)&_pragma=mmap_size(268435456)"
			}
			c.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
			db, err := store.Open(b.Context(), c)
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, db.Close()) })
			require.NoError(b, db.Migrate(b.Context()))
			p := parts(b, db, c.Log)
			w, err := p.Identity.CreateWorkspace(b.Context(), identity.NewWorkspace{Name: "acme"})
			require.NoError(b, err)
			server := main.NewServer(p, nil)
			require.NoError(b, server.Listen())
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- server.Run(ctx) }()
			b.Cleanup(func() { stop(); require.NoError(b, <-done) })

			key := "Authorization: Bearer " + w.Key.Secret + "\r\n"
			made := exchangeRaw(b, server.HTTPAddr, "POST /v1/call-tags HTTP/1.1\r\nHost: x\r\n"+key+
				"Content-Type: application/json\r\nContent-Length: 27\r\n\r\n"+`{"name":"Lead","emoji":"x"}`)
			var tag struct{ Data struct{ ID string } }
			require.NoError(b, json.Unmarshal(made, &tag), string(made))
			read := "GET /v1/call-tags/" + tag.Data.ID + " HTTP/1.1\r\nHost: x\r\n" + key + "\r\n"

			raw, err := sql.Open(driver, dsn)
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, raw.Close()) })
			raw.SetMaxIdleConns(4)
			base := measure(b, "nothing", constant(b), read, 0)
			measure(b, "bare", bare(b, raw, w, false), read, base)
			measure(b, "bare with key", bare(b, raw, w, true), read, base)
			measure(b, "program", server.HTTPAddr, read, base)
		})
	}
}

func parts(b *testing.B, db *store.DB, log *slog.Logger) main.Parts {
	recordings, err := call.OpenRecordings(b.Context(), "file://"+b.TempDir())
	require.NoError(b, err)
	key, out := secret.NewKey(), egress.New(egress.Config{})
	b.Cleanup(func() { require.NoError(b, recordings.Close()); out.Close() })
	return main.Parts{DB: db, Key: key, Identity: identity.New(identity.Config{DB: db, Key: key, Log: log}), Recordings: recordings,
		Egress: out, Log: log, RateLimit: 1 << 30}
}

// measure sends the request again and again over four connections and returns the processor time of one.
func measure(b *testing.B, name string, addr net.Addr, request string, base time.Duration) (each time.Duration) {
	b.Run(name, func(b *testing.B) {
		conns := make(chan *bufio.ReadWriter, 4)
		for range cap(conns) {
			c, err := net.Dial("tcp", addr.String())
			require.NoError(b, err)
			defer c.Close()
			conns <- bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c))
		}
		b.SetParallelism(2)
		b.ResetTimer()
		before := processorTime(b)
		b.RunParallel(func(pb *testing.PB) {
			c := <-conns
			for pb.Next() {
				if _, err := roundTrip(c, request); err != nil {
					b.Error(err)
					return
				}
			}
		})
		each = (processorTime(b) - before) / time.Duration(b.N)
		b.ReportMetric(float64((each-base).Nanoseconds())/1000, "cpu-µs")
		b.ReportMetric(0, "ns/op")
	})
	return each
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func exchangeRaw(b *testing.B, addr net.Addr, request string) []byte {
	c, err := net.Dial("tcp", addr.String())
	require.NoError(b, err)
	defer c.Close()
	body, err := roundTrip(bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), request)
	require.NoError(b, err)
	return body
}

// roundTrip is a client that does next to nothing: it looks for the status, the length and the body.
func roundTrip(c *bufio.ReadWriter, request string) ([]byte, error) {
	if _, err := c.WriteString(request); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		switch line = bytes.TrimSpace(line); {
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 20")):
			return nil, fmt.Errorf("answered %s", line)
		case len(line) == 0:
			body := make([]byte, length)
			_, err := io.ReadFull(c, body)
			return body, err
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length, _ = strconv.Atoi(string(line[16:]))
		}
	}
}

// constant answers the same to every request without looking at it.
func constant(b *testing.B) net.Addr {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { lis.Close() })
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + strings.Repeat("x", 200))
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := make([]byte, 4096)
				for {
					if _, err := c.Read(in); err != nil {
						return
					}
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return lis.Addr()
}

type bareTag struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Emoji       *string   `json:"emoji"`
	WorkspaceID string    `json:"workspace_id"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	CreatedBy   *string   `json:"created_by"`
}

// bare is the least that a handler of net/http can do for the same answer, with prepared statements.
func bare(b *testing.B, db *sql.DB, w identity.Founded, withKey bool) net.Addr {
	find, err := db.Prepare("SELECT id, name, emoji, workspace_id, created_at, updated_at, created_by FROM call_tags WHERE workspace_id = $1 AND id = $2")
	require.NoError(b, err)
	whose, err := db.Prepare("SELECT workspace_id FROM api_keys WHERE hash = $1")
	require.NoError(b, err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/call-tags/{id}", func(rw http.ResponseWriter, r *http.Request) {
		workspace := w.Workspace.ID.String()
		if withKey {
			sum := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
			if err := whose.QueryRowContext(r.Context(), sum[:]).Scan(&workspace); err != nil {
				http.Error(rw, err.Error(), http.StatusUnauthorized)
				return
			}
		}
		var t bareTag
		err := find.QueryRowContext(r.Context(), workspace, r.PathValue("id")).
			Scan(&t.ID, &t.Name, &t.Emoji, &t.WorkspaceID, &t.CreatedAt, &t.UpdatedAt, &t.CreatedBy)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusNotFound)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{"status": 200, "data": t})
	})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	s := &http.Server{Handler: mux}
	go func() { _ = s.Serve(lis) }()
	b.Cleanup(func() { s.Close() })
	return lis.Addr()
}
