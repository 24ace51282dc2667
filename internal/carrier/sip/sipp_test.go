package sip_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// called starts a scenario that is called, and a line with it as its trunk.
func called(t *testing.T, scenario string, change func(*sip.Config), args ...string) (*line, *siptest.Sipp) {
	t.Helper()
	t.Parallel()
	peer := siptest.StartSipp(t, "testdata/"+scenario+".xml", "", args...)
	return open(t, change, trunkAt(peer.Port)), peer
}

// calling opens a line and starts a scenario that calls it.
func calling(t *testing.T, scenario string, change func(*line), args ...string) (*line, *siptest.Sipp) {
	t.Helper()
	t.Parallel()
	port := siptest.FreePort(t)
	l := open(t, nil, trunkAt(port))
	if change != nil {
		change(l)
	}
	return l, siptest.StartSippAt(t, port, "testdata/"+scenario+".xml", l.addr(), append(args, "-s", "+15005550100")...)
}

func TestAnAnswerMakesALegThatWeHangUp(t *testing.T) {
	l, peer := called(t, "uas_answer", nil)
	var heard []carrier.Progress
	leg, e := l.dial(10*time.Second, func(p carrier.Progress) { heard = append(heard, p) })
	require.Nil(t, e)
	require.Equal(t, []carrier.Progress{carrier.ProgressRinging}, heard)
	info := leg.Info()
	require.Equal(t, carrier.Outbound, info.Direction)
	require.Equal(t, "PCMU", info.Codec)
	require.EqualValues(t, 1, info.Speed)
	require.False(t, info.Elastic)
	require.NotEmpty(t, info.State)
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
	require.Equal(t, carrier.ReasonAgentHangup, ended(t, leg).Reason)
	peer.Wait()
}

func TestTheOtherSideHangsUp(t *testing.T) {
	l, peer := called(t, "uas_hangup", nil)
	e := ended(t, l.must())
	require.Equal(t, carrier.ReasonHangup, e.Reason)
	require.Equal(t, carrier.ClassSuccess, e.Class)
	peer.Wait()
}

func TestEarlySoundIsNoAnswer(t *testing.T) {
	l, peer := called(t, "uas_early", nil)
	var heard []carrier.Progress
	leg, e := l.dial(10*time.Second, func(p carrier.Progress) { heard = append(heard, p) })
	require.Nil(t, e)
	require.Equal(t, []carrier.Progress{carrier.ProgressEarlyMedia}, heard)
	require.Equal(t, "PCMU", leg.Info().Codec, "the description came with the early sound")
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
	peer.Wait()
}

// refusing starts a peer that refuses calls with a status line; sipp takes that from its file only.
func refusing(t *testing.T, line string, retry time.Duration) *siptest.Sipp {
	t.Helper()
	text, err := os.ReadFile("testdata/uas_refuse.xml")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "uas_refuse.xml")
	require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte("500 Refused"), []byte(line), 1), 0o600))
	return siptest.StartSipp(t, path, "", "-key", "retry", fmt.Sprint(int(retry.Seconds())))
}

func TestWhatARefusalMeans(t *testing.T) {
	for _, c := range []struct {
		line, reason string
		retry        time.Duration
	}{
		{"486 Busy Here", carrier.ReasonBusy, 0},
		{"600 Busy Everywhere", carrier.ReasonBusy, 0},
		{"603 Decline", carrier.ReasonDeclined, 0},
		{"408 Request Timeout", carrier.ReasonNoAnswer, 0},
		{"480 Temporarily Unavailable", carrier.ReasonNoAnswer, 0},
		{"404 Not Found", carrier.ReasonInvalidNumber, 0},
		{"484 Address Incomplete", carrier.ReasonInvalidNumber, 0},
		{"403 Forbidden", carrier.ReasonTrunkRejected, 0},
		{"488 Not Acceptable Here", carrier.ReasonCodec, 0},
		{"503 Service Unavailable", carrier.ReasonCarrierError, 90 * time.Second},
		{"302 Moved Temporarily", carrier.ReasonCarrierError, 0},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			peer := refusing(t, c.line, c.retry)
			l := open(t, nil, trunkAt(peer.Port))
			leg, e := l.dial(10*time.Second, nil)
			require.Nil(t, leg)
			require.Equal(t, c.reason, e.Reason)
			require.Equal(t, c.line[:3], fmt.Sprint(e.Code))
			require.Equal(t, c.retry, e.RetryAfter)
			require.NotEmpty(t, e.Message)
			peer.Wait()
		})
	}
}

func TestNobodyAnswersAndTheCallIsTakenBack(t *testing.T) {
	l, peer := called(t, "uas_ring", nil)
	_, e := l.dial(500*time.Millisecond, nil)
	require.Equal(t, carrier.ReasonNoAnswer, e.Reason)
	peer.Wait()
}

func TestACanceledCallIsTakenBack(t *testing.T) {
	l, peer := called(t, "uas_ring", nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := l.Dial(ctx, carrier.Request{CallID: "canceled", From: "+15005550100", To: "+15005550199"}, func(carrier.Progress) { cancel() })
	require.Equal(t, carrier.ReasonCanceled, carrier.EndedOf(err).Reason)
	peer.Wait()
}

func TestAnAnswerThatCrossesTheCancelIsHungUp(t *testing.T) {
	l, peer := called(t, "uas_race", nil)
	_, e := l.dial(500*time.Millisecond, nil)
	require.Equal(t, carrier.ReasonNoAnswer, e.Reason)
	peer.Wait()
}

func TestCredentials(t *testing.T) {
	for _, code := range []string{"401", "407"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			peer := siptest.StartSipp(t, "testdata/uas_"+code+".xml", "")
			l := open(t, nil, fmt.Sprintf("sip://alice:secret@127.0.0.1:%d?from=%%2B15005550100&register=no", peer.Port))
			require.NoError(t, l.must().Hangup(t.Context(), carrier.CauseNormal))
			peer.Wait()
		})
	}
	t.Run("none", func(t *testing.T) {
		l, _ := called(t, "uas_407", nil)
		_, e := l.dial(10*time.Second, nil)
		require.Equal(t, carrier.ReasonTrunkRejected, e.Reason)
	})
}

func TestHoldAndResume(t *testing.T) {
	l, peer := called(t, "uas_hold", nil)
	leg := l.must()
	event(t, leg, carrier.EventHold)
	event(t, leg, carrier.EventResume)
	require.Equal(t, carrier.ReasonHangup, ended(t, leg).Reason)
	peer.Wait()
}

func TestChangesOfACallInProgress(t *testing.T) {
	for _, scenario := range []string{"uas_update", "uas_late_reinvite", "uas_bad_reinvite"} {
		t.Run(scenario, func(t *testing.T) {
			l, peer := called(t, scenario, nil)
			require.Equal(t, carrier.ReasonHangup, ended(t, l.must()).Reason)
			peer.Wait()
		})
	}
}

func TestDigitsAsINFO(t *testing.T) {
	t.Run("come in", func(t *testing.T) {
		l, peer := called(t, "uas_info", nil)
		leg := l.must()
		require.Equal(t, "5", event(t, leg, carrier.EventDigits).Digits)
		require.Equal(t, "#", event(t, leg, carrier.EventDigits).Digits)
		require.Equal(t, carrier.ReasonHangup, ended(t, leg).Reason)
		peer.Wait()
	})
	t.Run("go out", func(t *testing.T) {
		t.Parallel()
		peer := siptest.StartSipp(t, "testdata/uas_takes_info.xml", "")
		l := open(t, nil, trunkAt(peer.Port, "dtmf=info"))
		leg := l.must()
		require.NoError(t, leg.SendDigits(t.Context(), "1w#"))
		require.Error(t, leg.SendDigits(t.Context(), "x"))
		require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
		peer.Wait()
	})
}

func TestAnswersThatComeAgain(t *testing.T) {
	for _, scenario := range []string{"uas_duplicate", "uas_forked"} {
		t.Run(scenario, func(t *testing.T) {
			l, peer := called(t, scenario, nil, "-nr") // it takes an ACK that comes again for a loop
			leg := l.must()
			require.Eventually(t, func() bool { return l.Active() == 1 }, time.Second, 10*time.Millisecond)
			time.AfterFunc(500*time.Millisecond, func() { _ = leg.Hangup(context.Background(), carrier.CauseNormal) })
			require.Equal(t, carrier.ReasonAgentHangup, ended(t, leg).Reason)
			peer.Wait()
		})
	}
}

func TestRequestsFollowTheRoute(t *testing.T) {
	for _, scenario := range []string{"uas_routes", "uas_strict"} {
		t.Run(scenario, func(t *testing.T) {
			l, peer := called(t, scenario, nil)
			require.NoError(t, l.must().Hangup(t.Context(), carrier.CauseNormal))
			peer.Wait()
		})
	}
}

func TestTheByeIsChallengedToo(t *testing.T) {
	t.Parallel()
	peer := siptest.StartSipp(t, "testdata/uas_bye_challenge.xml", "")
	l := open(t, nil, fmt.Sprintf("sip://alice:secret@127.0.0.1:%d?from=%%2B15005550100&register=no", peer.Port))
	require.NoError(t, l.must().Hangup(t.Context(), carrier.CauseNormal))
	peer.Wait()
}

func TestTransfer(t *testing.T) {
	t.Run("succeeds", func(t *testing.T) {
		l, peer := called(t, "uas_refer", nil)
		leg := l.must()
		require.NoError(t, leg.Transfer(t.Context(), "+15005550177"))
		require.Equal(t, carrier.ReasonTransferred, ended(t, leg).Reason)
		peer.Wait()
	})
	t.Run("fails, and the call goes on", func(t *testing.T) {
		l, peer := called(t, "uas_refer_fails", nil)
		leg := l.must()
		require.ErrorContains(t, leg.Transfer(t.Context(), "+15005550177"), "486")
		require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
		require.Equal(t, carrier.ReasonAgentHangup, ended(t, leg).Reason)
		peer.Wait()
	})
	t.Run("needs a target", func(t *testing.T) {
		l, _ := called(t, "uas_answer", nil)
		require.Error(t, l.must().Transfer(t.Context(), "nobody"))
	})
}

func TestSessionTimers(t *testing.T) {
	short := func(c *sip.Config) { c.SessionExpires, c.MinSession = 2*time.Second, 2*time.Second }
	t.Run("the other side wants a longer one", func(t *testing.T) {
		l, peer := called(t, "uas_min_se", nil)
		require.NoError(t, l.must().Hangup(t.Context(), carrier.CauseNormal))
		peer.Wait()
	})
	t.Run("we give signs of life", func(t *testing.T) {
		l, peer := called(t, "uas_refreshed", short)
		leg := l.must()
		time.AfterFunc(2500*time.Millisecond, func() { _ = leg.Hangup(context.Background(), carrier.CauseNormal) })
		require.Equal(t, carrier.ReasonAgentHangup, ended(t, leg).Reason)
		peer.Wait()
	})
	t.Run("we give one by re-INVITE", func(t *testing.T) {
		l, peer := called(t, "uas_refreshed_invite", short)
		leg := l.must()
		time.AfterFunc(1800*time.Millisecond, func() { _ = leg.Hangup(context.Background(), carrier.CauseNormal) })
		require.Equal(t, carrier.ReasonAgentHangup, ended(t, leg).Reason)
		peer.Wait()
	})
	t.Run("the other side is gone", func(t *testing.T) {
		l, peer := called(t, "uas_gone", short)
		require.Equal(t, carrier.ReasonCarrierError, ended(t, l.must()).Reason)
		peer.Wait()
	})
}

func TestACallThatTheOtherSideForgotIsOver(t *testing.T) {
	t.Parallel()
	peer := siptest.StartSipp(t, "testdata/uas_forgets.xml", "")
	l := open(t, nil, trunkAt(peer.Port, "dtmf=info"))
	leg := l.must()
	require.Error(t, leg.SendDigits(t.Context(), "1"))
	require.Equal(t, carrier.ReasonCarrierError, ended(t, leg).Reason)
	require.Eventually(t, func() bool { return l.Active() == 0 }, 5*time.Second, 10*time.Millisecond)
	peer.Wait()
}

func TestAnAnswerThatCanNotBeUsedIsHungUp(t *testing.T) {
	l, peer := called(t, "uas_no_codec", nil)
	_, e := l.dial(10*time.Second, nil)
	require.Equal(t, carrier.ReasonCodec, e.Reason)
	peer.Wait()
	require.Eventually(t, func() bool { return l.Active() == 0 }, 5*time.Second, 10*time.Millisecond)
}

func TestTheNextTrunkIsTried(t *testing.T) {
	t.Parallel()
	dead := siptest.FreePort(t)
	busy := refusing(t, "503 Service Unavailable", 30*time.Second)
	good := siptest.StartSipp(t, "testdata/uas_answer.xml", "")
	l := open(t, func(c *sip.Config) { c.Silence = 700 * time.Millisecond },
		trunkAt(dead, "name=dead"), trunkAt(busy.Port, "name=busy"), trunkAt(good.Port, "name=good"))
	require.NoError(t, l.must().Hangup(t.Context(), carrier.CauseNormal))
	busy.Wait()
	good.Wait()
}

func TestATrunkThatIsSilentIsNoAnswerOfAnybody(t *testing.T) {
	t.Parallel()
	l := open(t, func(c *sip.Config) { c.Silence = 300 * time.Millisecond }, trunkAt(siptest.FreePort(t)))
	_, e := l.dial(10*time.Second, nil)
	require.Equal(t, carrier.ReasonCarrierError, e.Reason)
	require.Equal(t, carrier.ClassUpstream, e.Class)
}

func TestInboundCalls(t *testing.T) {
	for _, c := range []struct{ scenario, reason, codec string }{
		{"uac_call", carrier.ReasonHangup, "PCMU"},
		{"uac_video", carrier.ReasonHangup, "PCMU"},
		{"uac_late", carrier.ReasonHangup, "PCMA"},
		{"uac_lost_ack", carrier.ReasonHangup, "PCMU"},
		{"uac_timer", carrier.ReasonHangup, "PCMU"},
		{"uac_refer", carrier.ReasonHangup, "PCMU"},
		{"uac_old_hold", carrier.ReasonHangup, "PCMU"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			l, peer := calling(t, c.scenario, nil, map[bool][]string{true: {"-nr"}}[c.scenario == "uac_lost_ack"]...)
			offer := next(t, l.offers)
			require.Equal(t, "+15005550100", offer.To)
			require.Equal(t, "+15005550123", offer.From)
			leg := next(t, l.legs)
			require.Equal(t, offer.ID, leg.Info().ID)
			require.Equal(t, carrier.Inbound, leg.Info().Direction)
			require.Equal(t, c.codec, leg.Info().Codec)
			require.Equal(t, c.reason, endOf(t, leg).Reason)
			peer.Wait()
			require.Eventually(t, func() bool { return l.Active() == 0 }, 5*time.Second, 10*time.Millisecond)
		})
	}
	t.Run("we hang up", func(t *testing.T) {
		l, peer := calling(t, "uac_hungup", nil)
		leg := next(t, l.legs)
		require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
		peer.Wait()
	})
}

func TestInboundCallsThatAreNotAnswered(t *testing.T) {
	refusing := func(cause carrier.Cause) func(*line) {
		return func(l *line) {
			l.deciding(func(context.Context, carrier.Offer) carrier.Decision { return carrier.Decision{Refuse: cause} })
		}
	}
	t.Run("the caller gives up while it rings", func(t *testing.T) {
		l, peer := calling(t, "uac_cancel", func(l *line) {
			l.deciding(func(context.Context, carrier.Offer) carrier.Decision { return l.answer(time.Minute) })
		})
		e := next(t, l.missed)
		require.Equal(t, carrier.ReasonCanceled, e.Reason)
		require.Equal(t, carrier.ClassClient, e.Class)
		peer.Wait()
	})
	t.Run("we are stopped while it rings", func(t *testing.T) {
		l, peer := calling(t, "uac_503", func(l *line) {
			l.deciding(func(context.Context, carrier.Offer) carrier.Decision {
				l.unplug()
				return l.answer(time.Minute)
			})
		})
		require.Equal(t, carrier.ReasonDraining, next(t, l.missed).Reason)
		require.Empty(t, l.legs)
		peer.Wait()
	})
	t.Run("nobody has the number", func(t *testing.T) { _, peer := calling(t, "uac_404", refusing(carrier.CauseUnknown)); peer.Wait() })
	t.Run("no room", func(t *testing.T) { _, peer := calling(t, "uac_503", refusing(carrier.CauseUnavailable)); peer.Wait() })
	t.Run("no codec", func(t *testing.T) { _, peer := calling(t, "uac_488", nil); peer.Wait() })
	t.Run("an extension is demanded", func(t *testing.T) { _, peer := calling(t, "uac_extension", nil); peer.Wait() })
	t.Run("strange requests", func(t *testing.T) { _, peer := calling(t, "uac_strange", nil); peer.Wait() })
}

func TestCallersProveWhoTheyAre(t *testing.T) {
	for _, scenario := range []string{"uac_challenged", "uac_wrong_secret"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			port := siptest.FreePort(t)
			l := open(t, nil, fmt.Sprintf("sip://alice:secret@127.0.0.1:%d?challenge=yes&register=no", port))
			siptest.StartSippAt(t, port, "testdata/"+scenario+".xml", l.addr(), "-s", "+15005550100").Wait()
		})
	}
}

func TestOptionsTellWhetherWeAreThere(t *testing.T) {
	t.Run("we are", func(t *testing.T) { _, peer := calling(t, "uac_options", nil); peer.Wait() })
	t.Run("we are leaving", func(t *testing.T) {
		_, peer := calling(t, "uac_options_503", func(l *line) { l.unplug(); <-l.served })
		peer.Wait()
	})
	t.Run("no calls while leaving", func(t *testing.T) {
		l, peer := calling(t, "uac_503", func(l *line) { l.unplug(); <-l.served })
		peer.Wait()
		require.Empty(t, l.offers)
	})
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	peer := siptest.StartSipp(t, "testdata/registrar.xml", "")
	l := open(t, nil, fmt.Sprintf("sip://alice:secret@127.0.0.1:%d?from=%%2B15005550100", peer.Port))
	require.Eventually(t, func() bool { return l.Registration("127.0.0.1") == "registered" }, 10*time.Second, 10*time.Millisecond)
	time.Sleep(2 * time.Second) // for the refresh, which comes at three quarters of the two that were granted
	l.unplug()
	l.stop()
	peer.Wait()
}
