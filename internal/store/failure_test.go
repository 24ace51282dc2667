package store_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// line is a network path to the test server that can be cut.
type line struct {
	URL     string
	to      [2]string
	down    atomic.Bool
	refused atomic.Int32
	// cut sees what a client sends and tells whether to cut its connection, before or after it is sent on.
	cut atomic.Pointer[func(sent []byte) (before, after bool)]
	wg  sync.WaitGroup
	mu  sync.Mutex
	all map[net.Conn]bool
}

func newLine(t *testing.T, target string) *line {
	t.Helper()
	c, err := pgconn.ParseConfig(target)
	require.NoError(t, err)
	l := &line{all: map[net.Conn]bool{}}
	l.to[0], l.to[1] = pgconn.NetworkAddress(c.Host, c.Port)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u := url.URL{Scheme: "postgres", User: url.UserPassword(c.User, c.Password), Host: listener.Addr().String(), Path: "/" + c.Database, RawQuery: "sslmode=disable"}
	l.URL = u.String()
	l.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.accept(conn)
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.sever()
		l.wg.Wait()
	})
	return l
}

func (l *line) accept(client net.Conn) {
	if l.down.Load() {
		l.refused.Add(1)
		client.Close()
		return
	}
	server, err := net.Dial(l.to[0], l.to[1])
	if err != nil {
		client.Close()
		return
	}
	l.mu.Lock()
	l.all[client], l.all[server] = true, true
	l.mu.Unlock()
	// Set once the server's next answer must find nobody.
	var mute atomic.Bool
	l.wg.Go(func() { l.copy(server, client, true, &mute) })
	l.wg.Go(func() { l.copy(client, server, false, &mute) })
}

func (l *line) copy(to, from net.Conn, fromClient bool, mute *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		var before, after bool
		if f := l.cut.Load(); f != nil && fromClient {
			before, after = (*f)(buf[:n])
		}
		if before || !fromClient && mute.Load() { // the server's answer, which says that it has done what it was told
			return
		}
		if after {
			mute.Store(true)
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// sever cuts all connections.
func (l *line) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.all {
		c.Close()
	}
	clear(l.all)
}

func throughLine(t *testing.T, c store.Config) (*store.DB, *line) {
	t.Helper()
	l := newLine(t, storetest.PostgresURL(t))
	c.DatabaseURL = l.URL
	return migrated(t, c), l
}

func TestRequestsAreHeldWhileTheDatabaseIsAway(t *testing.T) {
	db, l := throughLine(t, store.Config{})
	ctx, _ := storetest.Workspace(t, db)
	l.down.Store(true)
	l.sever()

	var g errgroup.Group
	for range 20 {
		g.Go(func() error {
			return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
				_, err := newAgent(tx.Client, "held").Save(ctx)
				return err
			})
		})
		g.Go(func() error {
			_, err := db.Ent().Agent.Query().Count(ctx)
			return err
		})
	}
	require.Eventually(t, func() bool { return l.refused.Load() > 20 }, 10*time.Second, time.Millisecond)
	l.down.Store(false)
	require.NoError(t, g.Wait())
	n, err := db.Ent().Agent.Query().Count(ctx)
	require.NoError(t, err)
	require.Equal(t, 20, n)
}

func TestATransactionWhoseConnectionBreaksBeforeItsCommitRunsAgain(t *testing.T) {
	db, l := throughLine(t, store.Config{})
	ctx, _ := storetest.Workspace(t, db)
	runs := 0
	require.NoError(t, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		runs++
		if _, err := newAgent(tx.Client, "one").Save(ctx); err != nil {
			return err
		}
		if runs == 1 {
			l.sever()
		}
		_, err := newAgent(tx.Client, "two").Save(ctx)
		return err
	}))
	require.Equal(t, 2, runs)
	n, err := db.Ent().Agent.Query().Count(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestADatabaseThatStaysAwayIsUnavailable(t *testing.T) {
	db, l := throughLine(t, store.Config{TxTimeout: 200 * time.Millisecond})
	ctx, _ := storetest.Workspace(t, db)
	l.down.Store(true)
	l.sever()
	err := db.InTx(ctx, func(context.Context, *store.Tx) error { return nil })
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.Unavailable, f.Kind)
	require.Error(t, db.Ping(ctx))
}

func TestAnInterruptedCommitIsNotRepeated(t *testing.T) {
	for name, c := range map[string]struct{ before, committed bool }{
		"it never arrived":           {before: true, committed: false},
		"its answer never came back": {before: false, committed: true},
	} {
		t.Run(name, func(t *testing.T) {
			db, l := throughLine(t, store.Config{})
			ctx, _ := storetest.Workspace(t, db)
			id := store.NewID()
			cut := func(sent []byte) (bool, bool) {
				hit := bytes.Contains(bytes.ToLower(sent), []byte("commit"))
				return hit && c.before, hit && !c.before
			}
			runs := 0
			err := db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
				runs++
				_, err := newAgent(tx.Client, "x").SetID(id).Save(ctx)
				l.cut.Store(&cut)
				return err
			})
			require.ErrorIs(t, err, store.ErrCommitUnknown)
			require.Equal(t, 1, runs)
			l.cut.Store(nil)
			there, err := db.Ent().Agent.Query().Count(ctx)
			require.NoError(t, err)
			require.Equal(t, c.committed, there == 1)
		})
	}
}

func TestAWriteWhoseAnswerGotLostIsNotRepeated(t *testing.T) {
	db, l := throughLine(t, store.Config{})
	ctx := store.System(t.Context())
	var sent atomic.Int32
	cut := func(message []byte) (before, after bool) {
		hit := bytes.Contains(message, []byte("DELETE FROM"))
		if hit {
			sent.Add(1)
		}
		return false, hit
	}
	l.cut.Store(&cut)
	_, err := db.Ent().Agent.Delete().Exec(ctx)
	require.Error(t, err)
	require.EqualValues(t, 1, sent.Load())
}

func TestOrdinaryErrorsAreNotRetried(t *testing.T) {
	boom := errors.New("boom")
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		for _, want := range []error{boom, context.DeadlineExceeded, net.ErrClosed} {
			runs := 0
			err := db.InTx(t.Context(), func(context.Context, *store.Tx) error {
				runs++
				return want
			})
			require.ErrorIs(t, err, want)
			require.Equal(t, 1, runs, "%v", want)
		}
	})
}

func TestAWrongDatabaseURLFailsAtOnce(t *testing.T) {
	_, err := store.Open(t.Context(), store.Config{DatabaseURL: "postgres://%zz"})
	require.ErrorContains(t, err, "database URL")
	refused := "postgres://127.0.0.1:1/x?sslmode=disable"
	_, err = store.Open(t.Context(), store.Config{DatabaseURL: refused})
	require.ErrorContains(t, err, "reach the database")
}
