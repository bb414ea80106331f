//go:build !linux

package codegreen

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Elsewhere than on Linux a session knows no energies, and tells times.

const nonblock = 0

var errNotHere = errors.New("only on Linux")

var zero = time.Now()

func mapFile(path string) ([]byte, error)   { return nil, errNotHere }
func unmap(memory []byte)                   {}
func alive(pid int) bool                    { return true }
func thread() int                           { return 0 }
func monotonic() int64                      { return int64(time.Since(zero)) }
func kernel() string                        { return runtime.GOOS + "-" + runtime.GOARCH }
func apart() *syscall.SysProcAttr           { return nil }
func openOwn(path string) (*os.File, error) { return nil, errNotHere }
func tryLock(f *os.File) bool               { return false }
func raise(s os.Signal)                     { os.Exit(1) }
func connectUnix(path string) (int, error)  { return -1, errNotHere }
func sendNow(fd int, b []byte) (int, bool)  { return 0, false }
func closeSocket(fd int)                    {}

var deadly []os.Signal
