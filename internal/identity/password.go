package identity

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"github.com/callwright/callwright/internal/fault"
)

// slow is how passwords are hashed: 19 MiB and about 50 ms (OWASP's first choice for argon2id).
var slow = &argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// nobody is a hash of no password. Who names an unknown address waits for it as long as for a real one.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

const (
	// hashers is how many passwords are hashed at once, hashQueue how many more may wait: memory and time that strangers
	// can take up are bounded.
	hashers   = 2
	hashQueue = 16

	minPassword = 10
	maxPassword = 128
)

// stove lets few hash at once.
type stove struct{ places, plates chan struct{} }

func newStove() stove {
	return stove{places: make(chan struct{}, hashers+hashQueue), plates: make(chan struct{}, hashers)}
}

var errBusy = &fault.Error{Kind: fault.TooMany, Code: "rate_limited", Message: "too many people sign in just now",
	RetryAfter: time.Second}

// cook runs f when there is a place for it; rate_limited when the queue is full.
func (s stove) cook(ctx context.Context, f func() error) error {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		return errBusy
	}
	select {
	case s.plates <- struct{}{}:
		defer func() { <-s.plates }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return f()
}

// checkPassword holds a new password against its bounds. There are no rules about characters (NIST SP 800-63B).
func checkPassword(password string) error {
	n := utf8.RuneCountInString(password)
	if !utf8.ValidString(password) || n < minPassword || n > maxPassword {
		return fault.Invalidf("password must have %d to %d characters", minPassword, maxPassword)
	}
	return nil
}

func (i *Identity) hashPassword(ctx context.Context, password string) (hash string, err error) {
	err = i.stove.cook(ctx, func() (err error) {
		hash, err = argon2id.CreateHash(password, slow)
		return err
	})
	return hash, err
}

// verify tells whether a password is that of the hash.
func (i *Identity) verify(ctx context.Context, password, hash string) (ok bool, err error) {
	if len(password) > 4*maxPassword {
		password = "" // nobody's; hashing a megabyte would take long
	}
	err = i.stove.cook(ctx, func() (err error) {
		ok, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("check a password: %w", err)
	}
	return ok && password != "", nil
}
