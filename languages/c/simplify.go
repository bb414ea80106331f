package c

import (
	"bytes"

	"cg/instrument/syntax"
)

// isWhole reports whether the grammar has placed all of a block.
func isWhole(tree *syntax.Tree, body int) bool {
	for k := body; k < tree.After(body); k++ {
		if n := tree.Nodes[k]; n.Error || n.Type == "ERROR" || n.Missing && n.Start != n.End {
			return false
		}
	}
	return true
}

// again parses the block of a function by itself, without what the grammar does not have (simplify). body is the
// block's node, -1 where the grammar cannot place it either.
func (p *parser) again(f *planned) (of *parser, body int) {
	const head = "int f()"
	text := append([]byte(head), p.tree.Source[f.open:f.close+1]...)
	simplify(text[len(head):])
	if !p.made {
		p.replaceMacros(text[len(head):])
	}
	tree, err := p.dialect.grammar().Parse(text, syntax.Deadline)
	if err != nil {
		return p, -1
	}
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		if n.Type == "compound_statement" && n.Start == len(head) && n.End == len(text) && isWhole(tree, i) {
			body = i
			break
		}
	}
	for i := range tree.Nodes {
		tree.Nodes[i].Start += f.open - len(head)
		tree.Nodes[i].End += f.open - len(head)
	}
	tree.Source = p.tree.Source
	again := *p
	again.tree = tree
	if body == 0 {
		return p, -1
	}
	return &again, body
}

// simplify puts other expressions in the place of those that only compilers have: statements in expressions, ({ }),
// addresses of labels, &&label, jumps to such, goto *p, ranges of cases, 1 ... 5, and imaginary numbers. Nothing moves.
func simplify(text []byte) {
	before := byte(0) // the last byte that is no space
	for at := 0; at < len(text); at++ {
		if next := skip(text, at); next > at {
			before, at = '"', next-1
			continue
		}
		rest := text[at:]
		switch c := text[at]; {
		case c == '(' && startsWith(rest[1:], "{"):
			if end := closing(text, at); end > 0 {
				blank(text[at+1 : end-1])
				text[at+1], at = '0', end-1
			}
		case bytes.HasPrefix(rest, []byte("&&")) && !isWord(before) && before != ')' && before != ']' && before != '"':
			copy(rest, "+ ")
		case bytes.HasPrefix(rest, []byte("...")) && (isWord(before) || before == '\'' || before == '"') &&
			!startsWith(rest[3:], ")") && !startsWith(rest[3:], ",") && !startsWith(rest[3:], ">"):
			copy(rest, " + ")
		case bytes.HasPrefix(rest, []byte("goto")) && !isWord(before) && startsWith(rest[4:], "*"):
			if end := bytes.IndexByte(rest, ';'); end > 0 {
				blank(rest[4:end])
				rest[5] = 'x'
				at += end
			}
		}
		if isWord(text[at]) && !isWord(byteBefore(text, at)) {
			end := at
			for ; end < len(text) && isWord(text[end]); end++ {
			}
			switch word := text[at:end]; {
			case string(word) == "_Complex" || string(word) == "__complex__":
				blank(word)
			case word[0] >= '0' && word[0] <= '9' && !bytes.ContainsAny(word, "xX"):
				for k := len(word) - 1; k > 0 && word[k] > '9' && bytes.ContainsAny(word, "iIjJ"); k-- {
					word[k] = '0'
				}
			}
		}
		if !bytes.ContainsRune([]byte(" \t\n"), rune(text[at])) {
			before = text[at]
		}
	}
}

func byteBefore(text []byte, at int) byte {
	if at == 0 {
		return ' '
	}
	return text[at-1]
}

// startsWith reports whether a text has a word behind its spaces.
func startsWith(text []byte, word string) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\n"), []byte(word))
}
