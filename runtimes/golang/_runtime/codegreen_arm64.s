#include "go_asm.h"
#include "textflag.h"

// SLOT finds what the thread writes with, in R3, and its nodes, in R4. It leaves to Go
// whatever is not as it was with the event before.
#define SLOT \
	MOVD g_m(g), R1                     \
	MOVD m_id(R1), R2                   \
	AND  $const_codegreenMask, R2       \
	MOVD $runtime·codegreenSlots(SB), R3 \
	ADD  R2<<const_codegreenShift, R3   \
	MOVD g_goid(g), R1                  \
	MOVD codegreenSlot_fast(R3), R2     \
	CMP  R1, R2                         \
	BNE  slowly                         \
	MOVD codegreenSlot_nodes(R3), R4

// CLOCK is the tick in R8, and in R9 the time since the last event.
#define CLOCK \
	MOVD runtime·codegreenHead(SB), R1    \
	MOVD codegreenHeader_epoch(R1), R1    \
	MRS  CNTVCT_EL0, R8                   \
	MOVD codegreenSlot_epoch(R3), R2      \
	CMP  R1, R2                           \
	BNE  slowly                           \
	MOVD codegreenSlot_last(R3), R2       \
	SUBS R2, R8, R9                       \
	BLO  slowly

// ADDTIME adds the time to a node, whose number and address it takes.
#define ADDTIME(number, at) \
	MOVD R8, codegreenSlot_last(R3)     \
	MOVD codegreenSlot_ticks(R3), R1    \
	MOVD (at)(R1), R2                   \
	ADD  R9, R2                         \
	MOVD R2, (at)(R1)                   \
	LSR  $4, number, R1                 \
	MOVD codegreenSlot_touched(R3), R2  \
	MOVD $1, R9                         \
	MOVB R9, (R2)(R1)

// STAND ends the event: the goroutine is in a node from here on.
#define STAND(number) \
	MOVW number, g_codegreenNode(g)           \
	MOVD codegreenSlot_tree(R3), R1           \
	MOVD codegreenTree_events(R1), R2         \
	ADD  $1, R2                               \
	MOVD R2, codegreenTree_events(R1)         \
	ORR  R8<<24, number, R2                   \
	ADD  $codegreenTree_place, R1             \
	STLR R2, (R1)

// BACK is what ends a call, in R0, whose caller's node is in R5.
#define BACK \
	MOVD runtime·codegreenBacks(SB), R0   \
	ADD  R5<<3, R0

// CALLER is the number that BACK was made of, or the site, with what ends the call in R26.
#define CALLER(to) \
	MOVD runtime·codegreenBacks(SB), R1   \
	SUB  R1, R26, to                      \
	LSR  $3, to, to

// func codegreenEnter(site uint32) (exit func())
TEXT runtime·codegreenEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-16
	MOVWU R0, R0
	MOVD  g_codegreenSlot(g), R1
	CBNZ  R1, paced
	SLOT
	MOVWU g_codegreenNode(g), R5
	ADD   R5<<1, R5, R6
	ADD   R6<<6, R4, R6
	MOVD  codegreenNode_child(R6), R7
	CMPW  R0, R7
	BNE   other

known:
	LSR  $32, R7, R7
	CLOCK
	ADDTIME(R5, R6)
	ADD  R7<<1, R7, R6
	ADD  R6<<6, R4, R6
	MOVD codegreenNode_calls(R6), R1
	ADD  $1, R1
	MOVD R1, codegreenNode_calls(R6)
	MOVD R8, codegreenNode_begun(R6)
	STAND(R7)
	BACK
	RET

other:
	MOVD codegreenNode_other(R6), R7
	CMPW R0, R7
	BEQ  known

slowly:
	B runtime·codegreenEnterSlowly<ABIInternal>(SB)

paced:
	B runtime·codegreenEnterPaced<ABIInternal>(SB)

// func codegreenExit()
TEXT runtime·codegreenExit<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CALLER(R5)
	MOVD g_codegreenSlot(g), R1
	CBNZ R1, paced
	SLOT
	MOVWU g_codegreenNode(g), R7
	ADD   R7<<1, R7, R6
	ADD   R6<<6, R4, R6
	CLOCK
	MOVD codegreenNode_begun(R6), R1
	CBZ  R1, unknown
	MOVD g_codegreenSince(g), R2
	CMP  R2, R1
	BLO  slowly
	SUB  R1, R8, R10                 // how long the call took
	MOVD codegreenSlot_long(R3), R1
	CMP  R1, R10
	BHS  slowly
	MOVWU codegreenNode_site(R6), R1
	CBZ  R1, slowly
	CMPW $-1, R1
	BEQ  noted
	MOVD $codegreenTimes__size, R2
	MUL  R2, R1, R1
	MOVD codegreenSlot_times(R3), R11
	ADD  R1, R11, R11
	MOVD codegreenTimes_least(R11), R1
	CMP  R1, R10
	BLO  least

longer:
	MOVD codegreenTimes_most(R11), R1
	CMP  R1, R10
	BHI  most

bin:
	ORR  $4, R10, R1                 // as codegreenTimeBin has it
	CLZ  R1, R1
	MOVD $61, R2
	SUB  R1, R2, R1
	LSR  R1, R10, R2
	ADD  R1<<2, R2, R2
	CMP  $const_codegreenTimeBins, R2
	BHS  slowly
	ADD  $codegreenTimes_bins, R11
	MOVD (R11)(R2<<3), R1
	ADD  $const_codegreenWholeCall, R1
	MOVD R1, (R11)(R2<<3)

noted:
	MOVD ZR, codegreenNode_begun(R6)

unknown:
	ADDTIME(R7, R6)
	STAND(R5)
	RET

least:
	MOVD R10, codegreenTimes_least(R11)
	B    longer

most:
	MOVD R10, codegreenTimes_most(R11)
	B    bin

slowly:
	MOVW R5, R0
	B runtime·codegreenExitSlowly<ABIInternal>(SB)

paced:
	MOVW R5, R0
	B runtime·codegreenExitPaced<ABIInternal>(SB)

// func codegreenPlace(site, back uint32)
TEXT runtime·codegreenPlace<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	MOVWU R0, R0
	MOVWU R1, R12
	MOVD  g_codegreenSlot(g), R2
	CBNZ  R2, slowly
	SLOT
	MOVWU g_codegreenNode(g), R5
	ADD   R5<<1, R5, R6
	ADD   R6<<6, R4, R6
	MOVD  $const_codegreenPlaceNode, R10
	ORR   R0, R10
	MOVD  codegreenNode_child(R6), R7
	CMPW  R10, R7
	BNE   other

known:
	LSR  $32, R7, R7
	CLOCK
	ADDTIME(R5, R6)
	ADD  R7<<1, R7, R10
	ADD  R10<<6, R4, R10
	MOVD codegreenNode_calls(R10), R1
	ADD  $1, R1
	MOVD R1, codegreenNode_calls(R10)
	MOVD codegreenNode_begun(R6), R1
	MOVD ZR, codegreenNode_begun(R6)
	MOVD R1, codegreenNode_begun(R10)
	STAND(R7)
	RET

other:
	MOVD codegreenNode_other(R6), R7
	CMPW R10, R7
	BEQ  known
	MOVW R12, R1
	B runtime·codegreenPlaceMissed<ABIInternal>(SB)

slowly:
	MOVW R12, R1
	B runtime·codegreenPlaceSlowly<ABIInternal>(SB)

// func codegreenExitWord()
TEXT runtime·codegreenExitWord<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CALLER(R0)
	B runtime·codegreenExitWordSlowly<ABIInternal>(SB)

// func codegreenCycles() uint64
TEXT runtime·codegreenCycles<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	MRS CNTVCT_EL0, R0
	RET
