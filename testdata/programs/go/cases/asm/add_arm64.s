#include "textflag.h"

TEXT ·add(SB), NOSPLIT, $0-24
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	ADD R1, R0, R0
	MOVD R0, ret+16(FP)
	RET

TEXT ·viaGo(SB), $24-16
	MOVD n+0(FP), R0
	MOVD R0, 8(RSP)
	CALL ·called(SB)
	MOVD 16(RSP), R0
	MOVD R0, ret+8(FP)
	RET
