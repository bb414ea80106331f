// Package abi has the C declarations of what cg passes to CUPTI (abi.h), as text, for those who compile a library
// that stands in for it.
package abi

import _ "embed"

// Header is abi.h.
//
//go:embed abi.h
var Header string
