package runtimes

import "embed"

//go:embed all:python
var pythonFiles embed.FS

func init() { register("python", pythonFiles, "woven/*") }
