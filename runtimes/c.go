package runtimes

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed all:c
var cFiles embed.FS

func init() { register("c", cFiles, "c/*", "c-projects/*") }

// Object returns the path of the object with the checkpoints of C, which is linked into
// programs. The compiler command, which may be one of C++, makes it once for each content of the folder "native" and
// architecture. It is kept below cache, else below scratch.
func Object(ctx context.Context, command []string, cache Cache, scratch string) (string, error) {
	sum, err := hash("native")
	if err != nil {
		return "", err
	}
	sha := sha256.Sum256([]byte(sum + "\x00" + strings.Join(command, "\x00") + "\x00" + runtime.GOARCH))
	key := "native-object-" + hex.EncodeToString(sha[:8])
	for _, c := range places(cache, scratch) {
		if path, _, ok := c.Find(key, ".o"); ok {
			return path, nil
		}
	}
	release := cache.alone(ctx)
	defer release()
	if path, _, ok := cache.Find(key, ".o"); ok { // another has made it meanwhile
		return path, nil
	}
	src, err := Unpack("native", cache, scratch)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, compilerLimit)
	defer cancel()
	content, err := compile(ctx, command, filepath.Join(src, "c.c"), scratch, "-c", "-xc")
	if err != nil {
		return "", err
	}
	var path string
	for _, c := range places(cache, scratch) {
		if path, err = c.Keep(key, ".o", content, 0o600); err == nil {
			return path, nil
		}
	}
	return "", err
}

// CGuests are variables of the environment under which a program of another language, whose own library has
// its checkpoints, records those of extensions that were built of C and C++ with checkpoints, too
// (native/c_host.h). symbol is one that the processes of that language have; "" for none. Where nothing of C was
// built by way of this cache, there are no such extensions, and nil is returned.
func CGuests(ctx context.Context, cache Cache, scratch, channel, symbol string) []string {
	if info, err := os.Stat(filepath.Join(cache.Dir, "c")); cache.Dir == "" || err != nil || !info.IsDir() {
		return nil
	}
	library, _, err := Library(ctx, "c.c", cache, scratch)
	if err != nil {
		return nil // the program's own checkpoints have the same reason for not being there
	}
	return []string{"CG_CHANNEL=" + channel, "CG_C_RUNTIME=" + library, "CG_C_HOST=" + symbol}
}

// CAlone are the files that C sources need which record their checkpoints themselves.
func CAlone() (map[string][]byte, error) { return Folder("c/alone") }
