package instrument_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cg/instrument"
	"cg/instrument/edit"
)

// TestPipe: requests in files have the answers of a connection; what is no name of one is passed over.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := &instrument.Server{Planner: lines, Language: "lines", Rewriter: func(text []byte, p *instrument.Plan, first int) ([]edit.Edit, error) {
		return []edit.Edit{{New: "#"}}, nil
	}}
	if err := s.Listen(path); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(instrument.PipeOf(path), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	dir := filepath.Dir(path)
	for name, content := range map[string]string{"1-0-1": "pure\t6\nreason", "1-0-2": "rewrite\t7\n1\x00f\x001\x00a"} {
		if err := os.WriteFile(filepath.Join(dir, name+".ask"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pipe.WriteString("\n../1\nno request\n1-0-9\n1-0-1\n1-0-2\n"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"1-0-1": "ok\x00", "1-0-2": "ok\x000\x00#a"} {
		if answer := awaitFile(t, filepath.Join(dir, name+".answer")); string(answer) != want {
			t.Errorf("%s: %q, want %q", name, answer, want)
		}
	}
	if reason, is := s.PureRuntime(); !is || reason != "reason" {
		t.Errorf("pure: %q %v", reason, is)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// awaitFile reads a file that another goroutine makes. It gives up after a minute.
func awaitFile(t *testing.T, path string) []byte {
	t.Helper()
	patience, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for {
		content, err := os.ReadFile(path)
		if err == nil {
			return content
		}
		select {
		case <-patience.Done():
			t.Fatalf("no answer: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}
