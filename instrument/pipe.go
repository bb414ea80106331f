package instrument

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// PipeOf is the pipe at which a server answers besides its socket, for runtimes that can open files and no more: Node
// without an addon connects to no socket and waits for the answer.
//
// A request is a file NAME.ask beside the pipe, as it would come on a connection. Its writer then writes "NAME LF" to
// the pipe, where a name is digits and dashes. The answer is the file NAME.answer, which is whole when it is there.
func PipeOf(socket string) string { return socket + ".pipe" }

// listenAtPipe begins to answer what comes at the pipe.
func (s *Server) listenAtPipe(path string) error {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return fmt.Errorf("instrument: %s: %w", path, err)
	}
	// Opened for both, it has no end while no process of the program has it open.
	pipe, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("instrument: %w", err)
	}
	s.pipe = pipe
	s.wait.Go(func() {
		for names := bufio.NewScanner(pipe); names.Scan(); {
			name := names.Text()
			if name == "" || strings.Trim(name, "0123456789-") != "" {
				continue
			}
			s.wait.Go(func() { s.answerFile(filepath.Join(filepath.Dir(path), name)) })
		}
	})
	return nil
}

// answerFile answers the request in a file.
func (s *Server) answerFile(name string) {
	request, err := os.Open(name + ".ask")
	if err != nil {
		return
	}
	defer request.Close()
	answer, err := os.OpenFile(name+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	s.answer(struct {
		io.Reader
		io.Writer
	}{request, answer})
	if answer.Close() == nil {
		os.Rename(name+".part", name+".answer")
	}
}
