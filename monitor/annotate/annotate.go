// Package annotate hears from programs which of their requests begin and end: lines of JSON
// over a socket in the file system (unix(7)).
//
//	{"annotate":"request","id":"7","name":"GET /cart","begin":1700000000.25,"tid":4711}
//	{"annotate":"request","id":"7","end":1700000000.5,"tid":4711}
//
// A time is in seconds since 1970; true is the moment at which the line comes. The process is
// the one that connected, as the kernel tells, or "pid". "tid" is the thread that works on the
// request; "cpu" what it has used since it began, in seconds (CLOCK_THREAD_CPUTIME_ID). An end
// without "tid" has the thread of its beginning.
//
// Nobody waits: what comes is kept until it is asked for (Server.Take), so much at most. What is
// beyond that, beginnings first, and lines that are no annotations, are counted and left out.
package annotate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/monitor"
	"cg/nemb/population"
)

// Bounds of what programs may say.
const (
	longestPath = 107 // bytes, of a socket (unix(7))
	longestLine = 1 << 16
	longestName = 200 // bytes; what is longer is cut
	longestID   = 200 // bytes; a line with a longer one is left out
	mostKept    = 100_000
	mostThreads = 1000 // of open requests of a connection
	mostClients = 256
)

// Server listens at a socket. Its methods may be called from any goroutine.
type Server struct {
	path     string
	made     fs.FileInfo // of the socket
	listener *net.UnixListener
	wait     sync.WaitGroup

	mu      sync.Mutex
	kept    []monitor.Annotation
	clients map[*net.UnixConn]bool
	last    uint64 // the number of the last connection
	bad     int
	dropped int
	closed  bool
}

// Listen makes a socket that only this user may connect to, and the members of a group where one
// is named. A socket at which nobody listens any more is replaced.
func Listen(path, group string) (*Server, error) {
	gid, mode := -1, os.FileMode(0o600)
	if group != "" {
		g, err := user.LookupGroup(group)
		if err != nil {
			return nil, fmt.Errorf("there is no group %q (getent group)", group)
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return nil, fmt.Errorf("group %q has no number", group)
		}
		mode = 0o660
	}
	if err := replace(path); err != nil {
		return nil, err
	}
	s := &Server{path: path, clients: map[*net.UnixConn]bool{}}
	if err := s.bind(gid, mode); err != nil {
		return nil, err
	}
	s.wait.Go(s.accept)
	return s, nil
}

// bind makes the socket in a folder that only this user may enter, and links it to its path when it has its group and
// its mode: nobody else connects before. A umask would do, too, but is that of the whole process.
func (s *Server) bind(gid int, mode os.FileMode) (err error) {
	if len(s.path) > longestPath {
		return fmt.Errorf("%s: the path of a socket has at most %d bytes: choose a shorter one", s.path, longestPath)
	}
	folder, err := os.MkdirTemp(filepath.Dir(s.path), ".cg-socket-")
	if why := (*fs.PathError)(nil); errors.As(err, &why) {
		return fmt.Errorf("%s: %w", s.path, why.Err)
	} else if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	opened, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer opened.Close()
	// The path of a socket is short (unix(7)), and that of the folder may be longer than the user's.
	made := filepath.Join(fmt.Sprintf("/proc/self/fd/%d", opened.Fd()), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	defer func() {
		if err != nil {
			listener.Close()
		}
	}()
	if gid >= 0 {
		if err := os.Chown(made, -1, gid); err != nil {
			return err
		}
	}
	if err := os.Chmod(made, mode); err != nil {
		return err
	}
	if s.made, err = os.Lstat(made); err != nil {
		return err
	}
	s.listener = listener
	err = os.Link(made, s.path)
	if err != nil && !errors.Is(err, fs.ErrExist) { // file systems may have no links
		err = os.Rename(made, s.path)
	}
	return err
}

// shut ends the listener and removes its socket, unless another has taken the path.
func (s *Server) shut() error {
	err := s.listener.Close()
	if now, failed := os.Lstat(s.path); failed == nil && os.SameFile(now, s.made) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// replace removes a socket that is left of a process that has ended.
func replace(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there already, and is no socket: choose another name", path)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return fmt.Errorf("%s is in use: choose another name, or end what listens there (ss -xlp)", path)
	} else if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// Take gives what came since it was called last, in order.
func (s *Server) Take() []monitor.Annotation {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.kept
	s.kept = nil
	return all
}

// Lost is how many lines were no annotations, and how many annotations and connections were too
// many at once.
func (s *Server) Lost() (bad, dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad, s.dropped
}

// patience is how long Settle waits for programs that go on.
const patience = 500 * time.Millisecond

// Settle hears what programs have said that ended already, and ends all connections: those of programs that go on
// after patience. What Take gives after it is the last.
func (s *Server) Settle() {
	// Connections are taken in their order: when the server closes this one, it has taken all before.
	if c, err := net.DialTimeout("unix", s.path, patience); err == nil {
		c.SetDeadline(time.Now().Add(2 * time.Second))
		c.(*net.UnixConn).CloseWrite()
		io.Copy(io.Discard, c)
		c.Close()
	}
	s.mu.Lock()
	s.closed = true
	s.shut()
	for c := range s.clients {
		c.SetReadDeadline(time.Now().Add(patience))
	}
	s.mu.Unlock()
	s.wait.Wait()
}

// Close ends all connections and removes the socket.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	err := s.shut()
	for c := range s.clients {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.listener.AcceptUnix()
		if err != nil {
			s.mu.Lock()
			closed := s.closed
			s.mu.Unlock()
			if closed {
				return
			}
			time.Sleep(50 * time.Millisecond) // there are no file descriptors left
			continue
		}
		s.mu.Lock()
		if s.closed || len(s.clients) >= mostClients {
			s.dropped++
			s.mu.Unlock()
			c.Close()
			continue
		}
		s.clients[c] = true
		s.last++
		number := s.last
		s.mu.Unlock()
		s.wait.Go(func() { s.serve(c, number) })
	}
}

// serve hears one program until it closes its connection.
func (s *Server) serve(c *net.UnixConn, number uint64) {
	peer := peerOf(c)
	heard, open := false, threads{}
	for lines := bufio.NewReaderSize(c, longestLine); ; {
		line, err := lines.ReadSlice('\n')
		if err == nil {
			a, ok := parse(line, checkpoint.Monotime(), time.Now())
			if ok {
				open.complete(&a, peer)
			}
			a.From = number
			heard = s.add(a, ok) || heard
			continue
		}
		long := errors.Is(err, bufio.ErrBufferFull)
		if len(line) > 0 { // half a line says nothing
			s.add(monitor.Annotation{}, false)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if !long || err != nil {
			break
		}
	}
	open.cut(s, number)
	if heard {
		s.add(monitor.Annotation{From: number, Gone: true, At: checkpoint.Monotime(), CPU: -1}, true)
	}
	c.Close()
	s.mu.Lock()
	delete(s.clients, c)
	s.mu.Unlock()
}

// threads are those of the open requests of a connection, by id.
type threads map[string]monitor.Thread

// complete gives an annotation the process that connected where it names none, and an end without
// a thread that of its beginning.
func (open threads) complete(a *monitor.Annotation, peer int) {
	begun := open[a.ID]
	delete(open, a.ID)
	if !a.Begin && a.TID == 0 && (a.PID == 0 || a.PID == begun.PID) {
		a.Thread = begun
	}
	if a.PID == 0 {
		a.PID = peer
	}
	if a.Begin && a.TID != 0 && len(open) < mostThreads {
		open[a.ID] = a.Thread
	}
	if a.TID == 0 {
		a.CPU = -1 // nobody knows of what
	}
}

// cut ends the open requests of a connection that is closed, each with what its thread has used up
// to now.
func (open threads) cut(s *Server, number uint64) {
	now := checkpoint.Monotime()
	for id, thread := range open {
		s.add(monitor.Annotation{From: number, ID: id, At: now, Thread: thread, CPU: -1, Cut: true}, true)
	}
}

// add keeps an annotation; false says that it is left out.
func (s *Server) add(a monitor.Annotation, ok bool) bool {
	if ok && a.CPU < 0 && a.TID != 0 {
		a.CPU = threadTime(a.Thread)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !ok:
		s.bad++
		return false
	case len(s.kept) >= mostKept && !a.Gone && (a.Begin || len(s.kept) >= 2*mostKept):
		// Ends have more room: a request whose end is lost stays open. Gone is one for each connection.
		s.dropped++
		return false
	}
	s.kept = append(s.kept, a)
	return true
}

// threadTime is what a thread has used; negative where there is none.
func threadTime(t monitor.Thread) time.Duration {
	cpu, err := population.ThreadTime("/proc", t.PID, t.TID)
	if err != nil {
		return -1
	}
	return cpu
}

// peerOf is the number of the process that connected, 0 where the kernel does not tell.
func peerOf(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if who, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(who.Pid)
		}
	})
	return pid
}

// message is a line.
type message struct {
	Annotate string          `json:"annotate"`
	Name     string          `json:"name"`
	ID       json.RawMessage `json:"id"`
	Begin    json.RawMessage `json:"begin"`
	End      json.RawMessage `json:"end"`
	PID      int             `json:"pid"`
	TID      int             `json:"tid"`
	CPU      *float64        `json:"cpu"`
}

// parse reads a line that came at a moment; false says that it is no annotation.
func parse(line []byte, now checkpoint.Instant, wall time.Time) (a monitor.Annotation, ok bool) {
	var m message
	d := json.NewDecoder(strings.NewReader(string(line)))
	if d.Decode(&m) != nil || m.Annotate != "request" || m.PID < 0 || m.TID < 0 || len(m.ID) > longestID {
		return a, false
	}
	if _, err := d.Token(); err != io.EOF {
		return a, false
	}
	a = monitor.Annotation{ID: string(m.ID), Begin: m.Begin != nil, CPU: -1,
		Thread: monitor.Thread{PID: m.PID, TID: m.TID}}
	if a.Begin == (m.End != nil) {
		return a, false
	}
	at := m.End
	if a.Begin {
		at = m.Begin
		if a.Name = monitor.RouteName(m.Name, longestName); a.Name == "" {
			return a, false
		}
	}
	if m.CPU != nil && *m.CPU >= 0 && *m.CPU < 1e9 {
		a.CPU = time.Duration(*m.CPU * 1e9)
	}
	a.At, ok = moment(at, now, wall)
	return a, ok
}

// moment is a time of an annotation on the machine's clock. One that is yet to come is now.
func moment(text json.RawMessage, now checkpoint.Instant, wall time.Time) (checkpoint.Instant, bool) {
	if string(text) == "true" {
		return now, true
	}
	unixSeconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(unixSeconds) {
		return 0, false
	}
	ago := float64(wall.UnixNano())*1e-9 - unixSeconds
	return now - checkpoint.Instant(min(max(0, ago), 3600)*1e9), true
}
