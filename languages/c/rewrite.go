package c

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
)

// declarations stand before the text of a unit that has checkpoints. The compiler takes them
// for a system header's (flag 3), so no option of the user's makes it warn of them.
const declarations = `static unsigned __codegreen_sites[%d];
%s
`

// leave ends a call. That of C++ is for lambdas, too, which the compiler may compute.
const (
	leave = `static __inline__ void __attribute__((__always_inline__, __unused__, __no_instrument_function__)) ` +
		`__codegreen_leave(const unsigned long long *__call)
{
	if (*__call)
		__codegreen_exit(*__call);
}`
	leaveComputed = `static __inline__ constexpr int __attribute__((__always_inline__, __unused__, ` +
		`__no_instrument_function__)) __codegreen_left(const unsigned long long *__call)
{
	return *__call ? (__codegreen_exit(*__call), 0) : 0;
}`
)

// linkedIn are the functions of a program that has the checkpoints in itself.
const linkedIn = `%sextern unsigned long long __codegreen_enter(unsigned);
extern void __codegreen_exit(unsigned long long);
extern int __codegreen_back(unsigned long long, int);
extern void __codegreen_unit(unsigned *, const char *);
extern int __codegreen_suspend(unsigned long long);
extern unsigned long long __codegreen_resume(unsigned);
extern unsigned __codegreen_instance(unsigned *, unsigned, const char *, const char *);
extern void __codegreen_place(unsigned long long, unsigned);
%s`

// loadedIn are those of a program, a library or a plug-in that a build of the user's links: it
// loads the library with the checkpoints when it begins, if the environment names one. So there is one in
// a process, whatever is in how many libraries, and none in a process without cg. The
// loader's functions are found where the program has them by itself (weak), so that no link
// fails for them; %[3]s is that attribute.
const loadedIn = `%[1]sextern void *__codegreen_open(const char *, int) __asm__("dlopen")%[3]s;
extern void *__codegreen_find(void *, const char *) __asm__("dlsym")%[3]s;
extern char *__codegreen_variable(const char *) __asm__("secure_getenv")%[3]s;
%[2]sstatic unsigned long long (*__codegreen_enter)(unsigned);
static void (*__codegreen_exit)(unsigned long long);
static int (*__codegreen_again)(unsigned long long, int);
static int (*__codegreen_suspend)(unsigned long long);
static unsigned long long (*__codegreen_resume)(unsigned);
static unsigned (*__codegreen_instance)(unsigned *, unsigned, const char *, const char *);
static void (*__codegreen_place)(unsigned long long, unsigned);
static __inline__ int __attribute__((__always_inline__, __unused__, __no_instrument_function__)) __codegreen_back(unsigned long long __call, int __value)
{
	return __codegreen_again ? __codegreen_again(__call, __value) : __value;
}
struct __codegreen_functions {
	unsigned long long (*__enter)(unsigned);
	void (*__exit)(unsigned long long);
	int (*__back)(unsigned long long, int);
	void (*__unit)(unsigned *, const char *);
	int (*__suspend)(unsigned long long);
	unsigned long long (*__resume)(unsigned);
	unsigned (*__instance)(unsigned *, unsigned, const char *, const char *);
	void (*__place)(unsigned long long, unsigned);
};
static void __attribute__((__unused__, __no_instrument_function__)) __codegreen_unit(unsigned *__sites, const char *__records)
{
	const char *__path;
	void *__library;
	const struct __codegreen_functions *(*__functions)(void), *__given;
	if (!__codegreen_variable || !__codegreen_open || !__codegreen_find)
		return;
	__path = __codegreen_variable("CG_C_RUNTIME");
	if (!__path || !*__path || !(__library = __codegreen_open(__path, 2)))
		return;
	__functions = (const struct __codegreen_functions *(*)(void))__codegreen_find(__library, "__codegreen_functions");
	if (!__functions || !(__given = __functions()))
		return;
	__codegreen_enter = __given->__enter;
	__codegreen_exit = __given->__exit;
	__codegreen_again = __given->__back;
	__codegreen_suspend = __given->__suspend;
	__codegreen_resume = __given->__resume;
	__codegreen_instance = __given->__instance;
	__codegreen_place = __given->__place;
	__given->__unit(__sites, __records);
}
`

// declared gives the declarations of a unit.
func (u *unitPlan) declared() string {
	begin, end := "", ""
	if u.dialect.scoped {
		begin, end = "extern \"C\" {\n", "}\n"
	}
	leaves := leave
	if slices.ContainsFunc(u.funcs, func(f planned) bool { return f.spread }) {
		leaves += "\n" + leaveApart(leave)
	}
	if slices.ContainsFunc(u.funcs, u.computed) {
		leaves += "\n" + leaveComputed
	}
	count := len(u.funcs)
	for _, f := range u.funcs {
		count += len(f.places)
	}
	sites := fmt.Sprintf(declarations, count, leaves)
	if slices.ContainsFunc(u.funcs, func(f planned) bool { return f.suspends }) {
		sites += waiting
	}
	if u.apart {
		sites = strings.ReplaceAll(sites, "__always_inline__, ", "")
	}
	if !u.loaded {
		return fmt.Sprintf(linkedIn, begin, end) + sites
	}
	weak := " __attribute__((__weak__))"
	if bytes.Contains(u.text.source, []byte("dlopen")) || bytes.Contains(u.text.source, []byte("secure_getenv(")) {
		weak = "" // the program has them, and a static link is to find them
	}
	loaded := loadedIn
	if u.apart {
		loaded = strings.ReplaceAll(loaded, "__always_inline__, ", "")
	}
	return fmt.Sprintf(loaded, begin, end, weak) + sites
}

// registration stands behind the text: before all other constructors, the sites get their numbers.
const registration = `
# 1 "<codegreen>" 3
static void __attribute__((__constructor__(101), __used__, __no_instrument_function__)) __codegreen_begin(void)
{
	__codegreen_unit(__codegreen_sites, %s);
}
`

// guard begins a call, and ends it when the compiler leaves its scope. guardComputed is the same
// in a function that the compiler may compute, where it records nothing.
const guard = `unsigned long long __codegreen_call __attribute__((__cleanup__(__codegreen_leave), __unused__)) = ` +
	`%s ? __codegreen_enter(%s) : 0;`

var guardComputed = strings.NewReplacer("_leave", "_left", " = ", " = __builtin_is_constant_evaluated() ? 0 : ").
	Replace(guard)

// placeName names a function by where it stands.
func placeName(path string, line int) string { return fmt.Sprintf("%s:%d", path, line) }

// rewrite gives the text of a unit with its checkpoints.
func (u *unitPlan) rewrite() ([]byte, error) {
	if len(u.funcs) == 0 {
		return u.text.source, nil
	}
	records, order := u.records()
	at, first := u.text.firstContent()
	edits := []edit.Edit{{Start: at, End: at, New: "# 1 \"<codegreen>\" 3\n" + u.declared() +
		fmt.Sprintf("# %d %s\n", first.line, first.marked())}}
	for i, f := range u.funcs {
		r, line, col := u.text.place(f.begin)
		place := fmt.Sprintf("# %d %s", line, r.quoted)
		var pad string
		if u.text.source[f.begin] != '\n' {
			pad = strings.Repeat(" ", col-1) // columns of messages stay
		}
		back := place
		if r.system() {
			back += " 3"
		}
		edits = append(edits, edit.Edit{Start: f.begin, End: f.begin,
			New: fmt.Sprintf("\n%s 3\n%s\n%s\n%s", place,
				u.guardOf(f, order[i]), back, pad)})
		edits = append(edits, f.placeEdits(order[i])...)
		edits = append(edits, waitEdits(f.waits)...)
		for _, b := range f.back {
			edits = append(edits, edit.Edit{Start: b.start, End: b.start, New: "__codegreen_back(__codegreen_call, "},
				edit.Edit{Start: b.end, End: b.end, New: ")"})
		}
	}
	last := len(u.text.source)
	edits = append(edits, edit.Edit{Start: last, End: last, New: fmt.Sprintf(registration, quote(records))})
	return edit.Apply(u.text.source, edits)
}

// leaveApart makes what ends the calls of functions that are declared to be inlined, of what ends a call: a
// function that is in each place where they are would make the compiler's work much longer.
var leaveApart = strings.NewReplacer("__always_inline__", "__noinline__", "_leave", "_apart").Replace

// guardOf gives the guard of a function whose site has a number in the unit.
func (u *unitPlan) guardOf(f planned, number int) string {
	site, before := fmt.Sprintf("__codegreen_sites[%d]", number), ""
	own := site
	if u.instances && f.templated {
		before, own = instanceNumber, fmt.Sprintf(instanceOf, site, quote([]string{f.path, siteLines(f.site)}))
	}
	switch {
	case f.suspends:
		return before + fmt.Sprintf(guardWaiting, own)
	case u.computed(f):
		return fmt.Sprintf(guardComputed, site, site)
	}
	form := guard
	if f.spread {
		form = leaveApart(guard)
	}
	return before + fmt.Sprintf(form, site, own)
}

// Instances of a template are functions of their own (--instances): each has a variable, and asks for its number
// when its first call begins.
const (
	instanceNumber = "static unsigned __codegreen_number; "
	instanceOf     = `(__codegreen_number || !%[1]s ? __codegreen_number : __codegreen_instance(&__codegreen_number, ` +
		`%[1]s, %[2]s, __PRETTY_FUNCTION__))`
)

// computed reports whether the compiler may compute a function that has a checkpoint.
func (u *unitPlan) computed(f planned) bool {
	return f.kind == checkpoint.Lambda && !f.suspends && !u.uncomputed
}

// firstContent is where the text begins that has more than line markers, and the marker before
// it. What stands before is of the compiler alone.
func (t *text) firstContent() (at int, r region) {
	for i, r := range t.regions[1:] {
		end := len(t.source)
		if i+2 < len(t.regions) {
			end = t.regions[i+2].start // with the marker of the next one
		}
		for line := range bytes.Lines(t.source[r.start:end]) {
			if _, is := parseMarker(line); !is && len(bytes.TrimSpace(line)) > 0 {
				return r.start, r
			}
		}
	}
	return t.beginning()
}

// marked is the region's file and what kind of header it is, as a marker has them.
func (r region) marked() string {
	if r.system() {
		return r.quoted + " 3"
	}
	return r.quoted
}

// beginning is where the source file begins in its text, behind the marker that says so, and
// that marker.
func (t *text) beginning() (at int, main region) {
	for _, r := range t.regions[1:] {
		if main.quoted == "" {
			main, at = r, r.start
			continue
		}
		if r.quoted == main.quoted && r.line == 1 {
			return r.start, r
		}
	}
	if main.line == 0 { // GCC begins so
		main.line = 1
	}
	return at, main
}

// records are the tables of the unit's files, as __codegreen_unit reads them. order has the
// number of each function's site among all; those of its places follow.
func (u *unitPlan) records() (records []string, order []int) {
	order = make([]int, len(u.funcs))
	var paths []string
	for _, f := range u.funcs {
		if !slices.Contains(paths, f.path) {
			paths = append(paths, f.path)
		}
	}
	next := 0
	for _, path := range paths {
		// The functions of the source file have one table. One of a header has a table of its
		// own: it is the same site in each unit that has it.
		var sites []checkpoint.Site
		for i, f := range u.funcs {
			if f.path != path {
				continue
			}
			own := append([]checkpoint.Site{f.site}, f.places...)
			if order[i] = next; path != u.path {
				records = append(records, path, siteLines(own...))
			}
			next += len(own)
			sites = append(sites, own...)
		}
		if path == u.path {
			records = append(records, path, siteLines(sites...))
		}
	}
	return append(records, ""), order
}

func siteLines(sites ...checkpoint.Site) string {
	return instrument.SiteLines(&instrument.Plan{Sites: sites})
}

// quote writes texts as one string of C; each ends with 0.
func quote(texts []string) string {
	var b strings.Builder
	for _, s := range texts {
		b.WriteByte('"')
		for line := range strings.Lines(s) {
			for i := range len(line) {
				switch c := line[i]; {
				case c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '?':
					fmt.Fprintf(&b, `\%03o`, c)
				default:
					b.WriteByte(c)
				}
			}
			if strings.HasSuffix(line, "\n") {
				b.WriteString("\"\n\t\t\"")
			}
		}
		b.WriteString(`\000"` + "\n\t\t")
	}
	return strings.TrimSpace(b.String())
}
