package slurm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A recording whose step Slurm does not tell is given up in time, and its recorder is ended.
func TestStartWithoutAnAnswer(t *testing.T) {
	for _, test := range []struct{ what, squeue, says string }{
		{"squeue fails", "echo slurmctld is away >&2; exit 1", "squeue: slurmctld is away"},
		{"squeue lists others", "echo '7.0|solver|n0|1:00'", "squeue does not list it"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"srun": `case "$*" in *--job-name=cg-ready-*) exit 0;; esac
echo $$ >` + dir + `/pid
exec sleep 600`,
			"squeue": test.squeue,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, _, err := Job{ID: "7", Nodes: 1}.Start(ctx, Recording{Recorder: []string{"cg"}, Names: []string{"cg"},
			Dir: filepath.Join(dir, "out"), Within: time.Second})
		if err == nil || !strings.Contains(err.Error(), test.says) || ctx.Err() != nil {
			t.Errorf("%s: %v, want %q", test.what, err, test.says)
		}
		cancel()
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			continue // it was ended before it began
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: the recorder is still there: %v", test.what, err)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
