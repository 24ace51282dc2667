// Package postgres gives tests and tools a PostgreSQL server: the one of TEST_DATABASE_URL, or one that it starts from
// installed binaries and that ends with the process.
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrAbsent says that there is no server and no binaries to start one.
var ErrAbsent = errors.New("no PostgreSQL: set TEST_DATABASE_URL or install the server (Debian: apt-get install postgresql)")

// Instance is a running server.
type Instance struct {
	// URL leads to a database from which others can be created, as a user who may.
	URL string
}

// Server is the server of this process; the first call starts it.
var Server = sync.OnceValues(func() (*Instance, error) {
	if u := os.Getenv("TEST_DATABASE_URL"); u != "" {
		return &Instance{URL: u}, nil
	}
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	return start(bin)
})

// Create makes a database, as a copy of template unless that is empty, and gives its URL and the function to drop it.
func (s *Instance) Create(ctx context.Context, template string) (dbURL string, drop func() error, err error) {
	name := "callwright_" + strings.ToLower(rand.Text()[:12])
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " TEMPLATE " + template
	}
	err = s.Admin(ctx, func(c *pgx.Conn) error {
		// Copying files is three times faster than the default, which goes through the log; it came with version 15.
		if v := c.PgConn().ParameterStatus("server_version"); template != "" && len(v) > 1 && v[:2] >= "15" {
			statement += " STRATEGY file_copy"
		}
		_, err := c.Exec(ctx, statement)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("create a database: %w", err)
	}
	return s.Database(name), func() error {
		return s.Admin(context.Background(), func(c *pgx.Conn) error {
			_, err := c.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			return err
		})
	}, nil
}

// Admin runs f with a connection to the server's own database.
func (s *Instance) Admin(ctx context.Context, f func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	return f(c)
}

// Database is the URL of another database of the server.
func (s *Instance) Database(name string) string {
	u, err := url.Parse(s.URL)
	if err != nil {
		panic("TEST_DATABASE_URL is not a URL: " + err.Error())
	}
	u.Path = "/" + name
	return u.String()
}

// binaries finds the folder of initdb and postgres: in PATH, or the newest of Debian's places.
func binaries() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", ErrAbsent
	}
	sort.Strings(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// reachable waits until the server answers.
func (s *Instance) reachable(ctx context.Context) error {
	for {
		err := s.Admin(ctx, func(c *pgx.Conn) error { return c.Ping(ctx) })
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start PostgreSQL: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
