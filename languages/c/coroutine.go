package c

import (
	"bytes"
	"slices"
	"strings"

	"cg/instrument/edit"
)

// wait is a place at which a coroutine of C++ may be suspended: co_await x, or co_yield x.
type wait struct {
	start    int  // of its word
	operand  int  // where x begins
	end      int  // behind x
	computed bool // x has calls: the coroutine leaves behind them
}

const (
	awaitWord  = "co_await"
	yieldWord  = "co_yield"
	returnWord = "co_return"
)

// unplacedWaits is why a coroutine is left alone.
const unplacedWaits = "is a coroutine, and the grammar does not place where it waits"

// waits finds where a function is suspended, if it is a coroutine. placed is false if there are words
// whose operands are not known.
func (p *parser) waits(body int) (all []wait, is, placed bool) {
	words, inner := map[int]bool{}, p.innerBodies(body)
	open, end := p.tree.Nodes[body].Start, p.tree.Nodes[body].End
	scan(p.tree.Source[open:end], func(from, to int) int {
		for _, b := range inner {
			if b.start <= open+from && open+from < b.end {
				return b.end - open
			}
		}
		switch string(p.tree.Source[open+from : open+to]) {
		case awaitWord, yieldWord:
			words[open+from], is = true, true
		case returnWord:
			is = true
		}
		return to
	})
	for k := body + 1; k < p.tree.After(body) && is; k++ {
		n := p.tree.Nodes[k]
		if !words[n.Start] || n.Type != "co_await_expression" && n.Type != "co_yield_statement" {
			continue
		}
		if w, known := p.wait(k); known {
			all = append(all, w)
			delete(words, n.Start)
		}
	}
	for start := range words {
		w, known := p.yields(start, end)
		if !known {
			return nil, is, false
		}
		all = append(all, w)
	}
	// Of those that begin at one place, the outer one comes first.
	slices.SortStableFunc(all, func(a, b wait) int { return a.start - b.start })
	return all, is, true
}

// innerBodies are the blocks of the functions and lambdas in a body.
func (p *parser) innerBodies(body int) (all []back) {
	for k := body + 1; k < p.tree.After(body); k++ {
		if t := p.tree.Nodes[k].Type; t != "lambda_expression" && t != "function_definition" {
			continue
		}
		if b := p.body(k); b >= 0 {
			all = append(all, back{p.tree.Nodes[b].Start, p.tree.Nodes[b].End})
			k = p.tree.After(b) - 1
		}
	}
	return all
}

// wait is the one of a node of the grammar: its operand is the last that the node has.
func (p *parser) wait(k int) (w wait, known bool) {
	operand := -1
	p.tree.Children(k, func(c int) {
		if n := p.tree.Nodes[c]; n.Named && n.Type != "comment" {
			operand = c
		}
	})
	if operand < 0 || p.tree.Nodes[operand].Missing {
		return w, false
	}
	o := p.tree.Nodes[operand]
	behind := bytes.TrimLeft(p.tree.Source[p.tree.Nodes[k].Start+len(yieldWord):], " \t\n")
	if len(behind) > 0 && behind[0] == '{' {
		return w, false // a list, for which the grammar takes a type to be missing
	}
	w = wait{start: p.tree.Nodes[k].Start, operand: o.Start, end: o.End}
	for n := operand; n < p.tree.After(operand); n++ {
		switch p.tree.Nodes[n].Type {
		case "ERROR":
			return w, false
		case "call_expression", "co_await_expression", "compound_literal_expression", "new_expression":
			w.computed = true
		}
	}
	return w, true
}

// yields finds the operand of a co_yield that the grammar does not have: a list in braces, or what
// goes on to the end of a statement.
func (p *parser) yields(start, end int) (w wait, known bool) {
	source := p.tree.Source
	if !bytes.HasPrefix(source[start:], []byte(yieldWord)) {
		return w, false
	}
	at := start + len(yieldWord)
	for at < end && strings.IndexByte(" \t\n", source[at]) >= 0 {
		at++
	}
	w = wait{start: start, operand: at, computed: true}
	if at == end {
		return w, false
	}
	if source[at] == '{' {
		w.end, w.computed = closing(source, at), false
		return w, w.end > 0
	}
	outermost(source[at:end], func(i int) {
		switch c := source[at+i]; {
		case w.end != 0:
		case c == ',': // which may stand between the arguments of a template
			w.end = -1
		case c == ';' || c == ')' || c == ']' || c == '}':
			w.end = at + i
		}
	})
	return w, w.end > at
}

// waiting declares what a coroutine tells of itself: in the place of the variable that other functions
// have, it has one that knows whether its frame is on the thread's stack. A coroutine that is destroyed while it
// waits goes on for that.
//
// A wait is (__codegreen_waits{call}, co_await __codegreen_away(call, x)). What is awaited may be of any type, void
// and references among them: the comma of the language keeps it, and with it whether it is an object of its own or
// refers to one. Where it is an lvalue, the other comma says at once that the coroutine goes on; else the end
// of the whole expression does.
const waiting = `namespace {
struct __codegreen_frame {
	unsigned long long __call;
	unsigned __site;
	bool __away;
	__attribute__((__always_inline__, __no_instrument_function__))
	explicit __codegreen_frame(unsigned __number) noexcept
		: __call(__number ? __codegreen_enter(__number) : 0), __site(__number), __away(false) { }
	__codegreen_frame(const __codegreen_frame &) = delete;
	__attribute__((__always_inline__, __no_instrument_function__)) ~__codegreen_frame()
	{
		__back();
		if (__call)
			__codegreen_exit(__call);
	}
	__attribute__((__always_inline__, __no_instrument_function__)) void __leave() noexcept
	{
		if (__call && !__away)
			__away = __codegreen_suspend(__call);
	}
	__attribute__((__always_inline__, __no_instrument_function__)) void __back() noexcept
	{
		if (__away) {
			__call = __codegreen_resume(__site);
			__away = false;
		}
	}
};
struct __codegreen_waits {
	__codegreen_frame *__frame;
	__attribute__((__always_inline__, __no_instrument_function__))
	explicit __codegreen_waits(__codegreen_frame *__of) noexcept
		: __frame(__of) { }
	__codegreen_waits(const __codegreen_waits &) = delete;
	__attribute__((__always_inline__, __no_instrument_function__)) ~__codegreen_waits() { __frame->__back(); }
};
template <typename __type> struct __codegreen_lasting { };
template <typename __type> struct __codegreen_lasting<__type &> { typedef __type &__is; };
template <typename __type> __attribute__((__always_inline__, __no_instrument_function__))
inline typename __codegreen_lasting<__type>::__is
operator,(__codegreen_waits &&__of, __type &&__value) noexcept
{
	__of.__frame->__back();
	return __value;
}
template <typename __type> __attribute__((__always_inline__, __no_instrument_function__)) inline __type &&
__codegreen_away(__codegreen_frame *__of, __type &&__value) noexcept
{
	__of->__leave();
	return static_cast<__type &&>(__value);
}
__attribute__((__always_inline__, __unused__, __no_instrument_function__)) inline __codegreen_frame *
__codegreen_leaves(__codegreen_frame *__of) noexcept
{
	__of->__leave();
	return __of;
}
}
`

// guardWaiting is the guard of a coroutine.
const guardWaiting = `__codegreen_frame __codegreen_call(%s);`

// waitEdits put the events of a coroutine around its waits: it leaves when the operand has been
// computed, and is back when there is a value.
func waitEdits(all []wait) (edits []edit.Edit) {
	for _, w := range all {
		begin, operand, end := "(__codegreen_waits(__codegreen_leaves(&__codegreen_call)), ", "", ")"
		if w.computed {
			begin, operand, end = "(__codegreen_waits(&__codegreen_call), ",
				"__codegreen_away(&__codegreen_call, ", "))"
		}
		edits = append(edits, edit.Edit{Start: w.start, End: w.start, New: begin},
			edit.Edit{Start: w.operand, End: w.operand, New: operand}, edit.Edit{Start: w.end, End: w.end, New: end})
	}
	return edits
}
