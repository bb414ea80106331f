package instrument_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
)

// lines is a planner of a language in which every line is a function.
func lines(source []byte, o instrument.Options) (*instrument.Plan, error) {
	if strings.Contains(string(source), "broken") {
		return nil, errors.New("broken source")
	}
	p := &instrument.Plan{Language: "lines"}
	for i, line := range strings.Split(strings.TrimSuffix(string(source), "\n"), "\n") {
		if !o.NameWanted(line) {
			continue
		}
		p.Sites = append(p.Sites, checkpoint.Site{Func: line, Kind: checkpoint.Function, Line: i + 1, Col: 1, EndLine: i + 1})
		p.Points = append(p.Points, instrument.Point{Site: len(p.Sites) - 1, Role: instrument.Body, Line: i + 1, Col: 1})
	}
	return p, nil
}

func listen(t testing.TB, o instrument.Options) (*instrument.Server, string) {
	t.Helper()
	s := &instrument.Server{Planner: lines, Language: "lines", Options: o}
	path := filepath.Join(t.TempDir(), "s")
	if err := s.Listen(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, path
}

// send writes raw bytes to the server and reads its whole answer.
func send(t testing.TB, path, raw string) string {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, raw)
	c.(*net.UnixConn).CloseWrite()
	got, _ := io.ReadAll(c)
	return string(got)
}

func request(op string, parts ...string) string {
	body := strings.Join(parts, "\x00")
	return fmt.Sprintf("%s\t%d\n%s", op, len(body), body)
}

// TestWeave: the program sends what it has compiled when cg wants the file, and gets the code with
// the numbers of its sites, or the plan.
func TestWeave(t *testing.T) {
	s, path := listen(t, instrument.Options{Exclude: []string{"left_out.x"}})
	about := []string{"weave", "m", "/m.x", "1", "1.0"}
	ask := func(source, code string) string {
		return request(about[0], append(about[1:], source)...) + fmt.Sprintf("%d\n%s", len(code), code)
	}
	if got := send(t, path, ask("f\n", "code")); got != "ok\x00S\tfunction\t1\t0\t1\tf\nP\tbody\t1\t0\t1\n" {
		t.Errorf("without a weaver: %q", got)
	}
	s.Weaver = func(source, code []byte, version string, o instrument.Options) (*instrument.Woven, error) {
		if string(code) != "code" || version != "1.0" {
			return nil, errors.New("of an unknown form")
		}
		p, err := lines(source, o)
		return &instrument.Woven{Plan: p, Places: []byte{1, 0, 2}, Code: []byte("woven\x00code")}, err
	}
	const sites = "S\tfunction\t1\t0\t1\tf\nS\tfunction\t2\t0\t2\tg"
	const woven = "go\nwoven\x000\x0037\x003\x00" + sites + "\x01\x00\x02woven\x00code"
	for _, c := range []struct{ name, raw, want string }{
		{"woven", ask("f\ng\n", "code"), woven},
		{"again, with the same numbers", ask("f\ng\n", "code"), woven},
		{"code of another form", ask("f\n", "other"), "go\nok\x00S\tfunction\t1\t0\t1\tf\nP\tbody\t1\t0\t1\n"},
		{"and a text that is not parsed", ask("broken", "other"), "go\nunparsed\x00broken source"},
		{"left out", request("weave", "m", "/left_out.x", "1", "1.0", "f\n"), "refused\x00not wanted"},
		{"too few parts", request("weave", "m", "/m.x", "1", "1.0"), "refused\x00no such request"},
		{"half of the code", request("weave", "m", "/m.x", "1", "1.0", "f\n") + "9\ncode", "go\n"},
		{"no length", request("weave", "m", "/m.x", "1", "1.0", "f\n") + "x\ncode", "go\n"},
	} {
		if got := send(t, path, c.raw); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	s.Options.Granularity = instrument.Lines
	s.Options.PlacesOf = []instrument.FunctionIn{{File: "/m.x", Name: "m.g"}}
	if got := send(t, path, ask("f\ng\n", "")); !strings.HasSuffix(got, "\nP\tplaces\t2\t0\t2\n") ||
		strings.Count(got, "places") != 1 {
		t.Errorf("with a function whose lines are told: %q", got)
	}
	s.Options.PlacesOf[0].File = "/other.x"
	if got := send(t, path, ask("f\ng\n", "code")); got != woven {
		t.Errorf("without a function whose lines are told: %q", got)
	}
	if got := s.Skipped(); len(got) != 1 || got[0].File != "/left_out.x" {
		t.Errorf("skipped: %v", got)
	}
	if got := s.Sites(); len(got) != 2 || got[1].Func != "m.g" {
		t.Errorf("sites: %v", got)
	}
}

// TestRewrite: the program sends a source, and gets it with its checkpoints and the number before its sites. What is
// answered is kept.
func TestRewrite(t *testing.T) {
	s, path := listen(t, instrument.Options{Exclude: []string{"left_out.x", "nothing"}})
	ask := func(entry, file, source string) string { return request("rewrite", entry, file, "1", source) }
	if got := send(t, path, ask("0", "/m.x", "f\n")); got != "refused\x00no such request" {
		t.Errorf("without a rewriter: %q", got)
	}
	s.Rewriter = func(text []byte, p *instrument.Plan, first int) (edits []edit.Edit, err error) {
		if strings.Contains(string(text), "refused") {
			return nil, errors.New("not rewritten")
		}
		at := 0
		for i, line := range strings.SplitAfter(string(text), "\n")[:len(p.Points)] {
			edits = append(edits, edit.Edit{Start: at, End: at, New: fmt.Sprint(first+i, ":")})
			at += len(line)
		}
		return edits, nil
	}
	var mu sync.Mutex
	kept := map[string]instrument.RewrittenFile{}
	s.SetKeep(func(request []string, f instrument.RewrittenFile) {
		mu.Lock()
		defer mu.Unlock()
		kept[strings.Join(request, " ")] = f
	})
	for _, c := range []struct{ name, raw, want string }{
		{"rewritten", ask("0", "/m.x", "f\ng\n"), "ok\x000\x001:f\n2:g\n"},
		{"again, with the same numbers", ask("0", "/m.x", "f\ng\n"), "ok\x000\x001:f\n2:g\n"},
		{"another, with zero bytes", ask("1", "/n.x", "f\x00\n"), "ok\x002\x001:f\x00\n"},
		{"without sites", ask("0", "/e.x", "nothing\n"), "ok\x00"},
		{"not parsed", ask("0", "/broken.x", "broken"), "unparsed\x00broken source"},
		{"not rewritten", ask("0", "/refused.x", "refused"), "unparsed\x00not rewritten"},
		{"left out", ask("0", "/left_out.x", "f\n"), "refused\x00not wanted"},
		{"too few parts", request("rewrite", "0", "/m.x", "1"), "refused\x00rewrite: 3 parts instead of 4"},
	} {
		if got := send(t, path, c.raw); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	var skipped []string
	for _, skip := range s.Skipped() {
		skipped = append(skipped, skip.File+" "+skip.Reason)
	}
	mu.Lock()
	defer mu.Unlock()
	if f := kept["0 /m.x 1 f\ng\n"]; f.Text != "1:f\n2:g\n" || f.Sites != 2 || strings.Count(f.Lines, "S\t") != 2 {
		t.Errorf("kept: %+v", f)
	}
	if f, is := kept["0 /e.x 1 nothing\n"]; !is || f.Text != "" || len(kept) != 3 {
		t.Errorf("kept: %v", kept)
	}
	want := "/broken.x broken source, /refused.x not rewritten, /left_out.x left out by --exclude"
	if got := strings.Join(skipped, ", "); got != want {
		t.Errorf("skipped: %s, want %s", got, want)
	}
}

// TestWaiting: what a program waits for is said once, when it has waited for so long in all.
func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience time.Duration
		want     []int
	}{
		{"no patience", 0, []int{1}},
		{"a long time", time.Hour, nil},
	} {
		var said []int
		s := &instrument.Server{Planner: lines, Language: "lines", Waiting: instrument.Waiting{Patience: c.patience,
			Say: func(files int) { said = append(said, files) }}}
		path := filepath.Join(t.TempDir(), "s")
		if err := s.Listen(path); err != nil {
			t.Fatal(err)
		}
		send(t, path, request("load", "m", "/cached.x", "1", "")) // is in the cache: nobody waits
		for _, file := range []string{"/a.x", "/b.x"} {
			send(t, path, request("weave", "m", file, "1", "1.0", "f\n"))
			send(t, path, request("load", "m", file, "1", "S\tfunction\t1\t0\t1\t0\tf"))
		}
		s.Close()
		if !slices.Equal(said, c.want) {
			t.Errorf("%s: %v, want %v", c.name, said, c.want)
		}
	}
}

func TestServer(t *testing.T) {
	s, path := listen(t, instrument.Options{Exclude: []string{"left_out.x", "secret"}})
	const sites = "S\tfunction\t1\t0\t1\tf\nS\tfunction\t2\t0\t2\tg"
	for _, c := range []struct{ name, raw, want string }{
		{"plan", request("plan", "m", "/m.x", "1", "f\ng\n"), "ok\x00S\tfunction\t1\t0\t1\tf\nS\tfunction\t2\t0\t2\tg\nP\tbody\t1\t0\t1\nP\tbody\t2\t0\t2\n"},
		{"a source with zero bytes is whole", request("plan", "m", "/z.x", "1", "a\x00b"), "ok\x00S\tfunction\t1\t0\t1\ta\x00b\nP\tbody\t1\t0\t1\n"},
		{"a name is left out", request("plan", "m", "/m.x", "1", "secret\ng"), "ok\x00S\tfunction\t2\t0\t2\tg\nP\tbody\t2\t0\t1\n"},
		{"not parsed", request("plan", "m", "/b.x", "1", "broken"), "unparsed\x00broken source"},
		{"outline", request("outline", "m", "/p.x", "1", "S\tfunction\t1\t0\t2\tsecret\nS\tfunction\t3\t0\t3\tg\nL\t9\th\twhy\nP\tbody\t1\t0\t1\t2\t5\nP\tbody\t3\t0\t2\t3\t5\n"),
			"ok\x00S\tfunction\t3\t0\t3\tg\nL\t9\th\twhy\nP\tbody\t3\t0\t1\n"},
		{"outline of what is left out", request("outline", "m", "/left_out.x", "1", ""), "refused\x00not wanted"},
		{"outline of no site", request("outline", "m", "/p.x", "1", "P\tbody\t1\t0\t1\t2\t5\n"), "refused\x00outline: a point of no site"},
		{"outline with another line", request("outline", "m", "/p.x", "1", "X"), "refused\x00outline: a line that is none of a plan's"},
		{"not parsed in the end", request("skip", "m", "/b.x", "broken source"), "ok\x00"},
		{"left out", request("plan", "m", "/left_out.x", "1", "f"), "refused\x00not wanted"},
		{"not the program's", request("plan", "m", "/lib.x", "0", "f"), "refused\x00not wanted"},
		{"load", request("load", "m", "/m.x", "1", sites), "ok\x000"},
		{"load another", request("load", "n", "/n.x", "1", sites), "ok\x002"},
		{"load again", request("load", "m", "/m.x", "1", sites), "ok\x000"},
		{"load what is left out", request("load", "m", "/left_out.x", "1", sites), "refused\x00not wanted"},
		{"load no site", request("load", "m", "/o.x", "1", "P\tbody"), "refused\x00load: a line that is no site"},
		{"load no number", request("load", "m", "/o.x", "1", "S\tfunction\tx\t0\t1\tf"), "refused\x00load: strconv.Atoi: parsing \"x\": invalid syntax"},
		{"load nothing", request("load", "m", "/e.x", "1", ""), "ok\x004"},
		{"skip", request("skip", "m", "/s.x", "no reason"), "ok\x00"},
		{"skip again", request("skip", "m", "/s.x", "another"), "ok\x00"},
		{"chunk without a channel", request("chunk", "1", "1", "1", "0", "0", "0", "0", "0", "1"), "refused\x00" + checkpoint.ErrFull.Error()},
		{"too few parts", request("plan", "m", "/m.x"), "refused\x00plan: 2 parts instead of 4"},
		{"unknown", request("shout"), "refused\x00no such request"},
		{"no length", "plan\n", ""},
		{"length is no number", "plan\tx\n", ""},
		{"negative length", "plan\t-1\n", ""},
		{"huge length", "plan\t9999999999\nx", ""},
		{"cut short", "plan\t10\nabc", ""},
		{"no line", "plan", ""},
		{"nothing", "", ""},
	} {
		if got := send(t, path, c.raw); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := s.Sites(); len(got) != 4 || got[0].Func != "m.f" || got[3].Func != "n.g" || got[3].ID != 4 || got[3].Line != 2 || got[3].File != "/n.x" {
		t.Errorf("sites %+v", got)
	}
	want := []instrument.Skip{{File: "/b.x", Reason: "broken source"}, {File: "/left_out.x", Reason: "left out by --exclude"}, {File: "/s.x", Reason: "no reason"}}
	if got := s.Skipped(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("skipped %v, want %v", got, want)
	}
	for op, asked := range map[string]func() (string, bool){"pure": s.PureRuntime, "off": s.WithoutChannel} {
		if why, is := asked(); is {
			t.Errorf("%s before it was said: %q", op, why)
		}
		send(t, path, request(op, "reason "+op))
		if why, is := asked(); !is || why != "reason "+op {
			t.Errorf("%s: %q, %v", op, why, is)
		}
	}
}

// TestServerAtOnce: however many processes load the same files at once, every
// file has one range of numbers and no two share one.
func TestServerAtOnce(t *testing.T) {
	s, path := listen(t, instrument.Options{})
	bases := make([]map[string]string, 8)
	var wait sync.WaitGroup
	for i := range bases {
		bases[i] = map[string]string{}
		wait.Go(func() {
			for k := range 20 {
				file := fmt.Sprintf("/%d.x", k)
				bases[i][file] = send(t, path, request("load", "m", file, "1", "S\tfunction\t1\t0\t1\tf"))
			}
		})
	}
	wait.Wait()
	for _, b := range bases[1:] {
		if fmt.Sprint(b) != fmt.Sprint(bases[0]) {
			t.Errorf("%v\n%v", b, bases[0])
		}
	}
	seen := map[string]bool{}
	for _, base := range bases[0] {
		seen[base] = true
	}
	if len(seen) != 20 || len(s.Sites()) != 20 {
		t.Errorf("%d bases, %d sites; want 20", len(seen), len(s.Sites()))
	}
}

// FuzzServer: no request stops the server, which still answers a good one.
func FuzzServer(f *testing.F) {
	for _, raw := range []string{request("plan", "m", "/m.x", "1", "f"), request("load", "m", "f", "1", "S\t\t\t\t"), "plan\t4\n\x00\x00\x00\x00", "chunk\t2\n\x00\x00", "x"} {
		f.Add([]byte(raw))
	}
	_, path := listen(f, instrument.Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		send(t, path, string(raw))
		if got := send(t, path, request("skip", "m", "f", "r")); got != "ok\x00" {
			t.Errorf("after %q: %q", raw, got)
		}
	})
}

// TestServerLost: what threads without a chunk have lost is added up.
func TestServerLost(t *testing.T) {
	s, path := listen(t, instrument.Options{})
	c, err := checkpoint.New(checkpoint.Monotonic, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.Channel = c
	for _, n := range []string{"5", "7", "-1", "many"} {
		send(t, path, request("lost", n))
	}
	if c.Lost() != 12 {
		t.Errorf("%d lost, want 12", c.Lost())
	}
}

// What the program numbers itself are tasks, with what it reported of them.
func TestServerSpans(t *testing.T) {
	channel, err := checkpoint.New(checkpoint.Monotonic, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	s := &instrument.Server{Language: "x", Channel: channel}
	if err := s.Listen(filepath.Join(t.TempDir(), "server")); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, lines := range []string{"T\t123\t1\tBenchmarkA-2\tb", "T\t5\t0\tTestB", "T\t5", "T\tx\t0\tTestC"} {
		if _, err := channel.Number("", "m/a", lines, 4); err != nil {
			t.Fatal(err)
		}
	}
	spans, sites, begun := s.Spans(), s.Sites(), s.TaskStarts()
	if len(spans) != 2 || len(sites) != 5 || begun[1] != 123 || begun[5] != 5 {
		t.Fatalf("%v %+v %v", spans, sites, begun)
	}
	if spans[1] != (instrument.Span{Bench: true}) || spans[5] != (instrument.Span{}) {
		t.Errorf("%+v", spans)
	}
	if b := sites[0]; b.Func != "BenchmarkA-2\tb" || b.File != "m/a" || b.Kind != checkpoint.Task || b.Language != "x" {
		t.Errorf("%+v", b)
	}
}

// A number that is dropped is no site's, whenever it is reported.
func TestServerDrop(t *testing.T) {
	channel, err := checkpoint.New(checkpoint.Monotonic, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	s := &instrument.Server{Language: "x", Channel: channel}
	if err := s.Listen(filepath.Join(t.TempDir(), "server")); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plan := &instrument.Plan{Sites: []checkpoint.Site{{Func: "a", Line: 1, Col: 1}, {Func: "b", Line: 2, Col: 1}, {Func: "c", Line: 3, Col: 1}}}
	first, err := s.NumberSites("x.x", plan)
	if err != nil {
		t.Fatal(err)
	}
	s.DropSite(first + 1) // not yet read
	s.Sites()
	s.DropSite(first + 2)
	var got []string
	for _, site := range s.Sites() {
		if site.ID != 0 {
			got = append(got, site.Func)
		}
	}
	if len(got) != 1 || got[0] != "a" {
		t.Errorf("%q", got)
	}
}
