package runtimes

import "embed"

//go:embed all:node
var nodeFiles embed.FS

func init() { register("node", nodeFiles, "node/*") }
