package html

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// shared is the Chromium of all tests, which TestMain ends. A start takes longer than most tests.
var shared struct {
	context.Context
	end func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.end != nil {
		shared.end()
	}
	os.Exit(code)
}

// browserOf is a headless Chromium, of all tests one.
func browserOf(t testing.TB) context.Context {
	t.Helper()
	if shared.Context == nil {
		shared.Context, shared.end = newBrowser(t)
	}
	ctx, end := chromedp.NewContext(shared)
	t.Cleanup(end)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// newBrowser starts a headless Chromium, and returns what ends it.
func newBrowser(t testing.TB, more ...chromedp.ExecAllocatorOption) (context.Context, func()) {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Chromium is installed")
		}
		t.Skip("no Chromium is installed")
	}
	profile, err := os.MkdirTemp("", "cg-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless,
		chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(2 * time.Minute),
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ctx, end := chromedp.NewContext(ctx)
	all := func() {
		chromedp.Cancel(ctx)
		end()
		stop()
		// Its helpers may write for a moment after it has ended.
		for end := time.Now().Add(10 * time.Second); os.RemoveAll(profile) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	}
	if err := chromedp.Run(ctx); err != nil {
		all()
		t.Fatal(err)
	}
	return ctx, all
}

// tab is a page that is driven. What it says on its console, and what it asks
// the network for, is kept.
type tab struct {
	t    testing.TB
	ctx  context.Context
	mu   sync.Mutex
	said []string
}

// open writes a page, opens it from its file, and waits until it is drawn.
func open(t testing.TB, browser context.Context, name string, content []byte, width, height int64,
	more ...chromedp.Action) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".html")
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx}
	address := (&url.URL{Scheme: "file", Path: file}).String()
	say := func(format string, args ...any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.said = append(p.said, fmt.Sprintf(format, args...))
	}
	chromedp.ListenTarget(ctx, func(e any) {
		switch e := e.(type) {
		case *cdpruntime.EventExceptionThrown:
			say("exception: %s", e.ExceptionDetails.Error())
		case *cdpruntime.EventConsoleAPICalled:
			say("console: %s %s", e.Type, e.Args[0].Value)
		case *cdplog.EventEntryAdded:
			say("log: %s: %s", e.Entry.Level, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; u != address && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:null/") {
				say("request: %s", u)
			}
		}
	})
	actions := append([]chromedp.Action{network.Enable(), cdplog.Enable(), chromedp.EmulateViewport(width, height)},
		more...)
	p.do(append(actions, chromedp.Navigate(address), chromedp.WaitVisible(`html[data-ready]`, chromedp.ByQuery))...)
	return p
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// is evaluates a script and wants its value, at once or, since pages draw with
// the screen's next frame, a little later.
func (p *tab) is(script, want string) {
	p.t.Helper()
	got := p.value(script)
	for end := time.Now().Add(30 * time.Second); got != want && time.Now().Before(end); got = p.value(script) {
		p.do(chromedp.Sleep(20 * time.Millisecond))
	}
	if got != want {
		p.t.Errorf("%s is %q, not %q", script, got, want)
	}
}

func (p *tab) value(script string) string {
	p.t.Helper()
	var got any
	p.do(chromedp.Evaluate("String("+script+")", &got))
	return fmt.Sprint(got)
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector, chromedp.ByQuery))
}

// quiet wants nothing said and nothing asked for.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.said {
		p.t.Errorf("the page is not quiet: %s", s)
	}
}

// shot keeps a picture where somebody wants to look at pages: CG_SCREENSHOTS
// names a folder.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("CG_SCREENSHOTS")
	if dir == "" {
		return
	}
	var b []byte
	p.do(chromedp.FullScreenshot(&b, 100))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func dark() chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: "dark"}})
}

// tab looks at a view.
func (p *tab) tab(id string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector('#tabs [data-tab=%q]').click()`, id), nil))
	p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, id)
}

// words are those of every view, one below the other.
func (p *tab) words() []byte {
	p.t.Helper()
	var out bytes.Buffer
	fmt.Fprintln(&out, p.value(`document.querySelector('header').innerText`))
	for _, id := range strings.Split(p.value(`[...document.querySelectorAll('#tabs button')].map((b) => b.dataset.tab).join()`), ",") {
		p.tab(id)
		p.is(`document.querySelectorAll('[aria-busy]').length`, "0")
		fmt.Fprintf(&out, "\n--- %s\n%s\n", id, p.value(`document.getElementById('view-`+id+`').innerText`))
	}
	return out.Bytes()
}
