#include "textflag.h"

// func codegreenG() uintptr
TEXT ·codegreenG(SB), NOSPLIT, $0-8
	MOVV g, R4
	MOVV R4, ret+0(FP)
	RET
