package attach

import (
	"cmp"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"cg/checkpoint"
)

// Inner counts what functions with checkpoints called that has none, by the looks at a program that has
// checkpoints, too. A look is of the innermost function of its path that has checkpoints.
type Inner struct {
	met, told func() []checkpoint.Site
	own       []string       // files of cg's own, and folders, which end in /
	paths     map[string]int // looks by path, that are of no function so far
	of        map[checkpoint.SiteID]*inside
	looks     int
	ours      int // looks in what functions of own called
}

// inside is what was seen of one function with checkpoints.
type inside struct {
	looks int
	parts map[checkpoint.SiteID]*part // by the number of Inner.met
}

type part struct{ looks, under int }

// Inside is how often a function with checkpoints was seen on a processor, itself or in what it called that has none.
type Inside struct {
	Site  checkpoint.SiteID // of the function
	Looks int
	Parts []Part // what it called, the most frequent first
}

// Part is a function without checkpoints in one that has them. Looks counts it alone, Under with what it called, once
// a look.
type Part struct {
	Site         checkpoint.Site
	Looks, Under int
}

// NewInner counts looks whose paths have the numbers of met. told lists the functions with checkpoints so far. What
// functions of own call, which are files, or folders that end in /, is no part of the program: it is counted by itself.
func NewInner(met, told func() []checkpoint.Site, own []string) *Inner {
	return &Inner{met: met, told: told, own: own, paths: map[string]int{}, of: map[checkpoint.SiteID]*inside{}}
}

// mostInnerPaths is how many paths are kept before they are counted by function.
const mostInnerPaths = 1 << 12

// Add counts a look at a thread that was on a processor.
func (c *Inner) Add(l Look) {
	if l.Waiting || len(l.Path) == 0 {
		return
	}
	key := make([]byte, 0, 4*len(l.Path))
	for _, id := range l.Path {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	c.looks++
	if c.paths[string(key)]++; len(c.paths) >= mostInnerPaths {
		c.fold()
	}
}

// place tells a function from others. Functions of code that was made have no file, and Java's in a map no line.
type place struct {
	name, file string
	line       int
}

// matches finds the function with checkpoints that a function of a look is; 0 for none. Where several have one
// name and place, it is not known which. The two may tell one file by different paths (./m.py, ../lib/m.py), and the
// name of its module, too: then a function is known by its own name.
type matches struct {
	exact, short, named map[place]checkpoint.SiteID
	of                  []checkpoint.SiteID // of the functions of looks, by number less 1
	own                 []bool              // which of these are cg's
}

// placed is where a function is, with its whole name and with its own.
func placed(s checkpoint.Site) (whole, short place) {
	whole = place{s.Func, s.File, s.Line}
	if s.File != "" {
		whole.file = filepath.Clean(s.File)
	}
	short = whole
	short.name = s.Func[strings.LastIndexByte(s.Func, '.')+1:]
	return whole, short
}

func matched(met, told []checkpoint.Site, own []string) *matches {
	m := &matches{exact: map[place]checkpoint.SiteID{}, short: map[place]checkpoint.SiteID{},
		named: map[place]checkpoint.SiteID{}}
	add := func(to map[place]checkpoint.SiteID, p place, id checkpoint.SiteID) {
		if _, twice := to[p]; twice {
			id = shared
		}
		to[p] = id
	}
	for i, s := range told {
		if id := checkpoint.SiteID(i + 1); s.ID == id && s.Kind != checkpoint.Task && !s.Kind.IsPlace() {
			whole, short := placed(s)
			add(m.exact, whole, id)
			add(m.short, short, id)
			add(m.named, place{s.Func, s.Language, 0}, id)
		}
	}
	for _, s := range met {
		whole, short := placed(s)
		id := m.exact[whole]
		if id == 0 {
			id = m.short[short]
		}
		if s.Line == 0 {
			id = m.named[place{s.Func, s.Language, 0}]
		}
		m.of = append(m.of, id)
		m.own = append(m.own, slices.ContainsFunc(own, func(name string) bool {
			return s.File == name || strings.HasSuffix(name, "/") && strings.HasPrefix(s.File, name)
		}))
	}
	return m
}

// fold counts the paths that were kept by function.
func (c *Inner) fold() {
	m := matched(c.met(), c.told(), c.own)
	var path []checkpoint.SiteID
	for key, n := range c.paths {
		path = path[:0]
		for at := 0; at < len(key); at += 4 {
			path = append(path, checkpoint.SiteID(binary.LittleEndian.Uint32([]byte(key[at:at+4]))))
		}
		c.count(m, path, n)
	}
	clear(c.paths)
}

// count counts n looks of a path.
func (c *Inner) count(m *matches, path []checkpoint.SiteID, n int) {
	from := len(path) - 1
	for from >= 0 && m.site(path[from]) == 0 {
		from--
	}
	if from < 0 || m.site(path[from]) == shared {
		return
	}
	below := path[from+1:]
	if slices.ContainsFunc(below, func(id checkpoint.SiteID) bool { return m.own[id-1] }) {
		c.looks -= n
		c.ours += n
		return
	}
	f := c.of[m.site(path[from])]
	if f == nil {
		f = &inside{parts: map[checkpoint.SiteID]*part{}}
		c.of[m.site(path[from])] = f
	}
	f.looks += n
	for i, id := range below {
		p := f.parts[id]
		if p == nil {
			p = &part{}
			f.parts[id] = p
		}
		if !slices.Contains(below[:i], id) {
			p.under += n
		}
		if i == len(below)-1 {
			p.looks += n
		}
	}
}

// site is the function with checkpoints that a function of a look is, 0 for none.
func (m *matches) site(id checkpoint.SiteID) checkpoint.SiteID {
	if id == 0 || int(id) > len(m.of) {
		return 0
	}
	return m.of[id-1]
}

// All lists the functions with checkpoints that were seen, in the order of their numbers; how many looks were
// of no such function, or of one that several have the name and place of; and how many were in cg's own code.
func (c *Inner) All() (all []Inside, outside, ours int) {
	c.fold()
	met := c.met()
	outside = c.looks
	for id, f := range c.of {
		outside -= f.looks
		one := Inside{Site: id, Looks: f.looks}
		for part, n := range f.parts {
			one.Parts = append(one.Parts, Part{Site: met[part-1], Looks: n.looks, Under: n.under})
		}
		slices.SortFunc(one.Parts, func(a, b Part) int {
			return cmp.Or(b.Looks-a.Looks, b.Under-a.Under, cmp.Compare(a.Site.Func, b.Site.Func),
				cmp.Compare(a.Site.ID, b.Site.ID))
		})
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Inside) int { return int(a.Site) - int(b.Site) })
	return all, outside, c.ours
}
