package postgres_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/store/storetest/postgres"
)

const childVariable = "POSTGRES_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		s, err := postgres.Server()
		if err != nil {
			panic(err)
		}
		fmt.Println(s.URL)
		select {} // until killed
	}
	os.Exit(m.Run())
}

func TestAKilledProcessLeavesNoServer(t *testing.T) {
	if os.Getenv("TEST_DATABASE_URL") != "" {
		t.Skip("the server of TEST_DATABASE_URL is not ours")
	}
	requireServer(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	u, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)
	dir := u.Query().Get("host")
	require.DirExists(t, dir)

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}, 10*time.Second, 10*time.Millisecond)
}

func TestACopyHasWhatItsTemplateHas(t *testing.T) {
	s := requireServer(t)
	ctx := t.Context()
	name, err := s.Template(ctx, func(url string) error {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		_, err = c.Exec(ctx, "CREATE TABLE things (n int)")
		return err
	})
	require.NoError(t, err)
	for template, tables := range map[string]int{name: 1, "": 0} {
		url, drop, err := s.Create(ctx, template)
		require.NoError(t, err)
		c, err := pgx.Connect(ctx, url)
		require.NoError(t, err)
		var n int
		require.NoError(t, c.QueryRow(ctx, "SELECT count(*) FROM pg_class WHERE relname = 'things'").Scan(&n))
		require.Equal(t, tables, n)
		require.NoError(t, c.Close(ctx))
		require.NoError(t, drop())
		_, err = pgx.Connect(ctx, url)
		require.Error(t, err, "a dropped database is gone")
	}
}

func requireServer(t *testing.T) *postgres.Instance {
	t.Helper()
	s, err := postgres.Server()
	if errors.Is(err, postgres.ErrAbsent) && os.Getenv("CI_REQUIRE_POSTGRES") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return s
}
