// Package folders has the places of cg's own files: the folder of a run, which is removed after it, and the cache.
package folders

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/runtimes"
	"cg/scratch"
)

// Run makes the folder of a run: below TMPDIR, or /tmp if that is awkward.
// Folders that runs left there which were killed are removed.
func Run() (*scratch.Folder, error) {
	base, err := filepath.Abs(os.TempDir())
	if err != nil || awkward(base) {
		base = "/tmp"
	}
	return scratch.NewFolder(base)
}

// Files is the folder of a run, or of several, and what is to be done with it at the
// end: it is removed, or kept with --no-cleanup, which is said.
func Files(c *cli.Context) (folder *scratch.Folder, leave func(), err error) {
	folder, err = Run()
	if err != nil {
		return nil, nil, exit.Self(
			"no place for the run's files: %w (set TMPDIR to a folder that can be written)", err)
	}
	if !c.Bool("no-cleanup") {
		return folder, func() { folder.Remove() }, nil
	}
	return folder, func() {
		folder.Keep()
		tell.Notef("the run's files are kept in %s", folder.Path)
	}, nil
}

// awkward reports whether a path cannot stand in a list of paths (PYTHONPATH)
// or on a line.
func awkward(path string) bool { return strings.ContainsAny(path, ":\n") }

// Cache is where cg keeps what it can make again: $XDG_CACHE_HOME/cg, else a
// folder of this user in the place of temporary files where somebody else could
// write there, which refused tells. The cache is empty where nothing can be
// written, or where the name cannot stand where paths are listed.
var Cache = sync.OnceValues(func() (cache runtimes.Cache, refused []string) {
	base, err := os.UserCacheDir()
	if err != nil {
		return cache, nil
	}
	cache, err = openCache(filepath.Join(base, "cg"))
	var r *runtimes.Refusal
	if !errors.As(err, &r) {
		return cache, nil
	}
	text := fmt.Sprintf("%s is not used, since somebody else could change the code in it: %s; ",
		filepath.Join(base, "cg"), r)
	own := filepath.Join(os.TempDir(), fmt.Sprintf(".cg-cache-%d", os.Geteuid()))
	if cache, _ = openCache(own); cache.Dir == "" {
		return cache, []string{text + "everything is compiled anew in each run"}
	}
	return cache, []string{text + "code is kept in " + own}
})

// openCache opens the cache in a folder. Without an error it is one that can be
// written, or empty.
func openCache(dir string) (runtimes.Cache, error) {
	if awkward(dir) {
		return runtimes.Cache{}, nil
	}
	cache, err := runtimes.OpenCache(dir)
	if errors.As(err, new(*runtimes.Refusal)) {
		return runtimes.Cache{}, err
	}
	if err != nil || awkward(cache.Dir) {
		return runtimes.Cache{}, nil
	}
	probe, err := os.CreateTemp(cache.Dir, ".writable-")
	if err != nil {
		return runtimes.Cache{}, nil
	}
	_, err = probe.Write(make([]byte, 256<<10)) // is the disk full?
	probe.Close()
	os.Remove(probe.Name())
	if err != nil {
		return runtimes.Cache{}, nil
	}
	return cache, nil
}

// Prune removes what has not been used for long.
func Prune() {
	cache, _ := Cache()
	runtimes.Prune(cache, time.Now())
}
