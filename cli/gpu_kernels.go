package cli

import (
	"os"

	"github.com/urfave/cli/v2"

	"cg/pmsampling/cupti"
)

// kernelLibrary finds CUPTI for --gpu-kernels. One tool at a time can be in a program.
func kernelLibrary(c *cli.Context) (string, error) {
	if other := os.Getenv("CUDA_INJECTION64_PATH"); other != "" {
		return "", fail(statusSelf, "--gpu-kernels: CUDA_INJECTION64_PATH is set (%s): another tool wants to be "+
			"loaded into the program, and CUDA loads one; unset it, or leave out --gpu-kernels", other)
	}
	root, err := sysroot(c)
	if err != nil {
		return "", err
	}
	file, err := cupti.File(root.Dir)
	if err != nil {
		return "", fail(statusSelf, "--gpu-kernels: %w", err)
	}
	return file, nil
}
