package simulate

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"cg/nemb/dcgm/abi"
)

//go:embed nvml/nvml.c
var nvmlSource string

//go:embed nvml/instances.c
var instancesSource string

// NVML compiles a library of GPUs that do not exist to dir/libnvidia-ml.so.1,
// with what conf says of them in its file .conf; nvml/nvml.c describes both.
// define leaves functions out, such as "NO_ENERGY". It takes a C compiler.
func NVML(dir, conf string, define ...string) (path string, err error) {
	return library(filepath.Join(dir, "libnvidia-ml.so.1"), nvmlSource+instancesSource, conf, define)
}

//go:embed amdsmi/amdsmi.c
var amdsmiSource string

// AMDSMI does the same with AMD SMI: dir/libamd_smi.so; amdsmi/amdsmi.c describes its file. NVMLConf
// replaces that, too.
func AMDSMI(dir, conf string, define ...string) (path string, err error) {
	return library(filepath.Join(dir, "libamd_smi.so"), amdsmiSource, conf, define)
}

//go:embed dcgm/dcgm.c
var dcgmSource string

// DCGM compiles a library of DCGM's to dir/libdcgm.so.4, which knows the GPUs of the library that NVML has made there;
// dcgm/dcgm.c describes its file. NVMLConf replaces that, too.
func DCGM(dir, conf string, define ...string) (path string, err error) {
	return library(filepath.Join(dir, "libdcgm.so.4"), "#define _GNU_SOURCE\n"+abi.Header+dcgmSource, conf, define)
}

// made are the libraries of this process by what they are made of: a compiler takes longer than a test.
var made sync.Map

func library(path, source, conf string, define []string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	key := [2]string{source, strings.Join(define, " ")}
	if library, is := made.Load(key); is {
		os.Remove(path) // a program may have it mapped
		if err := os.WriteFile(path, library.([]byte), 0o755); err != nil {
			return "", err
		}
		return path, NVMLConf(path, conf)
	}
	args := []string{"-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", path, "-ldl"}
	for _, d := range define {
		args = append(args, "-D"+d)
	}
	cmd := exec.Command("cc", args...)
	cmd.Stdin = strings.NewReader(source)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("simulate: cc %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	library, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	made.Store(key, library)
	return path, NVMLConf(path, conf)
}

// NVMLConf replaces what a library that NVML made says of its GPUs, at once.
func NVMLConf(path, conf string) error {
	part := path + ".conf.part"
	if err := os.WriteFile(part, []byte(conf), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path+".conf")
}
