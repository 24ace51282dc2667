package identity_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// wrong is a well-formed code that nobody has.
func wrong(n int) string {
	const letters = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
	code := []byte("22222222")
	for k := range code {
		code[len(code)-1-k] = letters[n%len(letters)]
		n /= len(letters)
	}
	return string(code)
}

func TestWrongCodesAreLimitedForAPerson(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		owner := h.as(t, "owner")
		for n := range 5 {
			_, err := h.id.LookUpPairing(identity.WithOrigin(owner, fmt.Sprintf("192.0.2.%d", n)), wrong(n))
			require.True(t, fault.Is(err, "pairing_not_found"), "%v", err)
			h.clock.advance(time.Minute)
		}
		_, err := h.id.DecidePairing(identity.WithOrigin(owner, "192.0.2.9"), p.UserCode, true)
		require.True(t, fault.Is(err, "rate_limited"), "not even the right one: %v", err)
		require.Equal(t, 10*time.Minute, fault.From(err).RetryAfter)
		_, err = h.id.LookUpPairing(h.as(t, "owner"), p.UserCode)
		require.NoError(t, err, "another person")
		h.clock.advance(10*time.Minute - time.Microsecond)
		_, err = h.id.LookUpPairing(owner, p.UserCode)
		require.True(t, fault.Is(err, "rate_limited"), "%v", err)
		h.clock.advance(time.Microsecond)
		_, err = h.id.LookUpPairing(owner, wrong(9))
		require.True(t, fault.Is(err, "pairing_not_found"), "%v", err)
	})
}

func TestWrongCodesAreLimitedForAnAddress(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		at := func(address string) context.Context { return identity.WithOrigin(h.as(t, "owner"), address) }
		for n := range 10 {
			_, err := h.id.LookUpPairing(at("192.0.2.1"), wrong(n))
			require.True(t, fault.Is(err, "pairing_not_found"), "%v", err)
		}
		_, err := h.id.LookUpPairing(at("192.0.2.1"), p.UserCode)
		require.True(t, fault.Is(err, "rate_limited"), "%v", err)
		_, err = h.id.LookUpPairing(at("192.0.2.2"), p.UserCode)
		require.NoError(t, err)
	})
}

func TestWhatCanBeNoCodeAndRightCodesDoNotCount(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		owner := h.as(t, "owner")
		for _, typed := range []string{"", "-", "ABC", "OOOO-OOOO", "1111-1111", p.UserCode + "2", "%%%%-%%%%", "ÄÄÄÄ-ÄÄÄÄ"} {
			_, err := h.id.LookUpPairing(owner, typed)
			require.True(t, fault.Is(err, "pairing_not_found"), "%q: %v", typed, err)
		}
		for range 20 {
			_, err := h.id.LookUpPairing(owner, p.UserCode)
			require.NoError(t, err)
		}
	})
}

// A thousand tries at once by one person, over two processes, are still five guesses.
func TestManyGuessesAtOnceStayInBound(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		second := identity.New(identity.Config{DB: db, Now: h.clock.now})
		guesser := identity.WithOrigin(h.as(t, "owner"), "192.0.2.1")
		var mu sync.Mutex
		guesses := 0
		var all sync.WaitGroup
		for worker := range 8 {
			id := h.id
			if worker%2 == 0 {
				id = second
			}
			all.Go(func() {
				for n := range 12 {
					_, err := id.LookUpPairing(guesser, wrong(worker*100+n))
					if fault.Is(err, "pairing_not_found") {
						mu.Lock()
						guesses++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, guesses, 5)
	})
}

// Accounts at as many addresses guess as fast as they are let. They stay below 300 a minute and five each, and an owner
// with a right code gets through at the height of it.
func TestAnAttackOfManyStaysInBoundAndTheOwnerGetsThrough(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		var crowd []context.Context
		for n := range 75 {
			crowd = append(crowd, identity.WithOrigin(h.as(t, "member"), fmt.Sprintf("198.51.%d.%d", n/100, n%100)))
		}
		guesses := 0
		for minute := range 2 {
			inMinute := 0
			for round := range 5 {
				for n, guesser := range crowd {
					_, err := h.id.LookUpPairing(guesser, wrong(minute*1000+round*200+n))
					if fault.Is(err, "pairing_not_found") {
						inMinute++
					} else {
						require.True(t, fault.Is(err, "rate_limited"), "%v", err)
					}
				}
			}
			require.LessOrEqual(t, inMinute, 300)
			guesses += inMinute
			if minute == 0 {
				require.Equal(t, 300, inMinute, "the service-wide bound is reached")
				row, err := h.id.DecidePairing(identity.WithOrigin(h.as(t, "owner"), "203.0.113.5"), p.UserCode, true)
				require.NoError(t, err)
				require.Equal(t, "approved", row.State)
			}
			h.clock.advance(time.Minute + time.Microsecond)
		}
		require.Equal(t, 5*len(crowd), guesses, "what was refused did not count")
	})
}

func TestWhoMayDecide(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		for role, may := range map[string]bool{"owner": true, "admin": true, "member": true, "viewer": false} {
			p := h.start(t)
			ctx := h.as(t, role)
			_, err := h.id.LookUpPairing(ctx, p.UserCode)
			require.NoError(t, err)
			_, err = h.id.DecidePairing(ctx, p.UserCode, true)
			if may {
				require.NoError(t, err, role)
			} else {
				require.True(t, fault.Is(err, "forbidden"), "%s: %v", role, err)
			}
		}
		p := h.start(t)
		for name, ctx := range map[string]context.Context{"a key": h.bearer(t, h.Key.Secret), "nobody": t.Context()} {
			_, err := h.id.DecidePairing(ctx, p.UserCode, true)
			require.True(t, fault.Is(err, "forbidden"), "%s: %v", name, err)
			_, err = h.id.LookUpPairing(ctx, p.UserCode)
			require.True(t, fault.Is(err, "forbidden"), "%s: %v", name, err)
		}
	})
}
