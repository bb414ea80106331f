//go:build prebuilt

package runtimes

import "embed"

// The folder is made by "go run ./runtimes/prebuild", and is no part of the repository.
//
//go:embed prebuilt
var prebuiltFiles embed.FS

func init() { prebuilt = prebuiltFiles }
