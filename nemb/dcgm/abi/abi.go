// Package abi is what cg uses of NVIDIA's DCGM, as C: its structures, written out. cg and the library that stands
// in for DCGM in tests are compiled with it.
package abi

import _ "embed"

// Header is abi.h.
//
//go:embed abi.h
var Header string
