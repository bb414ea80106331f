#include "go_asm.h"
#include "textflag.h"

// EVENT stores a word for the event in R0: kind << 21 | site. It leaves to
// codegreenSlowly whatever is not as it was with the event before.
#define EVENT \
	LSR   $23, R0, R1                       \ // of a file that the channel does not know
	CBNZ  R1, slowly                        \
	MOVD  g_m(g), R1                        \
	MOVD  m_id(R1), R2                      \
	AND   $const_codegreenMask, R2          \
	MOVD  $runtime·codegreenSlots(SB), R3   \
	ADD   R2<<6, R3                         \
	MOVD  m_procid(R1), R2                  \
	MOVD  codegreenSlot_owner(R3), R4       \
	CMP   R2, R4                            \
	BNE   slowly                            \
	MOVD  g_goid(g), R2                     \
	MOVD  codegreenSlot_strand(R3), R4      \
	CMP   R2, R4                            \
	BNE   slowly                            \
	MOVD  codegreenSlot_next(R3), R2        \
	MOVD  codegreenSlot_fast(R3), R4        \
	CMP   R4, R2                            \
	BHS   slowly                            \
	MRS   CNTVCT_EL0, R5                    \
	ORR   R5<<24, R0, R0                    \
	MOVD  R0, (R2)                          \
	ADD   $8, R2                            \
	MOVD  R2, codegreenSlot_next(R3)        \
	RET                                     \
slowly:                                         \
	B     runtime·codegreenSlowly<ABIInternal>(SB)

// func codegreenEnter(site uint32)
TEXT runtime·codegreenEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	MOVWU R0, R0
	EVENT

// func codegreenExit(site uint32)
TEXT runtime·codegreenExit<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	MOVWU R0, R0
	ORR $(1<<21), R0
	EVENT

// func codegreenCycles() uint64
TEXT runtime·codegreenCycles<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	MRS CNTVCT_EL0, R0
	RET
