package launcher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refuseSubreapers makes prctl(PR_SET_CHILD_SUBREAPER) fail with EINVAL in this process from here on, as QEMU's user
// mode 7.2 does: a filter of seccomp(2), whose data has the call's number at 0 and its first argument at 16.
func refuseSubreapers() error {
	low := uint32(16)
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 0 {
		low += 4 // big-endian
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: k}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	filter := []unix.SockFilter{
		load(0), unless(unix.SYS_PRCTL, 3), load(low), unless(unix.PR_SET_CHILD_SUBREAPER, 1),
		give(unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)), give(unix.SECCOMP_RET_ALLOW),
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog))); err != 0 {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("prctl gives %v in spite of the filter", err)
	}
	return nil
}

// Where the system has no subreapers, the program runs, and the result says what is not known.
func TestWithoutSubreapers(t *testing.T) {
	cmd := exec.Command(self()[0])
	cmd.Env = env("parentless")
	out, err := cmd.CombinedOutput()
	if want := "3 [] prctl(PR_SET_CHILD_SUBREAPER): invalid argument\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
	for _, p := range processes() { // what the program left fell to the tests, which are a subreaper after others
		if p.ppid == os.Getpid() {
			unix.Wait4(p.pid, nil, 0, nil)
		}
	}
	if _, r := run(t, Cmd{Args: []string{"true"}}); r.Orphans != nil || strings.TrimSpace(fmt.Sprint(r.Left)) != "[]" {
		t.Errorf("with them: %+v", r)
	}
}
