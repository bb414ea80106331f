package c

import (
	"strings"
	"testing"
)

// In C++ a function is short only where no operator, copy or declaration of it can be a call.
func TestShort(t *testing.T) {
	source := `typedef unsigned int u32;
using real = double;
enum Color { red, green };
struct text { text(int, int); text(const text &); ~text(); text &operator+=(int); int operator[](int) const; };
struct smart { int *operator->() const; int value; };
struct point { double x, y; int cells[4]; text *name; };
u32 yes_typedef(u32 a, std::size_t b) { return a < b ? a + 1 : a & 7; }
Color yes_enum(int n) { return n ? red : Color::green; }
double yes_fields(const point &p, point *q) { return p.x * q->y + q->cells[2]; }
int yes_body(int n) { int k = n * 2; if (k > 3) { k -= 1; } else k++; return k; }
struct box {
	text words_; int count_; int *data_;
	int yes_count() const { return count_; }
	const text &yes_words() const { return words_; }
	const text *yes_address() { return &words_; }
	box &yes_itself() { count_ = 0; return *this; }
	int yes_at(int i) const { return data_[i]; }
	void yes_set(int n) { this->count_ = n; }
	operator int() const { return count_; }
	operator text() const { return count_; }
	auto yes_told() const -> int { return count_; }
	auto yes_pointer() -> int * { return data_; }
	auto no_told() const -> text { return count_; }
	text no_copy() const { return words_; }
	int no_index(int i) const { return words_[i]; }
	void no_add(int n) { words_ += n; }
	void no_assign(const text &o) { words_ = o; }
};
void no_declared(int n) { text made(n, 1); }
void no_default() { box b; }
int no_arrow(smart s) { return s->value; }
template <typename T> bool no_template(T a, T b) { return a < b; }
bool no_unknown(Other a, Other b) { return a == b; }
`
	parsed, err := plusPlus.parse(newText([]byte(source), true))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	n := 0
	for _, f := range parsed.funcs {
		name := strings.TrimPrefix(f.name, "box::")
		if n++; f.short != (strings.HasPrefix(name, "yes") || name == "operator int") {
			got = append(got, name)
		}
	}
	if n != 24 || len(got) > 0 {
		t.Errorf("%d functions; wrong: %q", n, got)
	}
}
