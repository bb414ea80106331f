#include "textflag.h"

// func codegreenG() uintptr
TEXT ·codegreenG(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func codegreenCycles() uint64
TEXT ·codegreenCycles(SB), NOSPLIT, $0-8
	MRS  CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET
