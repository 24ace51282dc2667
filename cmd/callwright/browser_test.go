package main_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is a tab of a real Chromium that nobody used before. Without Chromium its tests are skipped and say so, or fail
// where CI_REQUIRE_CHROMIUM is set.
type browser struct {
	t   *testing.T
	ctx context.Context
	url string // of the house

	mu   sync.Mutex
	said []string // what the browser complained about
}

func newBrowser(t *testing.T, url string) *browser {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI_REQUIRE_CHROMIUM") != "" {
		missing = t.Fatalf
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		missing("NOT TESTED: the pages need chromium to be looked at")
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-GB"),
		chromedp.Env("TZ=UTC", "LANGUAGE=en_GB"),
	)
	ctx, cancel := chromedp.NewContext(alloc)
	ctx, timeout := context.WithTimeout(ctx, 3*time.Minute)
	b := &browser{t: t, ctx: ctx, url: url}
	t.Cleanup(func() {
		timeout()
		_ = chromedp.Cancel(ctx)
		cancel()
		stop()
	})
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	require.NoError(t, chromedp.Listen(ctx, b.listen))
	return b
}

func (b *browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *log.EventEntryAdded:
		b.said = append(b.said, ev.Entry.Text)
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+ev.ExceptionDetails.Text)
	}
}

// complaints are what the browser found wrong with the pages so far: violations of their policy, errors of the script.
// Refused forms are none.
func (b *browser) complaints() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.said {
		if !strings.Contains(text, "the server responded with a status of 4") {
			all = append(all, text)
		}
	}
	return all
}

// do runs steps that must succeed.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		require.NoError(b.t, err, "at %s:\n%s", b.where(), b.text())
	}
}

// open goes to an address of the house.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url + path))
}

func (b *browser) where() string {
	at, _ := chromedp.Run(b.ctx, chromedp.Location())
	return at
}

// text is what the page says.
func (b *browser) text() string {
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	return text
}

func (b *browser) says(words ...string) {
	b.t.Helper()
	text := b.text()
	for _, w := range words {
		require.Contains(b.t, text, w, "at %s", b.where())
	}
}

func (b *browser) value(selector string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Value(chromedp.CSS(selector)))
	require.NoError(b.t, err, selector)
	return v
}

// fill types a text into a field, in place of what is in it.
func (b *browser) fill(selector, text string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.querySelector("+strconv.Quote(selector)+").value = ''"))
	require.NoError(b.t, err, selector)
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// press clicks and waits for the page that comes of it.
func (b *browser) press(selector string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.Click(chromedp.CSS(selector))))
	require.NoError(b.t, err, "%s at %s:\n%s", selector, b.where(), b.text())
}

// see waits for an element.
func (b *browser) see(selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	err := chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(selector)))
	require.NoError(b.t, err, "%s at %s:\n%s", selector, b.where(), b.text())
}

// look sets the window's width and the theme.
func (b *browser) look(width int64, theme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 900))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	require.NoError(b.t, err)
}

// keep writes a picture of the page to the folder that CI_ARTEFACTS names, if it does.
func (b *browser) keep(name string) {
	b.t.Helper()
	folder := os.Getenv("CI_ARTEFACTS")
	if folder == "" {
		return
	}
	require.NoError(b.t, os.MkdirAll(folder, 0o755))
	_, _ = chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.fonts.ready.then(() => true)", chromedp.EvalAwaitPromise))
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644))
}

// views are the windows that every page is looked at in.
func (b *browser) views(name string, look func(view string)) {
	b.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.look(width, theme)
			view := name + "-" + theme + "-" + strconv.FormatInt(width, 10)
			look(view)
			b.keep(view)
		}
	}
}

// tap stands before a server and keeps every byte that it is sent.
func tap(t *testing.T, url string) (front string, seen *lines) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	seen = &lines{}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				s, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
				if err != nil {
					return
				}
				defer s.Close()
				stop := context.AfterFunc(t.Context(), func() { c.Close(); s.Close() })
				defer stop()
				open.Go(func() { _, _ = io.Copy(c, s); c.Close() })
				_, _ = io.Copy(io.MultiWriter(s, seen), c)
			})
		}
	})
	t.Cleanup(func() { lis.Close(); open.Wait() })
	return "http://" + lis.Addr().String(), seen
}
