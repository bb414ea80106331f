package runtimes

import (
	"os"
	"path/filepath"
	"time"
)

const (
	pruneEvery = 24 * time.Hour
	pruneAfter = 30 * 24 * time.Hour
)

// Prune removes what has lain in the cache for thirty days, once a day: woven
// and compiled code, copies of projects, what Go programs are built from, and
// runtimes of earlier versions. All of it is made again when it is needed.
func Prune(cache string, now time.Time) {
	stamp := filepath.Join(cache, "pruned")
	if info, err := os.Stat(stamp); cache == "" || err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return
	}
	if os.WriteFile(stamp, nil, 0o600) != nil {
		return
	}
	os.Chtimes(stamp, now, now)
	for _, pattern := range []string{"woven/*", "java/*", "projects/*", "go/*/*", "python-*", "java-*", "native-*", "golang-*", "*-part-*"} {
		found, _ := filepath.Glob(filepath.Join(cache, pattern))
		for _, name := range found {
			if info, err := os.Lstat(name); err == nil && now.Sub(info.ModTime()) > pruneAfter {
				os.RemoveAll(name)
			}
		}
	}
}
