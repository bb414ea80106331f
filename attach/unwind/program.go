package unwind

// The most states that are kept at once, and the most bytes of a program that are read.
const mostRemembered, mostProgram = 64, 1 << 14

// run executes instructions (DWARF 5, 6.4.2) up to an offset from the start of the function.
// initial is the rules of the common entry.
func (at *rules) run(c *common, program []byte, until uint64, initial *rules) error {
	if len(program) > mostProgram {
		return errBad
	}
	r := &reader{bytes: program}
	var kept []rules
	passed := uint64(0)
	for r.at < len(program) && !r.failed {
		op := byte(r.number(1))
		low := uint64(op & 0x3f)
		switch op >> 6 {
		case 1:
			passed += low * c.code
		case 2:
			at.set(low, rule{kind: offset, n: int64(r.unsigned()) * c.data})
		case 3:
			at.restore(low, initial)
		default:
			switch op {
			case 0x02, 0x03, 0x04: // advance_loc1, 2, 4
				passed += r.number(1<<(op-2)) * c.code
			case 0x0a: // remember_state
				if len(kept) == mostRemembered {
					return errBad
				}
				kept = append(kept, *at)
			case 0x0b: // restore_state
				if len(kept) == 0 {
					return errBad
				}
				*at = kept[len(kept)-1]
				kept = kept[:len(kept)-1]
			default:
				if !at.define(op, r, c, initial) {
					return errBad
				}
			}
		}
		if passed > until {
			return nil
		}
	}
	if r.failed {
		return errBad
	}
	return nil
}

// define executes an instruction that changes rules, false for one that is not known.
func (at *rules) define(op byte, r *reader, c *common, initial *rules) bool {
	switch op {
	case 0x00: // nop
	case 0x05: // offset_extended
		at.set(r.unsigned(), rule{kind: offset, n: int64(r.unsigned()) * c.data})
	case 0x06: // restore_extended
		at.restore(r.unsigned(), initial)
	case 0x07:
		at.set(r.unsigned(), rule{kind: undefined})
	case 0x08:
		at.set(r.unsigned(), rule{kind: same})
	case 0x09:
		to, from := r.unsigned(), r.unsigned()
		if from >= columns {
			return false
		}
		at.set(to, rule{kind: register, n: int64(from)})
	case 0x0c: // def_cfa
		if !at.base(r.unsigned()) {
			return false
		}
		at.plus = int64(r.unsigned())
	case 0x12: // def_cfa_sf
		if !at.base(r.unsigned()) {
			return false
		}
		at.plus = r.signed() * c.data
	case 0x0d: // def_cfa_register
		return at.base(r.unsigned())
	case 0x0e: // def_cfa_offset
		at.plus = int64(r.unsigned())
	case 0x13: // def_cfa_offset_sf
		at.plus = r.signed() * c.data
	case 0x0f: // def_cfa_expression
		at.frame = rule{kind: expression, expression: block(r)}
	case 0x10:
		at.set(r.unsigned(), rule{kind: stored, expression: block(r)})
	case 0x16:
		at.set(r.unsigned(), rule{kind: expression, expression: block(r)})
	case 0x11: // offset_extended_sf
		at.set(r.unsigned(), rule{kind: offset, n: r.signed() * c.data})
	case 0x14: // val_offset
		at.set(r.unsigned(), rule{kind: value, n: int64(r.unsigned()) * c.data})
	case 0x15: // val_offset_sf
		at.set(r.unsigned(), rule{kind: value, n: r.signed() * c.data})
	case 0x2e: // GNU_args_size
		r.unsigned()
	default:
		return false
	}
	return true
}

// base sets the register from which the frame's address is counted.
func (at *rules) base(n uint64) bool {
	if n >= columns {
		return false
	}
	at.frame = rule{kind: register, n: int64(n)}
	return true
}

// set sets the rule of a register. Those of vectors have none here.
func (at *rules) set(n uint64, to rule) {
	if n < columns {
		at.registers[n] = to
	}
}

func (at *rules) restore(n uint64, initial *rules) {
	if initial != nil && n < columns {
		at.registers[n] = initial.registers[n]
	}
}

func block(r *reader) []byte {
	n := r.unsigned()
	from := r.at
	r.skip(n)
	return r.bytes[from:r.at]
}

// The most that an expression may do.
const mostOperations, mostOperands = 256, 64

// evaluate computes an expression (DWARF 5, 2.5) without branches, as those of compilers and the C
// library have none.
func evaluate(program []byte, f *Frame, frame uint64, pushed bool, memory Memory) (uint64, bool) {
	r := &reader{bytes: program}
	var stack []uint64
	if pushed {
		stack = append(stack, frame)
	}
	for n := 0; r.at < len(program); n++ {
		if n == mostOperations || len(stack) == mostOperands {
			return 0, false
		}
		op := byte(r.number(1))
		if pushedBy, ok := operand(op, r, f); ok {
			stack = append(stack, pushedBy)
			continue
		}
		if stack = operate(op, r, stack, memory); stack == nil {
			return 0, false
		}
	}
	if r.failed || len(stack) == 0 {
		return 0, false
	}
	return stack[len(stack)-1], true
}

// operand is what an operation pushes, false for one that does something else.
func operand(op byte, r *reader, f *Frame) (uint64, bool) {
	switch {
	case op >= 0x30 && op <= 0x4f: // lit0 to lit31
		return uint64(op - 0x30), true
	case op >= 0x70 && op < 0x70+columns: // breg0 to breg16
		return f.Registers[op-0x70] + uint64(r.signed()), true
	}
	switch op {
	case 0x08, 0x0a, 0x0c, 0x0e: // const1u, 2u, 4u, 8u
		return r.number(1 << ((op - 8) / 2)), true
	case 0x09:
		return uint64(int8(r.number(1))), true
	case 0x0b:
		return uint64(int16(r.number(2))), true
	case 0x0d:
		return uint64(int32(r.number(4))), true
	case 0x10: // constu
		return r.unsigned(), true
	case 0x11: // consts
		return uint64(r.signed()), true
	}
	return 0, false
}

// operate does an operation on the stack, nil for one that cannot be done.
func operate(op byte, r *reader, stack []uint64, memory Memory) []uint64 {
	n := len(stack)
	switch {
	case op == 0x12 && n > 0: // dup
		return append(stack, stack[n-1])
	case op == 0x13 && n > 1: // drop
		return stack[:n-1]
	case op == 0x06 && n > 0: // deref
		v, ok := memory(stack[n-1])
		if !ok {
			return nil
		}
		stack[n-1] = v
		return stack
	case op == 0x23 && n > 0: // plus_uconst
		stack[n-1] += r.unsigned()
		return stack
	case n < 2:
		return nil
	}
	a, b := stack[n-2], stack[n-1]
	stack = stack[:n-1]
	truth := func(t bool) uint64 {
		if t {
			return 1
		}
		return 0
	}
	switch op {
	case 0x1a:
		a &= b
	case 0x1c:
		a -= b
	case 0x1e:
		a *= b
	case 0x21:
		a |= b
	case 0x22:
		a += b
	case 0x24:
		a <<= b
	case 0x25:
		a >>= b
	case 0x2a:
		a = truth(int64(a) >= int64(b))
	case 0x2b:
		a = truth(int64(a) > int64(b))
	case 0x2c:
		a = truth(int64(a) <= int64(b))
	case 0x2d:
		a = truth(int64(a) < int64(b))
	default:
		return nil
	}
	stack[n-2] = a
	return stack
}
