package unwind

// columns is how many registers have rules: those of x86-64 with the return address.
const columns = 17

// The registers by DWARF's numbers (System V ABI for x86-64, figure 3.36).
const (
	FramePointer = 6
	StackPointer = 7
	Address      = 16
)

// Frame is the registers of a thread in a function.
type Frame struct {
	Registers [columns]uint64
	// Exact is set where the address is that of the next instruction, as in the innermost
	// function; else it is behind a call.
	Exact bool
}

// Lookup is the address by which the function of a frame is found: in the call, where the frame is
// that of a caller.
func (f *Frame) Lookup() uint64 {
	if f.Exact {
		return f.Registers[Address]
	}
	return f.Registers[Address] - 1
}

// Memory reads the 8 bytes at an address, false where they are not known.
type Memory func(at uint64) (uint64, bool)

// rule says how a register of the caller is found.
type rule struct {
	kind       kind
	n          int64 // offset from the frame's address, or a register
	expression []byte
}

type kind byte

const (
	same kind = iota
	undefined
	offset     // it is stored there
	value      // it is that address
	register   // it is in that register
	stored     // it is stored where the expression says
	expression // it is what the expression says
)

// rules are those at an instruction.
type rules struct {
	frame     rule // of the canonical frame address (CFA): register n + plus, or an expression
	plus      int64
	registers [columns]rule
}

// Step changes a frame into that of the caller. bias is where the file lies in memory, less where
// it was linked to be. It tells false, and no error, where there is no caller.
func (t *Table) Step(f *Frame, bias uint64, memory Memory) (more bool, err error) {
	e := t.find(f.Lookup() - bias)
	if e == nil {
		return false, ErrNone
	}
	var initial, at rules
	for i := range initial.registers {
		initial.registers[i].kind = same
	}
	at = initial
	if err := at.run(e.common, e.common.program, 0, nil); err != nil {
		return false, err
	}
	initial = at
	if err := at.run(e.common, e.program, f.Lookup()-bias-e.start, &initial); err != nil {
		return false, err
	}
	frame, ok := at.address(f, memory)
	if !ok {
		return false, errBad
	}
	if at.registers[e.common.returns].kind == undefined {
		return false, nil
	}
	next := Frame{Registers: f.Registers, Exact: e.common.signal}
	next.Registers[StackPointer] = frame
	for i, r := range at.registers {
		if next.Registers[i], ok = r.apply(i, frame, &next, f, memory); !ok {
			return false, errBad
		}
	}
	next.Registers[Address] = next.Registers[e.common.returns]
	if frame <= f.Registers[StackPointer] && !e.common.signal {
		return false, errBad
	}
	*f = next
	return f.Registers[Address] != 0, nil
}

// address is the frame's.
func (at *rules) address(f *Frame, memory Memory) (uint64, bool) {
	switch at.frame.kind {
	case register:
		return f.Registers[at.frame.n] + uint64(at.plus), true
	case expression:
		return evaluate(at.frame.expression, f, 0, false, memory)
	}
	return 0, false
}

// apply is the value of register i in the caller.
func (r rule) apply(i int, frame uint64, next, f *Frame, memory Memory) (uint64, bool) {
	switch r.kind {
	case offset:
		return memory(frame + uint64(r.n))
	case value:
		return frame + uint64(r.n), true
	case register:
		return f.Registers[r.n], true
	case stored:
		at, ok := evaluate(r.expression, f, frame, true, memory)
		if !ok {
			return 0, false
		}
		return memory(at)
	case expression:
		return evaluate(r.expression, f, frame, true, memory)
	}
	return next.Registers[i], true
}
