#include "go_asm.h"
#include "textflag.h"

// EVENT stores a word for the event in AX: kind << 21 | site. It leaves to
// codegreenSlowly whatever is not as it was with the event before.
#define EVENT \
	TESTL $0xFF800000, AX                   \ // of a file that the channel does not know
	JNE   slowly                            \
	MOVQ  g_m(R14), CX                      \
	MOVQ  m_id(CX), R11                     \
	ANDQ  $const_codegreenMask, R11         \
	SHLQ  $6, R11                           \
	LEAQ  runtime·codegreenSlots(SB), R10   \
	ADDQ  R10, R11                          \
	MOVQ  m_procid(CX), R9                  \
	CMPQ  R9, codegreenSlot_owner(R11)      \
	JNE   slowly                            \
	MOVQ  g_goid(R14), R10                  \
	CMPQ  R10, codegreenSlot_strand(R11)    \
	JNE   slowly                            \
	MOVQ  codegreenSlot_next(R11), R12      \
	CMPQ  R12, codegreenSlot_fast(R11)      \
	JCC   slowly                            \
	MOVL  AX, R8                            \
	RDTSC                                   \
	SHLQ  $24, AX                           \
	SHLQ  $56, DX                           \ // of the 40 bits that are kept
	ORQ   R8, AX                            \
	ORQ   DX, AX                            \
	MOVQ  AX, (R12)                         \
	ADDQ  $8, R12                           \
	MOVQ  R12, codegreenSlot_next(R11)      \
	RET                                     \
slowly:                                         \
	JMP   runtime·codegreenSlowly<ABIInternal>(SB)

// func codegreenEnter(site uint32)
TEXT runtime·codegreenEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	EVENT

// func codegreenExit(site uint32)
TEXT runtime·codegreenExit<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	ORL $(1<<21), AX
	EVENT

// func codegreenCycles() uint64
TEXT runtime·codegreenCycles<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	RET
