package ranks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Names in a folder.
const (
	markerName = "cg-ranks.json"
	ranksDir   = "ranks"
	runsDir    = "runs"
	nodesDir   = "nodes"
	clocksDir  = "clocks"
)

// largest is more than any file of a folder but a report has, in bytes.
const largest = 64 << 20

// Folder is the folder of a run of many ranks.
type Folder struct {
	Dir    string
	Marker Marker
}

// Is reports whether a path is such a folder.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markerName))
	return err == nil
}

// Open opens a folder to read it. It is an error if the folder is of a later layout.
func Open(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	switch err := load(f.path(markerName), &f.Marker); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no folder of ranks: it has no %s (cg measure --ranks DIR makes one)", dir,
			markerName)
	case err != nil:
		return nil, err
	case f.Marker.Size < 0 || f.Marker.Size > most:
		return nil, fmt.Errorf("%s: %d ranks: want a number from 0 to %d", f.path(markerName), f.Marker.Size, most)
	}
	return f, f.known(markerName, f.Marker.Format, f.Marker.CgVersion)
}

// known refuses a file of another layout, or of another version of cg than the folder.
func (f *Folder) known(name string, format int, version string) error {
	switch {
	case format != Version:
		return fmt.Errorf("%s: layout %d, written by cg %s: this cg reads layout %d", f.path(name), format, version,
			Version)
	case version != f.Marker.CgVersion:
		return fmt.Errorf("%s was written by cg %s and %s by cg %s: the ranks of a run need the same version",
			f.path(name), version, f.path(markerName), f.Marker.CgVersion)
	}
	return nil
}

// Create makes the folder of a job, or joins that which another rank has made. A folder of
// another version of cg, of another job, or with another size is refused.
func Create(dir, version string, id Identity) (*Folder, error) {
	for _, sub := range []string{ranksDir, runsDir, nodesDir, clocksDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, fmt.Errorf("--ranks: %w", err)
		}
	}
	f := &Folder{Dir: dir}
	mine := Marker{Format: Version, CgVersion: version, Job: id.Job, Size: id.Size,
		CreatedUnixNs: time.Now().UnixNano()}
	if err := f.first(markerName, mine); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := f.join(); err != nil {
		return nil, err
	}
	m := f.Marker
	switch {
	case m.Format != Version || m.CgVersion != version:
		return nil, fmt.Errorf("%s belongs to ranks that cg %s measures, and this is cg %s: all ranks need the same "+
			"version", dir, m.CgVersion, version)
	case m.Job != id.Job:
		return nil, fmt.Errorf("%s belongs to the job %q, and this is the job %q: name another folder", dir,
			m.Job, id.Job)
	case m.Size != id.Size:
		return nil, fmt.Errorf("%s belongs to a job of %d ranks, and this one has %d: name another folder", dir, m.Size,
			id.Size)
	}
	return f, nil
}

// first writes a file as a whole if there is none of that name yet. The error is
// fs.ErrExist if there is one.
func (f *Folder) first(name string, v any) error {
	whole, err := f.beside(name, v)
	if err != nil {
		return err
	}
	defer os.Remove(whole)
	if err = link(whole, f.path(name)); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links: O_EXCL decides, and who comes next may see
	// the file before it is whole.
	b, err := os.ReadFile(whole)
	if err != nil {
		return err
	}
	to, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = to.Write(b)
	return errors.Join(err, to.Close())
}

// link gives a file a second name, which nobody has. NFS may ask twice, and be told of
// the first time: the number of names decides (open(2), O_EXCL).
func link(file, name string) error {
	err := os.Link(file, name)
	var s unix.Stat_t
	if errors.Is(err, fs.ErrExist) && unix.Stat(file, &s) == nil && s.Nlink == 2 {
		return nil
	}
	return err
}

// beside writes a value into a file of another name, beside its own.
func (f *Folder) beside(name string, v any) (path string, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	path = f.path(name)
	to, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = to.Write(append(b, '\n'))
	if err = errors.Join(err, to.Chmod(0o644), to.Close()); err != nil {
		os.Remove(to.Name())
		return "", err
	}
	return to.Name(), nil
}

// put replaces a file as a whole.
func (f *Folder) put(name string, v any) error {
	whole, err := f.beside(name, v)
	if err != nil {
		return err
	}
	if err := os.Rename(whole, f.path(name)); err != nil {
		os.Remove(whole)
		return err
	}
	return nil
}

// load reads a file.
func load(path string, v any) error {
	b, err := readAll(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// join reads the marker that another rank may still be writing (see first).
func (f *Folder) join() (err error) {
	for range 50 {
		if err = load(f.path(markerName), &f.Marker); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func readAll(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, largest+1))
	if err == nil && len(b) > largest {
		err = fmt.Errorf("%s: more than %d bytes: not a file of cg", path, largest)
	}
	return b, err
}

func (f *Folder) path(name string) string { return filepath.Join(f.Dir, name) }

// Clocks is the folder of the exchange between clocks.
func (f *Folder) Clocks() string { return f.path(clocksDir) }

// RankFile, RunFile and NodeFile are the names of files, relative to the folder.
func RankFile(rank int) string { return fmt.Sprintf("%s/%06d.json", ranksDir, rank) }

// RunFile is that of a rank's report.
func RunFile(rank int) string { return fmt.Sprintf("%s/%06d.json", runsDir, rank) }

// NodeFile is that of a node's record.
func NodeFile(record string) string { return nodesDir + "/" + record + ".json" }

// Begin writes the file of a rank for the first time. It is an error if there is one: the
// folder is of another run, or another process of this run has the same rank. Of several
// that begin at the same time one succeeds.
func (f *Folder) Begin(r Rank) error {
	err := f.first(RankFile(r.Rank), r)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	var there Rank
	if load(f.path(RankFile(r.Rank)), &there) == nil && there.State == Running && there.Node != "" {
		return fmt.Errorf("%s: rank %d is there already: process %d on %s has it. Give each process a rank of its own "+
			"(CG_RANK), or name another folder", f.Dir, r.Rank, there.PID, there.Node)
	}
	return fmt.Errorf("%s: rank %d is there already: name another folder, or remove this one", f.Dir, r.Rank)
}

// PutRank writes the file of a rank again, and PutNode that of a node.
func (f *Folder) PutRank(r Rank) error { return f.put(RankFile(r.Rank), r) }

// PutNode writes a node's record.
func (f *Folder) PutNode(n Node) error { return f.put(NodeFile(n.Record), n) }

// Ranks gives the ranks in their order. One that cannot be read is an error, and the next
// ones follow it.
func (f *Folder) Ranks() iter.Seq2[Rank, error] {
	return func(yield func(Rank, error) bool) {
		for name, err := range f.list(ranksDir) {
			var r Rank
			if err == nil {
				err = load(f.path(name), &r)
			}
			if err == nil {
				err = f.known(name, r.Format, r.CgVersion)
			}
			if err == nil && RankFile(r.Rank) != name {
				err = fmt.Errorf("%s: says that it is of rank %d", f.path(name), r.Rank)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Nodes gives the records of the nodes by their names.
func (f *Folder) Nodes() iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		for name, err := range f.list(nodesDir) {
			var n Node
			if err == nil {
				n, err = f.node(name)
			}
			if !yield(n, err) {
				return
			}
		}
	}
}

// Node reads the record of a node by the record's name.
func (f *Folder) Node(record string) (Node, error) {
	n, err := f.node(NodeFile(record))
	if err == nil && n.Record != record {
		err = fmt.Errorf("%s: says that it is the record %q", f.path(NodeFile(record)), n.Record)
	}
	return n, err
}

func (f *Folder) node(name string) (n Node, err error) {
	if err = load(f.path(name), &n); err == nil {
		err = f.known(name, n.Format, n.CgVersion)
	}
	if err == nil {
		err = n.check(f.path(name))
	}
	return n, err
}

// check refuses a record whose lists do not fit together.
func (n *Node) check(path string) error {
	for _, s := range n.Ranks {
		if len(s.ShareUj) != len(n.Domains) {
			return fmt.Errorf("%s: rank %d has %d shares of %d domains", path, s.Rank, len(s.ShareUj), len(n.Domains))
		}
		for _, doubts := range [][]uint64{s.LessUj, s.MoreUj} {
			if len(doubts) != 0 && len(doubts) != len(n.Domains) {
				return fmt.Errorf("%s: rank %d has %d doubts of %d domains", path, s.Rank, len(doubts), len(n.Domains))
			}
		}
	}
	for i, s := range n.Samples {
		if len(s.EnergyUj) != len(n.Domains) {
			return fmt.Errorf("%s: sample %d has %d energies of %d domains", path, i, len(s.EnergyUj), len(n.Domains))
		}
	}
	return nil
}

// list gives the names of the JSON files of a folder in their order.
func (f *Folder) list(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := os.ReadDir(f.path(dir))
		if err != nil {
			yield("", err)
			return
		}
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
				if !yield(dir+"/"+name, nil) {
					return
				}
			}
		}
	}
}

// RunPath is where the report of a rank is, "" if it has none.
func (f *Folder) RunPath(r Rank) string {
	if r.Run == "" || r.Run != RunFile(r.Rank) {
		return ""
	}
	return f.path(r.Run)
}

// PutRun writes the report of a rank.
func (f *Folder) PutRun(rank int, report json.RawMessage) error { return f.put(RunFile(rank), report) }

// Unsound tells of the domains whose ledger does not add up to the microjoule.
func (n *Node) Unsound() (faults []string) {
	for d, domain := range n.Domains {
		sum := uint64(0)
		for _, s := range n.Ranks {
			sum += s.ShareUj[d]
		}
		if sum != domain.RanksUj {
			faults = append(faults, fmt.Sprintf("node %s, %s: the ranks' shares are %d uJ together, and %d were "+
				"divided", n.Node, domain.ID, sum, domain.RanksUj))
		}
		all := domain.RanksUj + domain.OtherUj + domain.IdleUj + domain.CgUj + domain.UnattributedUj
		if all != domain.TotalUj {
			faults = append(faults, fmt.Sprintf("node %s, %s: the parts are %d uJ together, and the counter showed %d",
				n.Node, domain.ID, all, domain.TotalUj))
		}
	}
	return faults
}
