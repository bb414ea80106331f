package annotate

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/monitor"
	"cg/nemb"
	"cg/nemb/leaks"
	"cg/nemb/population"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// A line says what it says, or it is no annotation.
func TestParse(t *testing.T) {
	const now = checkpoint.Instant(1000e9)
	wall := time.Unix(5000, 0)
	for _, test := range []struct {
		line string
		want monitor.Annotation // without From; the zero value is no annotation
	}{
		{`{"annotate":"request","id":7,"name":"GET /","begin":4999.5,"tid":3,"pid":2}`,
			monitor.Annotation{ID: "7", Name: "GET /", Begin: true, At: 999_500_000_000, Thread: monitor.Thread{PID: 2, TID: 3}, CPU: -1}},
		{`{"annotate":"request","id":"7","end":true,"tid":3,"cpu":0.25}`,
			monitor.Annotation{ID: `"7"`, At: now, Thread: monitor.Thread{TID: 3}, CPU: 250 * time.Millisecond}},
		{`{"annotate":"request","name":"x","begin":9e99}`, monitor.Annotation{Name: "x", Begin: true, At: now, CPU: -1}},
		{`{"annotate":"request","name":"x","begin":-9e99}`, monitor.Annotation{Name: "x", Begin: true, At: now - 3600e9, CPU: -1}},
		{`{"annotate":"request","name":"x","begin":true,"end":true}`, monitor.Annotation{}},
		{`{"annotate":"request","name":"x"}`, monitor.Annotation{}},
		{`{"annotate":"request","name":" ","begin":true}`, monitor.Annotation{}},
		{`{"annotate":"request","name":"x","begin":"now"}`, monitor.Annotation{}},
		{`{"annotate":"request","name":"x","begin":true,"pid":-1}`, monitor.Annotation{}},
		{`{"annotate":"request","name":"x","begin":true}{}`, monitor.Annotation{}},
		{`{"annotate":"span","name":"x","begin":true}`, monitor.Annotation{}},
		{`{"annotate":"request","name":"x","begin":true,"id":"` + strings.Repeat("1", 300) + `"}`, monitor.Annotation{}},
		{"\x00\xff", monitor.Annotation{}}, {"", monitor.Annotation{}}, {"[]", monitor.Annotation{}},
	} {
		got, ok := parse([]byte(test.line+"\n"), now, wall)
		if ok != (test.want != monitor.Annotation{}) || ok && got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.line, got, ok, test.want)
		}
	}
	long, _ := parse([]byte(`{"annotate":"request","name":"`+strings.Repeat("é", 5000)+`","begin":true}`), now, wall)
	if long.Name != strings.Repeat("é", longestName/2)+"…" {
		t.Errorf("%d bytes of a name", len(long.Name))
	}
}

func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// take waits for so many annotations.
func take(t *testing.T, s *Server, n int) (all []monitor.Annotation) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(all) < n; time.Sleep(time.Millisecond) {
		if all = append(all, s.Take()...); time.Now().After(deadline) {
			t.Fatalf("%d of %d annotations after a minute", len(all), n)
		}
	}
	return all
}

// A socket is there only with its group and its mode, whatever the umask, and is removed only while it is the server's.
func TestRights(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	group, err := user.LookupGroupId(strconv.Itoa(os.Getgid()))
	if err != nil {
		t.Skip("this group has no name: ", err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o600, group.Name: 0o660} {
		dir := t.TempDir()
		path := filepath.Join(dir, strings.Repeat("s", longestPath-len(dir)-1)) // the longest
		stop, seen := make(chan struct{}), make(chan os.FileMode, 1)
		go func() {
			wrong := mode
			for {
				if info, err := os.Lstat(path); err == nil && info.Mode().Perm() != mode {
					wrong = info.Mode().Perm()
				}
				select {
				case <-stop:
					seen <- wrong
					return
				default:
				}
			}
		}()
		for range 40 {
			s, err := Listen(path, name)
			if err != nil {
				t.Fatal(err)
			}
			dial(t, path).Close()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		if wrong := <-seen; wrong != mode {
			t.Errorf("group %q: it was there with the mode %v, want %v", name, wrong, mode)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		s, err := Listen(path, name)
		if err == nil {
			err = errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600), s.Close())
		}
		if _, there := os.Lstat(path); err != nil || there != nil {
			t.Errorf("%v; what another put there: %v", err, there)
		}
		if _, err := Listen(path+"s", name); err == nil || !strings.Contains(err.Error(), "has at most 107 bytes") {
			t.Error(err)
		}
		if _, err := Listen(filepath.Join(dir, "none/s"), name); err == nil || err.Error() != dir+"/none/s: no such file or directory" {
			t.Error(err)
		}
	}
}

// What a program says comes with its number, as the kernel tells it, and its thread's time; at
// its end its requests end. The socket is the user's alone and is gone at the end.
func TestServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := Listen(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Listen(path, ""); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("a second one listens: %v", err)
	}
	c := dial(t, path)
	fmt.Fprintf(c, "{\"annotate\":\"request\",\"name\":\"x\",\"begin\":true,\"tid\":%d}\n{\"annotate\":\"request\",\"end\":true}\n", os.Getpid())
	c.Close()
	all := take(t, s, 3)
	if a := all[0]; a.PID != os.Getpid() || a.TID != os.Getpid() || a.CPU < 0 || !a.Begin || a.From == 0 {
		t.Errorf("%+v", a)
	}
	// The end has the thread of its beginning.
	if a := all[1]; a.PID != os.Getpid() || a.TID != os.Getpid() || a.CPU < 0 || a.Begin || !all[2].Gone || all[2].From != a.From {
		t.Errorf("%+v, %+v", a, all[2])
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// A request that is open when its connection is closed ends then, with what its thread has used.
func TestCutShort(t *testing.T) {
	s, err := Listen(filepath.Join(t.TempDir(), "s"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := dial(t, s.path)
	for id, tid := range []int{os.Getpid(), 0} {
		fmt.Fprintf(c, "{\"annotate\":\"request\",\"name\":\"x\",\"id\":%d,\"begin\":true,\"tid\":%d}\n", id, tid)
	}
	c.Close()
	all := take(t, s, 4)
	if a := all[2]; !a.Cut || a.Begin || a.Gone || a.ID != "0" || a.PID != os.Getpid() || a.TID != a.PID ||
		a.CPU < all[0].CPU || a.CPU < 0 || a.From != all[0].From {
		t.Errorf("the end: %+v", a)
	}
	if !all[3].Gone || all[3].From != all[0].From { // it ends the other
		t.Errorf("the close: %+v", all[3])
	}
}

// An end has the thread of the beginning with its id, and no other; so many threads are kept.
func TestComplete(t *testing.T) {
	type one struct {
		id       string
		begin    bool
		pid, tid int
		want     monitor.Thread
	}
	open := threads{}
	for i, test := range []one{
		{"1", true, 0, 3, monitor.Thread{PID: 9, TID: 3}},
		{"2", true, 5, 4, monitor.Thread{PID: 5, TID: 4}},
		{"3", true, 0, 0, monitor.Thread{PID: 9}},
		{"4", true, 5, 6, monitor.Thread{PID: 5, TID: 6}},
		{"1", false, 9, 0, monitor.Thread{PID: 9, TID: 3}},
		{"2", false, 0, 0, monitor.Thread{PID: 5, TID: 4}},
		{"2", false, 0, 0, monitor.Thread{PID: 9}}, // it has ended
		{"3", false, 0, 0, monitor.Thread{PID: 9}},
		{"4", false, 7, 0, monitor.Thread{PID: 7}}, // of another process
		{"1", true, 0, 3, monitor.Thread{PID: 9, TID: 3}},
		{"1", true, 0, 0, monitor.Thread{PID: 9}},
		{"1", false, 0, 0, monitor.Thread{PID: 9}},
	} {
		a := monitor.Annotation{ID: test.id, Begin: test.begin, Thread: monitor.Thread{PID: test.pid, TID: test.tid}, CPU: 1}
		open.complete(&a, 9)
		if a.Thread != test.want || (a.CPU < 0) != (a.TID == 0) {
			t.Errorf("%d: %+v, want %+v", i, a, test.want)
		}
	}
	for i := range mostThreads + 10 {
		open.complete(&monitor.Annotation{ID: fmt.Sprint(i), Begin: true, Thread: monitor.Thread{TID: 3}}, 9)
	}
	if len(open) != mostThreads {
		t.Errorf("%d threads are kept", len(open))
	}
}

// A request that is shorter than an interval has the energy of its thread, also where its end
// does not name this.
func TestEndWithoutThread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := Listen(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := dial(t, path)
	defer c.Close()
	fmt.Fprint(c, `{"annotate":"request","id":1,"name":"x","begin":true,"pid":100,"tid":101,"cpu":0.25}
{"annotate":"request","id":1,"end":true,"cpu":0.5}
`)
	said := take(t, s, 2)
	book := monitor.New([]nemb.Domain{{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}, 4, 1)
	r := monitor.Reading{At: 1, Energy: []float64{0}}
	r.Host.KnowsBusy = true
	r.Host.Processes = []population.Process{{ID: population.ID{PID: 100, Start: 7}, Group: "/"}}
	book.Add(&r)
	r.Host.Processes[0].CPU, r.Host.Busy = time.Second, time.Second
	r.At, r.Energy, r.Annotations = 1+1e9, []float64{20e6}, said
	book.Add(&r)
	if routes := book.Snapshot().Routes; len(routes) != 1 || routes[0].Joules != 5 || routes[0].Lo != 5 || routes[0].Hi != 5 {
		t.Errorf("%+v, want a quarter of 20 J", routes)
	}
}

// Where too much comes, beginnings are left out before ends.
func TestBeginningsGoFirst(t *testing.T) {
	s := &Server{kept: make([]monitor.Annotation, mostKept)}
	if s.add(monitor.Annotation{Begin: true, CPU: -1}, true) {
		t.Error("a beginning is kept beyond the bound")
	}
	if !s.add(monitor.Annotation{CPU: -1}, true) {
		t.Error("an end is lost")
	}
	s.kept = append(s.kept, make([]monitor.Annotation, mostKept-1)...)
	if s.add(monitor.Annotation{CPU: -1}, true) {
		t.Error("ends have no bound")
	}
	if !s.add(monitor.Annotation{Gone: true, CPU: -1}, true) || s.dropped != 2 {
		t.Errorf("the end of a connection is lost, or %d are counted", s.dropped)
	}
}

// A socket of a process that was killed is replaced, and a file is not.
func TestWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	s, err := Listen(path, "")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, ""); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a file is replaced: %v", err)
	}
	if _, err := Listen(path+"2", "no such group"); err == nil {
		t.Error("there is a group of that name")
	}
}

// Programs that say too much, half of something, or nothing keep nobody waiting: what they say
// is counted, and the others are heard.
func TestHostilePrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := Listen(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	silent := dial(t, path)
	defer silent.Close()
	half := dial(t, path)
	fmt.Fprint(half, `{"annotate":"request","na`)
	half.Close()
	huge := dial(t, path)
	fmt.Fprintf(huge, "{\"annotate\":\"request\",\"begin\":true,\"name\":\"%s\"}\n", strings.Repeat("x", 1<<20))
	fmt.Fprint(huge, "{\"annotate\":\"request\",\"begin\":true,\"name\":\"after\"}\n")
	if a := take(t, s, 1)[0]; a.Name != "after" {
		t.Errorf("%+v", a)
	}
	huge.Close()
	take(t, s, 1)
	flood := dial(t, path)
	var b strings.Builder
	for i := range mostKept + 1000 {
		fmt.Fprintf(&b, "{\"annotate\":\"request\",\"begin\":true,\"name\":\"x\",\"id\":%d}\n", i)
	}
	if _, err := flood.Write([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	flood.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		bad, dropped := s.Lost()
		if bad == 2 && dropped == 1000 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d bad lines, %d too many", bad, dropped)
		}
	}
	if all := take(t, s, mostKept+1); len(all) != mostKept+1 || !all[mostKept].Gone {
		t.Errorf("%d annotations are kept", len(all))
	}
	var clients []net.Conn
	for range mostClients + 5 {
		clients = append(clients, dial(t, path))
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, dropped := s.Lost(); dropped == 1006 { // one is silent
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d connections are too many", dropped-1000)
		}
	}
	for _, c := range clients {
		c.Close()
	}
}
