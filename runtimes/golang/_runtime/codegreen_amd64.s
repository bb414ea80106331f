#include "go_asm.h"
#include "textflag.h"

// SLOT finds what the thread writes with, in R11. It leaves to Go whatever is not
// as it was with the event before.
#define SLOT \
	MOVQ g_m(R14), CX                     \
	MOVQ m_id(CX), R11                    \
	ANDQ $const_codegreenMask, R11        \
	SHLQ $const_codegreenShift, R11       \
	LEAQ runtime·codegreenSlots(SB), R10  \
	ADDQ R10, R11                         \
	MOVQ g_goid(R14), R10                 \
	CMPQ R10, codegreenSlot_fast(R11)     \
	JNE  slowly                           \
	MOVQ codegreenSlot_nodes(R11), R12

// NODE is the address of a node.
#define NODE(number, to) \
	MOVQ number, to      \
	LEAQ (to)(to*2), to  \
	SHLQ $6, to          \
	ADDQ R12, to

// CLOCK is the tick in AX, and in R9 the time since the last event.
#define CLOCK \
	MOVQ runtime·codegreenHead(SB), R9   \
	MOVQ codegreenHeader_epoch(R9), R13  \
	RDTSC                                \
	SHLQ $32, DX                         \
	ORQ  DX, AX                          \
	CMPQ R13, codegreenSlot_epoch(R11)   \
	JNE  late                            \
	MOVQ AX, R9                          \
	SUBQ codegreenSlot_last(R11), R9     \
	JCS  late

// ADDTIME adds the time to a node, whose number and address it takes.
#define ADDTIME(number, at) \
	MOVQ AX, codegreenSlot_last(R11)      \
	MOVQ codegreenSlot_ticks(R11), R13    \
	ADDQ R9, (at)(R13*1)                  \
	MOVQ number, R10                      \
	SHRQ $4, R10                          \
	MOVQ codegreenSlot_touched(R11), R13  \
	MOVB $1, (R13)(R10*1)

// STAND ends the event: the goroutine is in a node from here on.
#define STAND(number) \
	MOVL number, g_codegreenNode(R14)         \
	MOVQ codegreenSlot_tree(R11), R13         \
	MOVQ AX, R10                              \
	SHLQ $24, R10                             \
	ORQ  number, R10                          \
	ADDQ $1, codegreenTree_events(R13)        \
	MOVQ R10, codegreenTree_place(R13)

// COUNTED goes elsewhere unless an event of a short call is counted now. R11 is the slot, R13 the
// tree, and R9 its events.
#define COUNTED(elsewhere) \
	MOVQ g_goid(R14), R10                      \
	CMPQ R10, codegreenSlot_fast(R11)          \
	JNE  elsewhere                             \
	MOVQ runtime·codegreenHead(SB), R9         \
	MOVQ codegreenHeader_epoch(R9), R13        \
	CMPQ R13, codegreenSlot_epoch(R11)         \
	JNE  elsewhere                             \
	MOVQ codegreenSlot_nodes(R11), R12         \
	MOVQ codegreenSlot_tree(R11), R13          \
	MOVQ codegreenTree_events(R13), R9         \
	CMPQ R9, (codegreenSlot_pace+codegreenPace_until)(R11) \
	JCC  elsewhere

// COUNT ends an event that is not timed: the goroutine goes from a node, whose number and address
// it takes, to another.
#define COUNT(from, at, to) \
	ADDQ $1, R9                                              \
	MOVQ R9, codegreenTree_events(R13)                       \
	MOVQ (codegreenSlot_pace+codegreenPace_counted)(R11), R9 \
	ADDL $1, (at)(R9*1)                                      \
	MOVQ from, R10                                           \
	SHRQ $4, R10                                             \
	MOVQ codegreenSlot_touched(R11), R9                      \
	MOVB $1, (R9)(R10*1)                                     \
	MOVL to, g_codegreenNode(R14)                            \
	MOVQ (codegreenSlot_pace+codegreenPace_stamp)(R11), R10  \
	ORQ  to, R10                                             \
	MOVQ R10, codegreenTree_place(R13)

// BACK is what ends a call, in AX, whose caller's node is in BX.
#define BACK \
	MOVQ runtime·codegreenBacks(SB), AX   \
	LEAQ (AX)(BX*8), AX

// CALLER is the number that BACK was made of, or the site, with what ends the call in DX.
#define CALLER(to) \
	SUBQ runtime·codegreenBacks(SB), DX   \
	SHRQ $3, DX                           \
	MOVL DX, to

// func codegreenEnter(site uint32) (exit func())
TEXT runtime·codegreenEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-16
	MOVL AX, AX
	MOVQ g_codegreenSlot(R14), R11
	TESTQ R11, R11
	JNE  paced
	SLOT
	MOVL g_codegreenNode(R14), BX
	NODE(BX, DI)
	CMPL codegreenNode_child(DI), AX
	JNE  other
	MOVL (codegreenNode_child+4)(DI), SI

known:
	MOVL AX, R8
	CLOCK
	ADDTIME(BX, DI)
	NODE(SI, R10)
	ADDQ $1, codegreenNode_calls(R10)
	MOVQ AX, codegreenNode_begun(R10)
	STAND(SI)
	BACK
	RET

other:
	CMPL codegreenNode_other(DI), AX
	JNE  slowly
	MOVL (codegreenNode_other+4)(DI), SI
	JMP  known

late:
	MOVL R8, AX

slowly:
	JMP runtime·codegreenEnterSlowly<ABIInternal>(SB)

paced:
	COUNTED(timed)
	MOVL g_codegreenNode(R14), BX
	NODE(BX, DI)
	MOVQ codegreenNode_child(DI), SI
	CMPL SI, AX
	JNE  timed
	SHRQ $32, SI
	NODE(SI, R10)
	CMPL codegreenNode_short(R10), $0
	JEQ  timed
	ADDQ $1, codegreenNode_calls(R10)
	MOVQ $0, codegreenNode_begun(R10)
	COUNT(BX, DI, SI)
	BACK
	RET

timed:
	JMP runtime·codegreenEnterPaced<ABIInternal>(SB)

// func codegreenExit()
TEXT runtime·codegreenExit<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CALLER(BX)
	MOVQ g_codegreenSlot(R14), R11
	TESTQ R11, R11
	JNE  paced
	SLOT
	MOVL g_codegreenNode(R14), SI
	NODE(SI, DI)
	CLOCK
	MOVQ codegreenNode_begun(DI), R10
	TESTQ R10, R10
	JEQ  unknown
	CMPQ R10, g_codegreenSince(R14)
	JCS  slowly
	MOVQ AX, R8                      // how long the call took
	SUBQ R10, R8
	CMPQ R8, codegreenSlot_long(R11)
	JCC  slowly
	MOVL codegreenNode_site(DI), DX
	TESTL DX, DX
	JEQ  slowly
	CMPL DX, $-1
	JEQ  noted
	IMULQ $codegreenTimes__size, DX
	ADDQ codegreenSlot_times(R11), DX
	CMPQ R8, codegreenTimes_least(DX)
	JCS  least

longer:
	CMPQ R8, codegreenTimes_most(DX)
	JHI  most

bin:
	MOVQ R8, CX                      // as codegreenTimeBin has it
	ORQ  $4, CX
	BSRQ CX, CX
	SUBQ $2, CX
	SHRQ CX, R8
	LEAQ (R8)(CX*4), R8
	CMPQ R8, $const_codegreenTimeBins
	JCC  slowly
	ADDQ $const_codegreenWholeCall, codegreenTimes_bins(DX)(R8*8)

noted:
	MOVQ $0, codegreenNode_begun(DI)

unknown:
	ADDTIME(SI, DI)
	STAND(BX)
	RET

least:
	MOVQ R8, codegreenTimes_least(DX)
	JMP  longer

most:
	MOVQ R8, codegreenTimes_most(DX)
	JMP  bin

late:
slowly:
	MOVL BX, AX
	JMP runtime·codegreenExitSlowly<ABIInternal>(SB)

paced:
	COUNTED(timed)
	MOVL g_codegreenNode(R14), SI
	NODE(SI, DI)
	CMPL codegreenNode_short(DI), $0
	JEQ  timed
	CMPQ codegreenNode_begun(DI), $0
	JNE  timed
	COUNT(SI, DI, BX)
	RET

timed:
	MOVL BX, AX
	JMP runtime·codegreenExitPaced<ABIInternal>(SB)

// func codegreenPlace(site, back uint32)
TEXT runtime·codegreenPlace<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	MOVL AX, R8
	CMPQ g_codegreenSlot(R14), $0
	JNE  slowly
	SLOT
	MOVL g_codegreenNode(R14), CX
	NODE(CX, DI)
	ORL  $const_codegreenPlaceNode, AX
	CMPL codegreenNode_child(DI), AX
	JNE  other
	MOVL (codegreenNode_child+4)(DI), SI

known:
	CLOCK
	ADDTIME(CX, DI)
	NODE(SI, R10)
	ADDQ $1, codegreenNode_calls(R10)
	MOVQ codegreenNode_begun(DI), R13
	MOVQ $0, codegreenNode_begun(DI)
	MOVQ R13, codegreenNode_begun(R10)
	STAND(SI)
	RET

other:
	CMPL codegreenNode_other(DI), AX
	JNE  missed
	MOVL (codegreenNode_other+4)(DI), SI
	JMP  known

missed:
	MOVL R8, AX
	JMP runtime·codegreenPlaceMissed<ABIInternal>(SB)

late:
slowly:
	MOVL R8, AX
	JMP runtime·codegreenPlaceSlowly<ABIInternal>(SB)

// func codegreenExitWord()
TEXT runtime·codegreenExitWord<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CALLER(AX)
	JMP runtime·codegreenExitWordSlowly<ABIInternal>(SB)

// func codegreenCycles() uint64
TEXT runtime·codegreenCycles<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	RET
