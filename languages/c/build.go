package c

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
)

// build is a program that is made of some files, each of which the compiler of its language compiles.
type build struct {
	compilers map[*dialect]compiler
	linker    *dialect // whose compiler links the program: that of C++ if one file is of it
	target    arguments
	setup     languages.Setup
	kept      runtimes.Cache
	objects   []*object
}

// prepare finds the compilers, and what cg has kept.
func (d *dialect) prepare(ctx context.Context, t languages.Target, s languages.Setup) (*build, error) {
	target, err := d.parseArguments(t)
	if err == nil {
		err = target.checkFiles()
	}
	if err != nil {
		return nil, err
	}
	b := &build{target: target, setup: s, compilers: map[*dialect]compiler{}}
	for _, b.linker = range target.dialects() {
		if b.compilers[b.linker], err = b.linker.findCompiler(ctx, d.asked(t, b.linker)); err != nil {
			return nil, err
		}
		for _, flag := range target.flags(b.linker) {
			if flag == "-m32" || flag == "-mx32" {
				return nil, languages.Refuse(2, "%s: checkpoints are for programs of 64 bits", flag)
			}
		}
	}
	b.kept, err = s.CacheFolder("c")
	return b, err
}

// compile makes the objects of the files.
func (b *build) compile(ctx context.Context, c choices) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	folders := []string{cwd}
	for _, file := range b.target.files {
		full, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if folder := filepath.Dir(full); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	options := b.setup.Options
	options.Entry = true
	for i, file := range b.target.files {
		full, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		of := dialectOf(file)
		u := &unit{dialect: of, compiler: b.compilers[of], flags: without(b.target.flags(of), linking), file: file,
			choices: c,
			owner:   owner{dir: cwd, folders: folders, options: options}, kept: b.kept, dir: b.setup.Dir,
			key: fmt.Sprintf("unit%d", i)}
		if !options.FileWanted(full, true) {
			u.owner.folders = nil
			b.setup.Skip(full, "left out by --exclude")
		}
		o, err := u.compile(ctx)
		if err != nil {
			return err
		}
		for _, l := range o.Left {
			b.setup.Skip(l.Place, l.Why)
		}
		b.objects = append(b.objects, o)
	}
	return nil
}

// link makes the program of the objects and that of the checkpoints, or finds it, and
// returns its path and what the linker said.
func (b *build) link(ctx context.Context, runtime string) (program string, said []byte, err error) {
	h, flags := sha256.New(), b.target.flags(b.linker)
	fmt.Fprintf(h, "%s %q %s", b.compilers[b.linker].key, flags, filepath.Base(runtime))
	var names []string
	for _, o := range b.objects {
		names = append(names, o.path)
		fmt.Fprintf(h, " %s", o.digest)
	}
	folder := filepath.Join(b.setup.Dir, "program")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", nil, err
	}
	program = filepath.Join(folder, b.target.name)
	key := "program-" + hex.EncodeToString(h.Sum(nil))[:24]
	// Where libraries of the user's are linked, what is in them may have changed.
	own := !slices.ContainsFunc(flags, func(f string) bool { _, is := linking(f); return is })
	if _, content, is := b.kept.Find(key, ""); is && own {
		return program, nil, os.WriteFile(program, content, 0o700)
	}
	args := append(append(without(flags, linking), names...), runtime)
	args = append(append(args, b.linkerFlags()...), "-pthread", "-lm", "-o", program)
	if said, err = b.compilers[b.linker].run(ctx, args...); err != nil {
		return "", nil, languages.Refuse(1, "the linker refuses the program:\n%s", reason(said, err))
	}
	content, err := os.ReadFile(program)
	if err == nil && own && len(said) == 0 {
		b.kept.Keep(key, "", content, 0o700) // else it is linked again
	}
	return program, said, err
}

// linkerFlags are those of the user's that stand behind the objects.
func (b *build) linkerFlags() (flags []string) {
	all := b.target.flags(b.linker)
	for i := 0; i < len(all); i++ {
		if more, is := linking(all[i]); is {
			flags = append(flags, all[i:min(i+1+more, len(all))]...)
			i += more
		}
	}
	return flags
}

func (d *dialect) check(t languages.Target) error {
	if _, is := t.Flags["project"]; is {
		return checkProject(t)
	}
	a, err := d.parseArguments(t)
	if err != nil {
		return err
	}
	return a.checkFiles()
}

// launch builds the program with checkpoints into the run's folder.
func (d *dialect) launch(t languages.Target, s languages.Setup) (languages.Command, error) {
	if _, is := t.Flags["project"]; is {
		if s.OwnCheckpoints {
			return languages.Command{}, languages.Refuse(2, "--instrumented does not go with --project")
		}
		return d.launchProject(t, s)
	}
	ctx := context.Background()
	b, err := d.prepare(ctx, t, s)
	if err != nil {
		return languages.Command{}, err
	}
	c := languages.Command{Version: b.compilers[b.linker].version, Meta: map[string]string{}}
	if s.OwnCheckpoints {
		return b.launchOwnCheckpoints(ctx, c)
	}
	if err := b.compile(ctx, chosen(t)); err != nil {
		return c, err
	}
	short := 0
	for _, o := range b.objects {
		c.BuildOutput = append(c.BuildOutput, o.Said...)
		short += o.Short
	}
	if short > 0 && s.Options.Granularity == instrument.Fine {
		c.Meta["short_functions"] = fmt.Sprint(short)
	}
	runtime, err := runtimes.Object(ctx, b.compilers[b.linker].words, b.setup.Cache, b.setup.Dir)
	if err != nil {
		return c, err
	}
	program, said, err := b.link(ctx, runtime)
	if err != nil {
		return c, err
	}
	c.BuildOutput = append(c.BuildOutput, said...)
	c.Args = append([]string{program}, b.target.args...)
	c.Env = []string{"CG_CHANNEL=" + s.Channel}
	return c, nil
}

// launchOwnCheckpoints builds a program that has checkpoints of its own as it is.
func (b *build) launchOwnCheckpoints(ctx context.Context, c languages.Command) (languages.Command, error) {
	program := filepath.Join(b.setup.Dir, b.target.name)
	args := without(b.target.flags(b.linker), linking)
	for i, file := range slices.Concat(b.target.files, recorders(b.target.files)) {
		of := dialectOf(file)
		if _, is := b.compilers[of]; !is { // what records is C, which a compiler of C++ takes, too
			of = b.linker
		}
		object := filepath.Join(b.setup.Dir, fmt.Sprintf("own%d.o", i))
		said, err := b.compilers[of].run(ctx, append(without(b.target.flags(of), linking), "-c", file, "-o", object)...)
		if err != nil {
			return c, languages.Refuse(1, "the compiler refuses the program:\n%s", reason(said, err))
		}
		c.BuildOutput, args = append(c.BuildOutput, said...), append(args, object)
	}
	args = append(append(args, b.linkerFlags()...), "-lm", "-o", program)
	said, err := b.compilers[b.linker].run(ctx, args...)
	if err != nil {
		return c, languages.Refuse(1, "the linker refuses the program:\n%s", reason(said, err))
	}
	c.BuildOutput, c.Args = append(c.BuildOutput, said...), append([]string{program}, b.target.args...)
	return c, nil
}

// sourceFiles lists the target's files.
func (d *dialect) sourceFiles(t languages.Target) ([]string, error) {
	a, err := d.parseArguments(t)
	if err != nil {
		return nil, err
	}
	for _, name := range a.files {
		if _, err := os.Stat(name); err != nil {
			return nil, languages.Refuse(1, "%s: no such file or folder", name)
		}
	}
	return a.files, nil
}
