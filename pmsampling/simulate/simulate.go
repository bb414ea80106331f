// Package simulate makes libraries that stand in for CUPTI and the CUDA driver, with GPUs that do not exist.
//
// It takes a folder and what its file says of the GPUs, their metrics and samples, and of calls that fail;
// library/cupti.c describes that file. It needs a C compiler. What it shows is that cg calls as CUPTI's headers say,
// and what cg does with each answer; it shows nothing of a GPU.
package simulate

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"cg/pmsampling/cupti/abi"
)

//go:embed library/cupti.c
var source string

//go:embed library/launch.c
var launch string

// CUPTI compiles the libraries into dir: libcupti.so.13, libnvperf_host.so, libnvperf_target.so and libcuda.so.1.
// define leaves something out, or makes them older: OLD (CUDA 12.9), OLDER (12.6), NO_PM (CUDA 12.4), each
// of which is libcupti.so.12.
func CUPTI(dir, conf string, define ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := "libcupti.so.13"
	for _, d := range define {
		if d == "OLD" || d == "OLDER" || d == "NO_PM" {
			name = "libcupti.so.12"
		}
	}
	library, err := compiled(define)
	if err != nil {
		return err
	}
	for _, file := range []string{name, "libnvperf_host.so", "libnvperf_target.so", "libcuda.so.1"} {
		if err := os.WriteFile(filepath.Join(dir, file), library, 0o755); err != nil {
			return err
		}
	}
	return Conf(dir, conf)
}

// built are the libraries of this process by what they leave out: a compiler takes longer than a test.
var built struct {
	mu    sync.Mutex
	bytes map[string][]byte
}

// compiled is the library that each of the files is. What is loaded from two files has two states.
func compiled(define []string) ([]byte, error) {
	built.mu.Lock()
	defer built.mu.Unlock()
	key := strings.Join(define, " ")
	if library := built.bytes[key]; library != nil {
		return library, nil
	}
	dir, err := os.MkdirTemp("", "cg-simulate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "library.so")
	args := []string{"-shared", "-fPIC", "-O0", "-Wl,-Bsymbolic", "-D_GNU_SOURCE", "-x", "c", "-", "-o", to, "-ldl"}
	for _, d := range define {
		args = append(args, "-D"+d)
	}
	cmd := exec.Command("cc", args...)
	cmd.Stdin = strings.NewReader(abi.Header + source + launch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("simulate: cc %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	library, err := os.ReadFile(to)
	if err == nil {
		if built.bytes == nil {
			built.bytes = map[string][]byte{}
		}
		built.bytes[key] = library
	}
	return library, err
}

// Conf replaces what libraries that CUPTI made say, at once.
func Conf(dir, conf string) error {
	part := filepath.Join(dir, "cupti.conf.part")
	if err := os.WriteFile(part, []byte(conf), 0o644); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, "cupti.conf"))
}
