package cupti

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"cg/tool"
)

// sonames are the names of the library, newest first.
var sonames = []string{"libcupti.so.13", "libcupti.so.12", "libcupti.so"}

// pythonPatience is how long an interpreter may take to say where its packages are.
const pythonPatience = 10 * time.Second

// candidates lists files that may be CUPTI, best first: in CG_CUPTI (a file or a folder), below CUDA_HOME and
// CUDA_PATH, in the packages of the Python that PATH has (nvidia-cuda-cupti), where the dynamic linker looks, and
// where CUDA is installed. Below a root that is not the live machine there is lib/ alone.
func candidates(root string) (files []string) {
	if root != "" {
		return inFolder(filepath.Join(root, "lib"))
	}
	if own := os.Getenv("CG_CUPTI"); own != "" {
		if info, err := os.Stat(own); err == nil && info.IsDir() {
			return inFolder(own)
		}
		return []string{own}
	}
	for _, home := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH")} {
		if home != "" {
			files = append(files, inToolkit(home)...)
		}
	}
	for _, packages := range pythonPackages() {
		for _, pattern := range []string{"nvidia/cu[0-9]*/lib", "nvidia/cuda_cupti/lib"} {
			folders, _ := filepath.Glob(filepath.Join(packages, pattern))
			slices.Reverse(folders) // cu13 before cu12
			for _, folder := range folders {
				files = append(files, inFolder(folder)...)
			}
		}
	}
	files = append(files, sonames...) // the dynamic linker's: LD_LIBRARY_PATH, ld.so.conf
	toolkits, _ := filepath.Glob("/usr/local/cuda*")
	slices.Sort(toolkits) // cuda, cuda-12.6, cuda-13
	for _, home := range toolkits {
		files = append(files, inToolkit(home)...)
	}
	return files
}

// File names the first CUPTI that can be loaded, of any version, for a program that is to load it.
func File(root string) (string, error) {
	var why []string
	for _, path := range candidates(root) {
		if _, err := os.Stat(path); err != nil && strings.Contains(path, "/") {
			continue
		}
		err := load(path, false, newLoaded())
		if err == nil {
			return path, nil
		}
		if strings.Contains(path, "/") || !strings.HasSuffix(err.Error(), "No such file or directory") {
			why = append(why, err.Error())
		}
	}
	if len(why) > 0 {
		return "", kindOf(ErrUnsupported, "cupti: no library that can be used: %s", strings.Join(why, "; "))
	}
	return "", absent(root)
}

// inFolder lists the libraries in a folder, newest first. A file whose name has more than the first number of its
// version is one that these names link to.
func inFolder(folder string) (files []string) {
	for _, name := range sonames {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	return files
}

func inToolkit(home string) (files []string) {
	machine := map[string]string{"amd64": "x86_64-linux", "arm64": "sbsa-linux"}[runtime.GOARCH]
	for _, folder := range []string{"extras/CUPTI/lib64", "lib64", filepath.Join("targets", machine, "lib")} {
		files = append(files, inFolder(filepath.Join(home, folder))...)
	}
	return files
}

// pythonPackages lists the folders in which the Python of PATH has packages; none without one.
func pythonPackages() []string {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	ctx, end := context.WithTimeout(context.Background(), pythonPatience)
	defer end()
	cmd := exec.CommandContext(ctx, python, "-c", "import site, sys, sysconfig\n"+
		"own = [sysconfig.get_path('platlib'), sysconfig.get_path('purelib'), site.getusersitepackages()]\n"+
		"print('\\n'.join(own + sys.path))")
	cmd.Env = append(os.Environ(), "PYTHONSAFEPATH=1", "CG_RUN=")
	out, err := tool.Output(cmd)
	if err != nil {
		return nil
	}
	var folders []string
	for folder := range strings.Lines(string(out)) {
		folder = strings.TrimSuffix(folder, "\n")
		if filepath.IsAbs(folder) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// beside names a library that belongs to CUPTI: the file beside it, or what the dynamic linker finds.
func beside(cupti, name string) string {
	if file := filepath.Join(filepath.Dir(cupti), name); strings.Contains(cupti, "/") {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return name
}

// driverBelow names the CUDA driver's library.
func driverBelow(root string) string {
	if root == "" {
		return "libcuda.so.1"
	}
	return filepath.Join(root, "lib", "libcuda.so.1")
}
