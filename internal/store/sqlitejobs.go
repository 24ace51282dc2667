package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// sqliteJobs is River's SQLite driver with announcements inside the process. The original writes them into a table and
// asks for new ones 20 times a second on the one connection that writes. Jobs that another process enqueues (a command
// beside the running server) are found by polling, within a second.
type sqliteJobs struct {
	*riversqlite.Driver
	mu        sync.Mutex
	listeners map[*listener]bool
}

func newSQLiteJobs(db *sql.DB) *sqliteJobs {
	return &sqliteJobs{Driver: riversqlite.New(db), listeners: map[*listener]bool{}}
}

// SupportsListenNotify keeps River from writing announcements into the table.
func (d *sqliteJobs) SupportsListenNotify() bool { return false }

func (d *sqliteJobs) GetListener(p *riverdriver.GetListenenerParams) riverdriver.Listener {
	return &listener{driver: d, schema: p.Schema, news: make(chan string, 100)}
}

// wake announces a job in a queue. When a listener is so far behind that its channel is full, it has announcements of
// the queue before it anyway, or polls.
func (d *sqliteJobs) wake(queue string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range d.listeners {
		select {
		case l.news <- queue:
		default:
		}
	}
}

// listener hears wake.
type listener struct {
	driver *sqliteJobs
	schema string
	news   chan string
}

func (l *listener) Connect(context.Context) error {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	if l.driver.listeners[l] {
		return errors.New("connected already")
	}
	l.driver.listeners[l] = true
	return nil
}

func (l *listener) Close(context.Context) error {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	delete(l.driver.listeners, l)
	return nil
}

func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case queue := <-l.news:
		return &riverdriver.Notification{Topic: insertTopic, Payload: insertPayload(queue)}, nil
	}
}

func (l *listener) Listen(context.Context, string) error { return nil }

func (l *listener) Unlisten(context.Context, string) error { return nil }

func (l *listener) Ping(context.Context) error { return nil }

func (l *listener) Schema() string { return l.schema }

func (l *listener) SetAfterConnectExec(string) {}
