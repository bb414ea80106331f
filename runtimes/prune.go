package runtimes

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	pruneEvery = 24 * time.Hour
	pruneAfter = 30 * 24 * time.Hour
)

// Prune removes what has lain in the cache for thirty days, once a day: woven
// and compiled code, copies of projects, what Go programs are built from, and
// runtimes of earlier versions. All of it is made again when it is needed.
func Prune(c Cache, now time.Time) {
	stamp := filepath.Join(c.Dir, "pruned")
	if info, err := os.Lstat(stamp); c.Dir == "" || err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return
	}
	if c.Write("pruned", nil) != nil {
		return
	}
	os.Chtimes(stamp, now, now)
	for _, pattern := range kept {
		found, _ := filepath.Glob(filepath.Join(c.Dir, pattern))
		for _, name := range found {
			if info, err := os.Lstat(name); err == nil && now.Sub(info.ModTime()) > pruneAfter {
				os.RemoveAll(name)
			}
		}
	}
}

// Trim removes the oldest files of the cache's folder until they take no more than some bytes.
func (c Cache) Trim(most int64) {
	entries, _ := os.ReadDir(c.Dir)
	var files []fs.FileInfo
	var bytes int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files, bytes = append(files, info), bytes+info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if bytes <= most {
			return
		}
		os.Remove(filepath.Join(c.Dir, f.Name()))
		bytes -= f.Size()
	}
}
