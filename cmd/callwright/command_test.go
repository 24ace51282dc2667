package main_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// callwright runs the program with arguments.
func callwright(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = main.Run(t.Context(), args, &out, &err)
	return out.String(), err.String(), code
}

// installation is a data directory and a database that commands work on, both absent at first.
type installation struct {
	dir   string
	flags []string
}

// installations runs f on SQLite and on PostgreSQL.
func installations(t *testing.T, f func(t *testing.T, in installation)) {
	t.Run("sqlite", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		f(t, installation{dir, []string{"--data-dir", dir}})
	})
	t.Run("postgres", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		f(t, installation{dir, []string{"--data-dir", dir, "--database-url", storetest.PostgresURL(t)}})
	})
}

func (in installation) run(t testing.TB, args ...string) string {
	t.Helper()
	out, errs, code := callwright(t, append(args, in.flags...)...)
	require.Zero(t, code, errs)
	return out
}

// refused runs a command that must fail with one sentence and print no result.
func (in installation) refused(t testing.TB, args ...string) string {
	t.Helper()
	out, errs, code := callwright(t, append(args, in.flags...)...)
	require.Equal(t, 1, code)
	require.Empty(t, out)
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	last := lines[len(lines)-1]
	if strings.HasPrefix(last, "See ") {
		last = lines[len(lines)-2]
	}
	require.True(t, strings.HasPrefix(last, "callwright: "), errs)
	return last
}

// identity opens the installation beside the command, as a running server has it open.
func (in installation) identity(t testing.TB) *identity.Identity {
	t.Helper()
	key, err := secret.ReadFile(filepath.Join(in.dir, "secret.key"))
	require.NoError(t, err)
	c := store.Config{DataDir: in.dir}
	if len(in.flags) > 2 {
		c.DatabaseURL = in.flags[3]
	}
	db, err := store.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return identity.New(identity.Config{DB: db, Key: key})
}

type founded struct {
	WorkspaceID uuid.UUID `json:"workspace_id"`
	APIKey      string    `json:"api_key"`
	KeyID       uuid.UUID `json:"key_id"`
	OwnerID     uuid.UUID `json:"owner_id"`
	UserToken   string    `json:"user_token"`
}

func (in installation) found(t testing.TB, args ...string) founded {
	t.Helper()
	var f founded
	out := in.run(t, append([]string{"workspace", "create", "--name", "Harbor Dental", "--json"}, args...)...)
	require.Equal(t, 1, strings.Count(out, "\n"), "one line")
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&f))
	return f
}

func TestWorkspaceCreatePrintsCredentialsThatWork(t *testing.T) {
	installations(t, func(t *testing.T, in installation) {
		f := in.found(t, "--owner-email", "ana@example.com")
		id := in.identity(t)
		p, err := id.Authenticate(t.Context(), f.APIKey)
		require.NoError(t, err)
		require.Equal(t, identity.Principal{
			WorkspaceID: f.WorkspaceID, KeyID: &f.KeyID, Scopes: []string{"read", "write", "mcp"}}, p)
		p, err = id.Authenticate(t.Context(), f.UserToken)
		require.NoError(t, err)
		require.Equal(t, identity.Principal{WorkspaceID: f.WorkspaceID, UserID: &f.OwnerID, Role: "owner"}, p)

		again := in.found(t) // beside an open server, names may repeat
		require.NotEqual(t, f.WorkspaceID, again.WorkspaceID)
		readable := "\n" + in.run(t, "workspace", "create", "--name", "Clinic")
		for _, name := range []string{"Workspace", "API key", "Key id", "Owner", "User token"} {
			require.Contains(t, readable, "\n"+name, "without --json: lines")
		}
	})
}

func TestTheDataDirectoryIsForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	in := installation{dir, []string{"--data-dir", dir}}
	in.found(t)
	for name, want := range map[string]fs.FileMode{"": 0o700, "callwright.db": 0o600, "secret.key": 0o600} {
		stat, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, stat.Mode().Perm(), name)
	}
}

func TestPlans(t *testing.T) {
	installations(t, func(t *testing.T, in installation) {
		file := filepath.Join(t.TempDir(), "plan.json")
		write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
		write(`{"limited":true,"concurrent_calls":2,"max_call_minutes":5,"windows":[{"key":"calls_per_day","limit":3}]}`)
		f := in.found(t, "--plan", file)

		write(`{"concurrent_calls":7}`)
		require.JSONEq(t, `{"limited":false,"concurrent_calls":7,"max_call_minutes":60,"windows":[]}`,
			in.run(t, "workspace", "plan", f.WorkspaceID.String(), "--file", file))

		require.Contains(t, in.refused(t, "workspace", "plan", uuid.NewString(), "--file", file), "no such workspace")
		require.Contains(t, in.refused(t, "workspace", "plan", "7", "--file", file), `"7" is not an id such as`)
		require.Contains(t, in.refused(t, "workspace", "plan", f.WorkspaceID.String(), "--file", file+"x"), "no such file")
		write("")
		require.Contains(t, in.refused(t, "workspace", "plan", f.WorkspaceID.String(), "--file", file), "the file is empty")
		write(`{"windows":[{"key":"calls_per_week","limit":3}]}`)
		require.Contains(t, in.refused(t, "workspace", "plan", f.WorkspaceID.String(), "--file", file), "calls_per_week")
		require.Contains(t, in.refused(t, "workspace", "create", "--name", "A", "--plan", file), "calls_per_week")
	})
}

func TestKeysAndUsers(t *testing.T) {
	installations(t, func(t *testing.T, in installation) {
		f := in.found(t)
		id := in.identity(t)
		ws := f.WorkspaceID.String()

		var key struct {
			APIKey string    `json:"api_key"`
			KeyID  uuid.UUID `json:"key_id"`
		}
		out := in.run(t, "key", "create", "--workspace", ws, "--name", "Report", "--scope", "read", "--json")
		require.NoError(t, json.Unmarshal([]byte(out), &key))
		p, err := id.Authenticate(t.Context(), key.APIKey)
		require.NoError(t, err)
		require.Equal(t, []string{"read"}, p.Scopes)

		in.run(t, "key", "delete", key.KeyID.String())
		_, err = id.Authenticate(t.Context(), key.APIKey)
		require.True(t, fault.Is(err, "unauthorized"), "%v", err)
		_, err = id.Authenticate(t.Context(), f.APIKey)
		require.NoError(t, err)
		require.Contains(t, in.refused(t, "key", "delete", key.KeyID.String()), "no such api_key")
		require.Contains(t, in.refused(t, "key", "create", "--workspace", ws, "--scope", "root"), `--scope must be read, write, mcp, not "root"`)
		require.Contains(t, in.refused(t, "key", "create", "--workspace", uuid.NewString()), "no such workspace")

		var user struct {
			UserID uuid.UUID `json:"user_id"`
		}
		out = in.run(t, "user", "create", "--workspace", ws, "--email", "bo@example.com", "--role", "viewer", "--json")
		require.NoError(t, json.Unmarshal([]byte(out), &user))
		token := strings.TrimSpace(in.run(t, "user", "token", user.UserID.String(), "--life", "1h"))
		p, err = id.Authenticate(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, identity.Principal{WorkspaceID: f.WorkspaceID, UserID: &user.UserID, Role: "viewer"}, p)
		require.Contains(t, in.refused(t, "user", "create", "--workspace", ws, "--email", "bo@example.com"), "already")
		require.Contains(t, in.refused(t, "user", "token", user.UserID.String(), "--life", "2161h"), "90 days")
		require.Contains(t, in.refused(t, "user", "token", uuid.NewString()), "no such user")
		require.Contains(t, in.refused(t, "user", "token", "bo"), `"bo" is neither the id nor the email address of a user`)
		_, err = id.Authenticate(t.Context(), strings.TrimSpace(in.run(t, "user", "token", "Bo@example.com")))
		require.NoError(t, err, "the address will do")
	})
}

// Four replicas and an operator's command may all meet an empty database at once.
func TestManyCommandsOnAFreshInstallationAtOnce(t *testing.T) {
	installations(t, func(t *testing.T, in installation) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, errs, code := callwright(t, append([]string{"migrate"}, in.flags...)...); code != 0 {
					t.Error(errs)
				}
			})
		}
		wg.Wait()
		require.Contains(t, in.run(t, "migrate"), "up to date")
		in.found(t)
	})
}

func TestSettingsComeFromTheEnvironmentAndFlagsWin(t *testing.T) {
	env, flag := filepath.Join(t.TempDir(), "env"), filepath.Join(t.TempDir(), "flag")
	t.Setenv("CALLWRIGHT_DATA_DIR", env)
	t.Setenv("CALLWRIGHT_NAME", "not a setting")
	installation{}.run(t, "migrate")
	require.FileExists(t, filepath.Join(env, "callwright.db"))
	installation{}.run(t, "migrate", "--data-dir", flag)
	require.FileExists(t, filepath.Join(flag, "callwright.db"))
	require.Contains(t, installation{}.refused(t, "workspace", "create"), "--name")

	t.Setenv("CALLWRIGHT_DATABASE_URL", "mysql://localhost/x")
	require.Contains(t, installation{}.refused(t, "migrate"), "postgres://user:password@host")
}

func TestWhatIsWrongIsSaidInASentence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, make([]byte, 31), 0o600))
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a data directory that is a file": {[]string{"migrate", "--data-dir", file}, "choose another place with --data-dir"},
		"a key file of the wrong size":    {[]string{"migrate", "--data-dir", dir, "--secret-key-file", file}, "holds 31 bytes, not 32"},
		"a database that is not there": {
			[]string{"migrate", "--data-dir", dir, "--database-url", "postgres://nobody@127.0.0.1:1/x"}, "connection refused"},
		"a command that is not there": {[]string{"workspce"}, `did you mean "workspace"?`},
		"a flag that is not there":    {[]string{"serve", "--htp-addr", ":1"}, "unknown flag --htp-addr"},
		"a carrier that is not there": {[]string{"serve", "--data-dir", dir, "--carrier", "pigeon"}, "--carrier"},
		"a negative limit":            {[]string{"serve", "--data-dir", dir, "--rate-limit=-1"}, "--rate-limit must be 0 or more"},
		"a speed of nothing":          {[]string{"serve", "--data-dir", dir, "--sandbox-speed", "0"}, "--sandbox-speed"},
		"a public address without a scheme": {
			[]string{"serve", "--data-dir", dir, "--public-url", "calls.example.com"}, "https://calls.example.com"},
		"a provider without its client id": {
			[]string{"serve", "--data-dir", dir, "--oidc-issuer", "https://login.example.com"}, "--oidc-issuer needs --oidc-client-id"},
		"a provider that can not send people back": {
			[]string{"serve", "--data-dir", dir, "--oidc-issuer", "https://login.example.com", "--oidc-client-id", "x"}, "--oidc-issuer needs --public-url"},
		"a provider that is no address": {
			[]string{"serve", "--data-dir", dir, "--oidc-issuer", "login.example.com", "--oidc-client-id", "x"}, "https://accounts.google.com"},
		"no name": {[]string{"workspace", "create", "--data-dir", dir, "--name", " "}, "name must not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, installation{}.refused(t, c.args...), c.want)
		})
	}
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}} {
		out, _, code := callwright(t, args...)
		require.Zero(t, code)
		for _, command := range []string{"dev", "serve", "migrate", "workspace create", "workspace plan", "key create",
			"key delete", "user create", "user token", "version"} {
			require.Contains(t, out, "\n  "+command+" ")
		}
	}
	for _, args := range []string{"help serve", "help mcp setup", "help doctor", "dev --help", "key create --help"} {
		out, _, code := callwright(t, strings.Fields(args)...)
		require.Zero(t, code, args)
		require.Contains(t, out, "Usage: callwright ", args)
		require.NotContains(t, out, "($-)", args)
		require.NotContains(t, out, "%%", args)
	}
	out, _, code := callwright(t, "serve", "--help")
	require.Zero(t, code)
	for _, setting := range []string{"HTTP_ADDR", "GRPC_ADDR", "DATA_DIR", "DATABASE_URL", "PUBLIC_URL", "RATE_LIMIT",
		"SECRET_KEY_FILE", "CARRIER", "SANDBOX_SPEED", "LOG_LEVEL", "DRAIN_TIMEOUT", "GRPC_REFLECTION"} {
		require.Contains(t, out, "$CALLWRIGHT_"+setting)
		require.Contains(t, out, strings.ToLower(strings.ReplaceAll(setting, "_", "-")))
	}
	out, _, code = callwright(t, "version")
	require.Zero(t, code)
	require.Regexp(t, `^callwright \S+ \(go1`, out)
}
