package runtimes

import (
	"archive/zip"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"cg/tool"
)

//go:embed all:java
var javaFiles embed.FS

func init() { register("java", javaFiles, "java/*", "projects/*") }

// Archive returns the path of the jar with the Java runtime, for the boot class
// path. The build brought it along, or the user's own javac compiles it once for each
// content: whoever measures Java has one, and what is shipped stays readable. All compilers from
// 17 on make classes for 17, so which one it was does not matter. It is kept
// below cache, else below scratch.
func Archive(ctx context.Context, javac string, cache Cache, scratch string) (string, error) {
	sum, err := hash("java")
	if err != nil {
		return "", err
	}
	for _, c := range places(cache, scratch) {
		if jar, _, ok := c.Find("java-"+sum, ".jar"); ok {
			return jar, nil
		}
	}
	content := brought(prebuiltArchive(sum))
	if content == nil {
		limited, cancel := context.WithTimeout(ctx, compilerLimit)
		defer cancel()
		if content, err = archive(limited, javac, scratch); err != nil {
			return "", err
		}
	}
	var jar string
	for _, c := range places(cache, scratch) {
		if jar, err = c.Keep("java-"+sum, ".jar", content, 0o600); err == nil {
			return jar, nil
		}
	}
	return "", err
}

// JavaAlone is the source of class Alone, which records the checkpoints of a program that
// runs without cg.
func JavaAlone() ([]byte, error) { return javaFiles.ReadFile("java/alone/source/Alone.java") }

// JavaFlags are what the java command of a release needs in front of the user's
// own flags, to run the jar that Archive gives: with the native library, or
// without, and with many checkpoints, or few.
func JavaFlags(release int, jar string, native, many bool) []string {
	flags := []string{"-Xbootclasspath/a:" + jar}
	if !native { // it learns then when a thread ends; for a price at the start
		flags = append(flags, "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED")
	}
	if release >= 22 {
		flags = append(flags, "--enable-native-access=ALL-UNNAMED")
	}
	if native && many {
		flags = append(flags, quickNatives(release)...)
	}
	return flags
}

// quickNatives make a call of a native do without a memory barrier, which costs
// a checkpoint as much as the clock does. What the program computes, and what
// the virtual machine prints, does not depend on them. To have the kernel make
// the barriers costs the start 10 ms.
func quickNatives(release int) []string {
	switch {
	case release == 17:
		// The flag is deprecated; the machine says so only if warnings are on. The two others are
		// as they were afterwards; where the user sets them, all stay alone.
		for _, name := range []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
			if v := os.Getenv(name); strings.Contains(v, "UnlockDiagnosticVMOptions") ||
				strings.Contains(v, "PrintWarnings") {
				return nil
			}
		}
		return []string{"-XX:+UnlockDiagnosticVMOptions", "-XX:-PrintWarnings", "-XX:+CriticalJNINatives",
			"-XX:+PrintWarnings", "-XX:-UnlockDiagnosticVMOptions"}
	case release >= 21 && hasMembarrier(): // without it, the machine would not start
		return []string{"-XX:+UseSystemMemoryBarrier"}
	}
	return nil
}

// hasMembarrier reports whether a process may ask for memory barriers on the
// processors that its other threads run on (membarrier(2)).
func hasMembarrier() bool {
	const query, private = 0, 1<<3 | 1<<4 // to do and to register it
	has, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, query, 0, 0)
	return errno == 0 && has&private == private
}

func archive(ctx context.Context, javac, scratch string) ([]byte, error) {
	runtime, err := Folder("java")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "java-part-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, out := filepath.Join(dir, "source"), filepath.Join(dir, "classes")
	if err := writeFiles(runtime, source); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(source, "*", "*.java"))
	if err != nil {
		return nil, err
	}
	if err := compileJava(ctx, javac, dir, out, files); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		class, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		// Stored: small classes are read faster than inflated.
		w, err := z.CreateHeader(&zip.FileHeader{Name: inside, Method: zip.Store})
		if err == nil {
			_, err = w.Write(class)
		}
		return err
	})
	if err == nil {
		err = z.Close()
	}
	return b.Bytes(), err
}

// NoPerfData has javac do without /tmp/hsperfdata_USER/PID: where another process
// has a lock on a file of that name, the virtual machine says so on standard
// output. Where cg starts java for itself it is the same without -J.
const NoPerfData = "-J-XX:-UsePerfData"

// hidden marks methods whose frames no trace shows.
const hidden = "@jdk.internal.vm.annotation.Hidden"

// compileJava makes the classes. They use packages that java.base keeps to itself; where
// these are not there, the runtime does without ThreadEnd, counts nothing in Java, and its
// frames are shown.
func compileJava(ctx context.Context, javac, dir, out string, files []string) error {
	others := slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		return filepath.Base(file) == "ThreadEnd.java"
	})
	var last error
	for _, args := range [][]string{
		append([]string{"-source", "17", "-target", "17", "--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED",
			"--add-exports", "java.base/jdk.internal.vm.annotation=ALL-UNNAMED"}, files...),
		append([]string{"--release", "17"}, others...),
	} {
		// Concatenation by invokedynamic costs a program's start what lambdas do.
		args = append([]string{NoPerfData, "-nowarn", "-proc:none", "-encoding", "UTF-8", "-XDstringConcat=inline",
			"-d", out}, args...)
		cmd := exec.CommandContext(ctx, javac, args...)
		cmd.Dir = dir
		// Options of the user's may ask for any release, or print.
		cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
			return strings.HasPrefix(kv, "JAVA_TOOL_OPTIONS=") || strings.HasPrefix(kv, "JDK_JAVAC_OPTIONS=") ||
				strings.HasPrefix(kv, "CLASSPATH=")
		})
		output, err := tool.CombinedOutput(cmd)
		if err == nil {
			return nil
		}
		line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
		last = fmt.Errorf("compiling the Java runtime with %s: %w: %s", javac, err, line)
		if err := usePublic(others); err != nil {
			return err
		}
	}
	return last
}

// noCounts stands for Counts where it cannot be compiled.
const noCounts = `package cg$;

final class Counts {
    static final boolean ON = false;

    static boolean enter(int site) { return false; }

    static boolean exit(int site) { return false; }

    static void begin() { }

    static void load() { }
}
`

// usePublic takes what is not public of java.base out of sources.
func usePublic(files []string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if filepath.Base(file) == "Counts.java" {
			text = []byte(noCounts)
		}
		if err == nil {
			err = os.WriteFile(file, bytes.ReplaceAll(text, []byte(hidden), nil), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
