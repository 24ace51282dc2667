package secret_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/secret"
)

func place() secret.Place {
	return secret.Place{Workspace: uuid.New(), Table: "actions", Row: uuid.New(), Column: "headers"}
}

func TestASealedValueOpensAtItsPlaceOnly(t *testing.T) {
	key, at := secret.NewKey(), place()
	sealed := key.Seal([]byte("Bearer abc"), at)
	require.NotContains(t, string(sealed), "Bearer")

	plain, err := key.Open(sealed, at)
	require.NoError(t, err)
	require.Equal(t, "Bearer abc", string(plain))

	for name, other := range map[string]func(p *secret.Place){
		"another workspace":  func(p *secret.Place) { p.Workspace = uuid.New() },
		"another table":      func(p *secret.Place) { p.Table = "trunks" },
		"another row":        func(p *secret.Place) { p.Row = uuid.New() },
		"another column":     func(p *secret.Place) { p.Column = "url" },
		"names run together": func(p *secret.Place) { p.Table, p.Column = "action", "sheaders" },
	} {
		t.Run(name, func(t *testing.T) {
			p := at
			other(&p)
			_, err := key.Open(sealed, p)
			require.ErrorIs(t, err, secret.ErrSealed)
		})
	}
	_, err = secret.NewKey().Open(sealed, at)
	require.ErrorIs(t, err, secret.ErrSealed, "another master key")
}

func TestAChangedValueDoesNotOpen(t *testing.T) {
	key, at := secret.NewKey(), place()
	sealed := key.Seal([]byte("x"), at)
	for i := range sealed {
		broken := bytes.Clone(sealed)
		broken[i] ^= 1
		_, err := key.Open(broken, at)
		require.ErrorIs(t, err, secret.ErrSealed, "byte %d", i)
		_, err = key.Open(sealed[:i], at)
		require.ErrorIs(t, err, secret.ErrSealed, "cut at %d", i)
	}
}

func TestEqualValuesSealDifferently(t *testing.T) {
	key, at := secret.NewKey(), place()
	require.NotEqual(t, key.Seal([]byte("x"), at), key.Seal([]byte("x"), at))
}

func TestSigningKeysAreStableAndApart(t *testing.T) {
	key := secret.NewKey()
	require.Equal(t, key.Signing("user token"), key.Signing("user token"))
	require.NotEqual(t, key.Signing("user token"), key.Signing("cookie"))
	require.NotEqual(t, key.Signing("user token"), secret.NewKey().Signing("user token"))
}

func TestTheKeyDoesNotPrint(t *testing.T) {
	key := secret.NewKey()
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, "•••", fmt.Sprintf(format, key), format)
	}
	require.Equal(t, "•••", key.LogValue().String())
}

func TestAnAbsentFileIsMadeOnceByManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	keys := make([]secret.Key, 32)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			keys[i], err = secret.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	at := place()
	sealed := keys[0].Seal([]byte("x"), at)
	for _, k := range keys {
		_, err := k.Open(sealed, at)
		require.NoError(t, err)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.EqualValues(t, secret.Size, info.Size())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing else stays behind")
}

func TestABadFileIsALoudError(t *testing.T) {
	dir := t.TempDir()
	short := filepath.Join(dir, "short")
	require.NoError(t, os.WriteFile(short, make([]byte, 31), 0o600))
	_, err := secret.ReadFile(short)
	require.ErrorContains(t, err, "holds 31 bytes, not 32")

	before, err := os.ReadFile(short)
	require.NoError(t, err)
	require.Len(t, before, 31, "a wrong file is never overwritten")

	_, err = secret.ReadFile(dir)
	require.ErrorContains(t, err, "read the secret key file")
	_, err = secret.ReadFile(filepath.Join(dir, "absent", "key"))
	require.ErrorContains(t, err, "create the secret key file")
}
