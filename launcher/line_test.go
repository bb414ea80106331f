package launcher

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The line stands below whole lines of the program's output only, and the output is as it was without it.
func TestLine(t *testing.T) {
	open := func() (master, slave int) {
		t.Helper()
		master, slave, err := openPty()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(master); unix.Close(slave) })
		return master, slave
	}
	user, fd := open()
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	modes.Oflag &^= unix.OPOST // as the user's terminal is behind a pty
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, modes); err != nil {
		t.Fatal(err)
	}
	unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 20})
	master, slave := open()
	now := time.Unix(0, 0)
	l := &Line{fd: fd, now: func() time.Time { return now }}
	if l.Usable() {
		t.Error("it is usable without a program")
	}
	seen := func(want string) {
		t.Helper()
		buf := make([]byte, 4096)
		fds := []unix.PollFd{{Fd: int32(user), Events: unix.POLLIN}}
		got := ""
		for {
			if n, _ := unix.Poll(fds, 0); n == 0 {
				break
			}
			n, err := unix.Read(user, buf)
			if err != nil || n <= 0 {
				break
			}
			got += string(buf[:n])
		}
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	print := func(s string) {
		t.Helper()
		now = now.Add(time.Second)
		if err := l.write(fd, []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	show := func() {
		now = now.Add(linePatience)
		l.Show("so far: 3.00 J, more than there is room for")
		l.drawers.Wait()
	}
	const line = erased + "so far: 3.00 J, mo…"
	l.Show("nothing is there")
	l.begin(&terminal{fd: -1, master: master})
	show()
	seen(line)
	print("one\r\n")
	seen(erased + "one\r\n")
	l.Show("too early")
	l.drawers.Wait()
	seen("")
	show()
	seen(line)
	print("two \x1b[1mbold\x1b[0m") // a line without an end
	seen(erased + "two \x1b[1mbold\x1b[0m")
	show()
	seen("")
	print("\r50 %\x1b[K\r") // and a progress bar
	show()
	seen("\r50 %\x1b[K\r")
	print("\n")
	show()
	seen("\n" + line)
	l.Clear()
	l.Clear()
	seen(erased)
	// A program that reads key by key has the terminal for itself.
	if modes, err = unix.IoctlGetTermios(slave, unix.TCGETS); err != nil {
		t.Fatal(err)
	}
	raw := *modes
	raw.Lflag &^= unix.ICANON
	unix.IoctlSetTermios(slave, unix.TCSETS, &raw)
	show()
	seen("")
	unix.IoctlSetTermios(slave, unix.TCSETS, modes)
	show()
	seen(line)
	// So has one that moves the cursor, also where the sequence comes in pieces.
	print("\x1b[?1")
	print("049h\n")
	seen(erased + "\x1b[?1049h\n")
	show()
	seen("")
	l.begin(&terminal{fd: -1, master: master})
	show()
	seen(line)
	l.End()
	seen(erased)
	show()
	seen("")
	if l.Usable() {
		t.Error("it is usable at the end")
	}
}

// Who shows a line is not held up by a terminal that takes nothing, and what was to be shown meanwhile is not told
// later.
func TestLineOnStoppedTerminal(t *testing.T) {
	user, fd, err := openPty()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(user)
	defer unix.Close(fd)
	unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 20})
	l := &Line{fd: fd, now: time.Now}
	l.begin(&terminal{fd: -1, master: user})
	if err := unix.IoctlSetInt(fd, unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		for _, text := range []string{"first", "second", "third"} {
			if l.Usable() {
				l.Show(text)
			}
		}
	}()
	select {
	case <-returned:
	case <-time.After(time.Minute):
		t.Error("a terminal that is stopped holds up who shows a line")
	}
	if err := unix.IoctlSetInt(fd, unix.TCXONC, unix.TCOON); err != nil {
		t.Fatal(err)
	}
	<-returned
	l.drawers.Wait()
	buf := make([]byte, 4096)
	if n, err := unix.Read(user, buf); err != nil || string(buf[:n]) != erased+"first" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}
