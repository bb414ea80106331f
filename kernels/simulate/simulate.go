// Package simulate makes libraries that stand in for the CUDA driver and for CUPTI's records of activities, with
// kernels of known times and powers.
//
// It takes a folder and what its file says of the kernels; library/cuda.c describes that file. It needs a C compiler.
// What it shows is that the driver's way to load a library, CUPTI's records and cg's call paths come together; it
// shows nothing of a GPU.
package simulate

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"cg/runtimes"
)

//go:embed library/cuda.c
var source string

//go:embed library/driver.c
var driver string

// UUID is that of the GPU, as NVML writes it.
const UUID = "GPU-10101010-1010-1010-1010-101010101010"

// CUDA compiles libcuda.so.1 and libcupti.so.13 into dir, and writes conf beside them.
func CUDA(dir, conf string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	header, err := runtimes.Files.ReadFile("native/cupti_activity.h")
	if err != nil {
		return err
	}
	text := strings.Replace(source, "#include \"cupti_activity.h\"\n", string(header), 1)
	for name, define := range map[string]string{"libcuda.so.1": "-DCUDA", "libcupti.so.13": "-DCUPTI"} {
		if err := library(text, filepath.Join(dir, name), define); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "cuda.conf"), []byte(conf), 0o644)
}

// Driver compiles the libcuda.so.1 that library/driver.c describes into dir, and writes conf beside it.
func Driver(dir, conf string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := library(driver, filepath.Join(dir, "libcuda.so.1"), "-D_GNU_SOURCE"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "cuda.conf"), []byte(conf), 0o644)
}

// made are the libraries of this process by what they are made of: a compiler takes longer than a test.
var made sync.Map

// library compiles a text.
func library(text, path, define string) error {
	key := [2]string{text, define}
	if library, is := made.Load(key); is {
		os.Remove(path) // a program may have it mapped
		return os.WriteFile(path, library.([]byte), 0o755)
	}
	args := []string{"-shared", "-fPIC", "-O1", "-pthread", "-Wl,-Bsymbolic", define, "-x", "c", "-", "-o", path,
		"-ldl"}
	cmd := exec.Command("cc", args...)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("simulate: cc %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	library, err := os.ReadFile(path)
	if err == nil {
		made.Store(key, library)
	}
	return err
}
