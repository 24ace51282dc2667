// Package secret keeps values that must be read back (webhook header values, trunk and provider keys) sealed at rest,
// and makes the keys that the program signs with.
//
// Everything comes from one master key of 32 bytes in a file. It is never used itself: each purpose has its own key,
// drawn from it by HKDF-SHA-256. A sealed value is bound to the place it was stored at (workspace, table, row, column),
// so a value copied into another row, or a row into another workspace, does not open. Losing the file loses the sealed
// values and ends all user tokens; rows, recordings and API keys do not depend on it.
package secret

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// Size is the length of the master key in bytes.
const Size = 32

// Key is the master key. The zero Key is not usable. It prints and logs as "•••".
type Key struct{ b []byte }

func (Key) String() string       { return "•••" }
func (Key) GoString() string     { return "•••" }
func (Key) LogValue() slog.Value { return slog.StringValue("•••") }
func (k Key) derive(purpose string) []byte {
	if len(k.b) != Size {
		panic("secret: use of the zero Key")
	}
	b, err := hkdf.Key(sha256.New, k.b, nil, "callwright "+purpose, Size)
	if err != nil {
		panic("secret: " + err.Error()) // only for lengths that HKDF can not give
	}
	return b
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return len(k.b) == 0 }

// NewKey returns a fresh master key.
func NewKey() Key {
	b := make([]byte, Size)
	rand.Read(b) // never fails: crypto/rand
	return Key{b}
}

// Signing returns the Ed25519 key of a purpose; the same master key always gives the same one.
func (k Key) Signing(purpose string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(k.derive("sign " + purpose))
}

// ReadFile returns the master key in the file. A file that is absent is created with a fresh key, readable by its owner
// only; of several processes that do so at once, one wins and all return its key.
func ReadFile(path string) (Key, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return Key{}, fmt.Errorf("create the secret key file: %w", err)
		}
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read the secret key file: %w", err)
	}
	if len(b) != Size {
		return Key{}, fmt.Errorf("secret key file %s holds %d bytes, not %d: put the right file back, or remove it to "+
			"start with a new key (sealed values and user tokens of the old one are then lost)", path, len(b), Size)
	}
	return Key{b}, nil
}

// create writes the key beside its place and links it there: the name appears with all its bytes or not at all, so
// another process never reads half a key, and a crash leaves none behind.
func create(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // O_EXCL, 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(NewKey().b); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
