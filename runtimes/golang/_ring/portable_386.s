#include "textflag.h"

// func codegreenG() uintptr
TEXT ·codegreenG(SB), NOSPLIT, $0-4
	MOVL (TLS), AX
	MOVL AX, ret+0(FP)
	RET

// func codegreenCycles() uint64
TEXT ·codegreenCycles(SB), NOSPLIT, $0-8
	RDTSC
	MOVL AX, ret_lo+0(FP)
	MOVL DX, ret_hi+4(FP)
	RET
