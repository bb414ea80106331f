//go:build mips || mipsle

#include "textflag.h"

// func codegreenG() uintptr
TEXT ·codegreenG(SB), NOSPLIT, $0-4
	MOVW g, R1
	MOVW R1, ret+0(FP)
	RET
