package identity_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/ent/apikey"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func (h house) start(t testing.TB) identity.Started {
	t.Helper()
	p, err := h.id.StartPairing(t.Context(), "Claude", nil)
	require.NoError(t, err)
	return p
}

func (h house) approve(t testing.TB, p identity.Started) {
	t.Helper()
	_, err := h.id.DecidePairing(h.as(t, "owner"), p.UserCode, true)
	require.NoError(t, err)
}

func (h house) poll(t testing.TB, p identity.Started) (identity.Poll, error) {
	t.Helper()
	return h.id.PollPairing(t.Context(), p.DeviceCode)
}

// live are the keys of the workspace that came by pairing.
func (h house) live(t testing.TB) int {
	t.Helper()
	return h.db.Ent().APIKey.Query().Where(apikey.Source("pairing")).CountX(store.System(t.Context()))
}

func TestAPairingStarts(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db, func(c *identity.Config) { c.PublicURL = "https://calls.example.com" })
		p, err := h.id.StartPairing(t.Context(), "Claude", json.RawMessage(`{"first_name":"Ana"}`))
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile(`^[2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4}$`), p.UserCode)
		device, err := base64.RawURLEncoding.DecodeString(p.DeviceCode)
		require.NoError(t, err)
		require.Len(t, device, 32)
		require.Equal(t, "https://calls.example.com/pair", p.VerificationURL)
		require.Equal(t, "https://calls.example.com/pair?code="+p.UserCode+"#first_name=Ana", p.VerificationURLComplete)
		require.Equal(t, 900, p.ExpiresIn)
		require.Equal(t, 5, p.Interval)

		p, err = h.id.StartPairing(t.Context(), "", nil)
		require.NoError(t, err)
		require.Equal(t, "https://calls.example.com/pair?code="+p.UserCode, p.VerificationURLComplete, "no prefill, no fragment")
		_, err = h.id.StartPairing(t.Context(), strings.Repeat("é", 64), nil)
		require.NoError(t, err)
		_, err = h.id.StartPairing(t.Context(), strings.Repeat("x", 65), nil)
		require.True(t, fault.Is(err, "validation_failed"), "%v", err)
	})
}

func TestCodesUseTheirWholeAlphabetEvenly(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		seen := map[rune]int{}
		for range 200 {
			for _, r := range strings.ReplaceAll(h.start(t).UserCode, "-", "") {
				seen[r]++
			}
		}
		require.Len(t, seen, 30)
		for r, n := range seen {
			require.NotContains(t, "OIL U01", string(r))
			require.Less(t, n, 120, "%c is drawn too often", r) // 53 expected
		}
	})
}

func TestAPairingIsApprovedAndClaimedOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		got, err := h.poll(t, p)
		require.NoError(t, err)
		require.Equal(t, identity.Poll{State: "pending", ExpiresIn: 900, Interval: 5}, got)
		h.clock.advance(5 * time.Second)

		owner := h.as(t, "member")
		typed := " " + strings.ToLower(strings.ReplaceAll(p.UserCode, "-", " ")) + " "
		asked, err := h.id.LookUpPairing(owner, typed)
		require.NoError(t, err)
		require.Equal(t, "Claude", asked.ClientName)
		require.Equal(t, "pending", asked.State)
		require.Equal(t, p.UserCode, identity.ShowCode(asked))
		row, err := h.id.DecidePairing(owner, typed, true)
		require.NoError(t, err)
		require.Equal(t, "approved", row.State)
		require.Zero(t, h.live(t), "no key is made before it is claimed")

		got, err = h.poll(t, p)
		require.NoError(t, err)
		require.Equal(t, "completed", got.State)
		require.Equal(t, h.Workspace.ID, got.Workspace.ID)
		require.Equal(t, []string{"/", "/mcp"}, []string{got.BaseURL, got.MCPURL})
		require.Equal(t, "Claude", got.Key.Row.Name)
		require.Equal(t, "pairing", got.Key.Row.Source)
		caller, err := h.id.Authenticate(t.Context(), got.Key.Secret)
		require.NoError(t, err)
		require.Equal(t, h.Workspace.ID, caller.WorkspaceID)
		require.Equal(t, identity.KeyScopes, caller.Scopes)

		_, err = h.poll(t, p)
		require.True(t, fault.Is(err, "pairing_already_claimed"), "%v", err)
		require.Equal(t, fault.Gone, fault.From(err).Kind)
		_, err = h.id.DecidePairing(owner, p.UserCode, true)
		require.True(t, fault.Is(err, "pairing_decided"), "%v", err)
		require.Equal(t, []string{"key_created", "pairing_approved", "pairing_claimed"}, h.actions(t))
	})
}

func TestALostAnswerIsGivenAgainUntilTheKeyIsUsed(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		h.approve(t, p)
		first, err := h.poll(t, p)
		require.NoError(t, err)
		h.clock.advance(119 * time.Second)
		second, err := h.poll(t, p)
		require.NoError(t, err)
		require.NotEqual(t, first.Key.Secret, second.Key.Secret)
		require.Equal(t, 1, h.live(t))
		_, err = h.id.Authenticate(t.Context(), first.Key.Secret)
		requireUnauthorized(t, err)

		h.clock.advance(time.Second)
		third, err := h.poll(t, p)
		require.NoError(t, err, "120 s after the first claim")
		h.clock.advance(time.Microsecond)
		_, err = h.poll(t, p)
		require.True(t, fault.Is(err, "pairing_already_claimed"), "the time counts from the first claim: %v", err)
		_, err = h.id.Authenticate(t.Context(), third.Key.Secret)
		require.NoError(t, err)
	})
}

func TestManyClaimsAtOnceLeaveOneLiveKey(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		h.approve(t, p)
		keys := make(chan string, 16)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				got, err := h.id.PollPairing(t.Context(), p.DeviceCode)
				if err == nil {
					keys <- got.Key.Secret
				}
			})
		}
		all.Wait()
		close(keys)
		require.Equal(t, 1, h.live(t))
		var accepted int
		for key := range keys {
			if _, err := h.id.Authenticate(t.Context(), key); err == nil {
				accepted++
			}
		}
		require.Equal(t, 1, accepted)
	})
}

func TestOneOfManyDecisionsCounts(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		var decided atomic.Int32
		var all sync.WaitGroup
		for n := range 8 {
			owner := h.as(t, "owner")
			all.Go(func() {
				if _, err := h.id.DecidePairing(owner, p.UserCode, n%2 == 0); err == nil {
					decided.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, decided.Load())
	})
}

func TestAPairingIsDenied(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		row, err := h.id.DecidePairing(h.as(t, "owner"), p.UserCode, false)
		require.NoError(t, err)
		require.Equal(t, "denied", row.State)
		require.Nil(t, row.WorkspaceID)
		got, err := h.poll(t, p)
		require.NoError(t, err)
		require.Equal(t, identity.Poll{State: "denied"}, got)
		_, err = h.id.DecidePairing(h.as(t, "owner"), p.UserCode, true)
		require.True(t, fault.Is(err, "pairing_decided"), "%v", err)
	})
}

func TestACodeExpires(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		pending, approved := h.start(t), h.start(t)
		h.clock.advance(15*time.Minute - time.Microsecond)
		h.approve(t, approved)
		got, err := h.poll(t, pending)
		require.NoError(t, err)
		require.Equal(t, identity.Poll{State: "pending", ExpiresIn: 1, Interval: 5}, got)
		h.clock.advance(time.Microsecond)
		_, err = h.id.DecidePairing(h.as(t, "owner"), pending.UserCode, true)
		require.True(t, fault.Is(err, "pairing_expired"), "%v", err)
		for _, p := range []identity.Started{pending, approved} {
			got, err = h.poll(t, p)
			require.NoError(t, err)
			require.Equal(t, identity.Poll{State: "expired"}, got)
			asked, err := h.id.LookUpPairing(h.as(t, "owner"), p.UserCode)
			require.NoError(t, err)
			require.Equal(t, "expired", asked.State)
		}
		h.clock.advance(24*time.Hour - time.Microsecond)
		h.id.Sweep(t.Context())
		_, err = h.poll(t, pending)
		require.NoError(t, err, "for 24 hours")
		h.clock.advance(time.Microsecond)
		_, err = h.poll(t, pending)
		require.True(t, fault.Is(err, "pairing_not_found"), "%v", err)
		h.clock.advance(time.Microsecond)
		h.id.Sweep(t.Context())
		require.Zero(t, db.Ent().Pairing.Query().CountX(store.System(t.Context())), "then nothing of it is left")
		require.Zero(t, h.live(t))
	})
}

func TestAnApprovalDoesNotOutliveTheMembershipOfItsGiver(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		for name, change := range map[string]func(t *testing.T, h house, owner, member context.Context, p identity.Principal){
			"removed": func(t *testing.T, h house, owner, _ context.Context, p identity.Principal) {
				require.NoError(t, h.id.RemoveMember(owner, *p.UserID))
			},
			"demoted to a viewer": func(t *testing.T, h house, owner, _ context.Context, p identity.Principal) {
				_, err := h.id.ChangeRole(owner, *p.UserID, "viewer")
				require.NoError(t, err)
			},
		} {
			t.Run(name, func(t *testing.T) {
				h := open(t, db)
				p := h.start(t)
				member := h.as(t, "member")
				_, err := h.id.DecidePairing(member, p.UserCode, true)
				require.NoError(t, err)
				who, _ := identity.From(member)
				change(t, h, h.as(t, "owner"), member, who)
				got, err := h.poll(t, p)
				require.NoError(t, err)
				require.Equal(t, identity.Poll{State: "expired"}, got)
			})
		}
	})
}

func TestPollsThatComeTooFastSlowDownAndStaySlow(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		_, err := h.poll(t, p)
		require.NoError(t, err)
		h.clock.advance(4 * time.Second)
		_, err = h.poll(t, p)
		require.NoError(t, err, "a second of grace")
		for _, want := range []int{10, 15, 20, 25, 30, 30, 30} {
			h.clock.advance(4*time.Second - time.Microsecond)
			_, err = h.poll(t, p)
			require.True(t, fault.Is(err, "slow_down"), "%v", err)
			f := fault.From(err)
			require.Equal(t, fault.TooMany, f.Kind)
			require.Equal(t, map[string]any{"interval": want}, f.Details)
			require.Equal(t, time.Duration(want)*time.Second, f.RetryAfter)
		}
		h.clock.advance(30 * time.Second)
		got, err := h.poll(t, p)
		require.NoError(t, err)
		require.Equal(t, 30, got.Interval, "it stays")
		h.clock.advance(28 * time.Second)
		_, err = h.poll(t, p)
		require.True(t, fault.Is(err, "slow_down"), "%v", err)
		h.approve(t, p)
		got, err = h.poll(t, p)
		require.NoError(t, err, "an answer that ends the polling is not held back")
		require.Equal(t, "completed", got.State)
	})
}

func TestAnUnknownDeviceCodeIsNotFound(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		p := h.start(t)
		for _, code := range []string{"x", p.UserCode, p.DeviceCode + "A", strings.ToLower(p.DeviceCode) + " ", strings.Repeat("A", 43)} {
			_, err := h.id.PollPairing(t.Context(), code)
			require.True(t, fault.Is(err, "pairing_not_found"), "%v", err)
		}
		_, err := h.id.PollPairing(t.Context(), "")
		require.True(t, fault.Is(err, "validation_failed"), "%v", err)
	})
}

func TestStartsAreLimitedForEachAddress(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db, func(c *identity.Config) { c.PairingStarts = 10 })
		here := identity.WithOrigin(t.Context(), "2001:db8::1")
		for range 10 {
			_, err := h.id.StartPairing(here, "", nil)
			require.NoError(t, err)
			h.clock.advance(time.Second)
		}
		neighbour := identity.WithOrigin(t.Context(), "2001:db8::ffff:0:2") // one customer has the whole /64
		_, err := h.id.StartPairing(neighbour, "", nil)
		require.True(t, fault.Is(err, "rate_limited"), "%v", err)
		require.Equal(t, 9*time.Minute+50*time.Second, fault.From(err).RetryAfter)
		_, err = h.id.StartPairing(identity.WithOrigin(t.Context(), "192.0.2.7"), "", nil)
		require.NoError(t, err, "another address")
		h.clock.advance(9*time.Minute + 50*time.Second)
		_, err = h.id.StartPairing(here, "", nil)
		require.NoError(t, err, "who waits as long as told gets in")
		_, err = h.id.StartPairing(here, "", nil)
		require.True(t, fault.Is(err, "rate_limited"), "%v", err)
	})
}

// model says a second time, in plain words, how a pairing behaves.
type model struct {
	state              string
	age, claimed       time.Duration // of the pairing, at the claim
	polled             time.Duration
	interval           int
	everPolled, unused bool
}

func (m *model) poll() string {
	if m.age >= 15*time.Minute+24*time.Hour {
		return "pairing_not_found"
	}
	if (m.state == "pending" || m.state == "approved") && m.age >= 15*time.Minute {
		m.state = "expired"
	}
	switch m.state {
	case "pending":
		fast := m.everPolled && m.age-m.polled < time.Duration(m.interval-1)*time.Second
		m.everPolled, m.polled = true, m.age
		if fast {
			m.interval = min(30, m.interval+5)
			return "slow_down"
		}
	case "approved":
		m.state, m.claimed, m.unused = "completed", m.age, true
	case "completed":
		if m.age-m.claimed > 2*time.Minute || !m.unused {
			return "pairing_already_claimed"
		}
	}
	return m.state
}

func (m *model) decide(to string) string {
	switch {
	case m.age >= 15*time.Minute+24*time.Hour:
		return "pairing_not_found"
	case m.state == "expired", m.age >= 15*time.Minute && (m.state == "pending" || m.state == "approved"):
		return "pairing_expired"
	case m.state != "pending":
		return "pairing_decided"
	}
	m.state = to
	return to
}

func outcome(state string, err error) string {
	if err != nil {
		return fault.From(err).Code
	}
	return state
}

func TestAPairingBehavesLikeItsModel(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		places := 0
		rapid.Check(t, func(rt *rapid.T) {
			before := h.live(t)
			p := h.start(t)
			m := &model{state: "pending", interval: 5}
			var key string
			decide := func(rt *rapid.T, approve bool, to string) {
				places++ // codes that are gone count as wrong ones
				from := identity.WithOrigin(h.as(t, "owner"), netip.AddrFrom4([4]byte{10, byte(places >> 16), byte(places >> 8), byte(places)}).String())
				row, err := h.id.DecidePairing(from, p.UserCode, approve)
				state := ""
				if err == nil {
					state = row.State
				}
				require.Equal(rt, m.decide(to), outcome(state, err))
			}
			rt.Repeat(map[string]func(*rapid.T){
				"poll": func(rt *rapid.T) {
					got, err := h.poll(t, p)
					require.Equal(rt, m.poll(), outcome(got.State, err))
					if got.State == "pending" {
						require.Equal(rt, m.interval, got.Interval)
					}
					if got.State == "completed" {
						key = got.Key.Secret
					}
				},
				"approve": func(rt *rapid.T) { decide(rt, true, "approved") },
				"deny":    func(rt *rapid.T) { decide(rt, false, "denied") },
				"use the key": func(rt *rapid.T) {
					if key != "" {
						_, err := h.id.Authenticate(t.Context(), key)
						require.NoError(rt, err)
						m.unused = false
					}
				},
				"wait": func(rt *rapid.T) {
					d := rapid.SampledFrom([]time.Duration{
						time.Second, 4 * time.Second, 5 * time.Second, 29 * time.Second, 30 * time.Second, time.Minute,
						2 * time.Minute, 14 * time.Minute, 24 * time.Hour,
					}).Draw(rt, "for")
					h.clock.advance(d)
					m.age += d
				},
				"": func(rt *rapid.T) {
					live := h.live(t) - before
					require.LessOrEqual(rt, live, 1, "never two live keys")
					require.Equal(rt, m.state == "completed", live == 1)
				},
			})
		})
	})
}
