package stream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Spell writes the stream as Python's json.dumps does: ASCII, with a space behind commas and colons. What Python
// wrote comes out as it was, to the byte; of other texts, everything but the space between.
func (s *Stream) Spell(w io.Writer) error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in, out := bufio.NewReaderSize(s.f, 1<<16), bufio.NewWriterSize(w, 1<<16)
	if err := respell(in, out); err != nil {
		return err
	}
	return out.Flush()
}

// respell writes a text of JSON, which is known to be valid. An error of out comes when it is
// flushed.
func respell(in *bufio.Reader, out *bufio.Writer) error {
	inside, escaped := false, false
	for {
		c, size, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case c == utf8.RuneError && size == 1:
			out.WriteString(`\ufffd`)
		case c > 0xffff:
			hi, lo := utf16.EncodeRune(c)
			fmt.Fprintf(out, `\u%04x\u%04x`, hi, lo)
		case c > '~':
			fmt.Fprintf(out, `\u%04x`, c)
		case inside || c != ' ' && c != '\t' && c != '\n' && c != '\r':
			out.WriteByte(byte(c))
			if !inside && (c == ',' || c == ':') {
				out.WriteByte(' ')
			}
		}
		if c == '"' && !escaped {
			inside = !inside
		}
		escaped = inside && c == '\\' && !escaped
	}
}
