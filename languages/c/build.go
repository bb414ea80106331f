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

// build is a program that is made of some files.
type build struct {
	dialect  *dialect
	compiler compiler
	target   arguments
	setup    languages.Setup
	kept     runtimes.Cache
	objects  []*object
}

// prepare finds the compiler, and what cg has kept.
func (d *dialect) prepare(ctx context.Context, t languages.Target, s languages.Setup) (*build, error) {
	target, err := d.parseArguments(t)
	if err == nil {
		err = target.checkFiles()
	}
	if err != nil {
		return nil, err
	}
	b := &build{dialect: d, target: target, setup: s}
	if b.compiler, err = d.findCompiler(ctx, t.Interpreter); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(target.flags, func(f string) bool { return f == "-m32" || f == "-mx32" }); i >= 0 {
		return nil, languages.Refuse(2, "%s: checkpoints are for programs of 64 bits", target.flags[i])
	}
	b.kept, err = s.CacheFolder("c")
	return b, err
}

// compile makes the objects of the files.
func (b *build) compile(ctx context.Context, inline bool) error {
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
		u := &unit{dialect: b.dialect, compiler: b.compiler, flags: without(b.target.flags, linking), file: file,
			inline: inline,
			owner:  owner{dir: cwd, folders: folders, options: options}, kept: b.kept, dir: b.setup.Dir,
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
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %s", b.compiler.key, b.target.flags, filepath.Base(runtime))
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
	own := !slices.ContainsFunc(b.target.flags, func(f string) bool { _, is := linking(f); return is })
	if _, content, is := b.kept.Find(key, ""); is && own {
		return program, nil, os.WriteFile(program, content, 0o700)
	}
	args := without(b.target.flags, linking)
	args = append(append(args, names...), runtime)
	args = append(append(args, b.linkerFlags()...), "-pthread", "-lm", "-o", program)
	if said, err = b.compiler.run(ctx, args...); err != nil {
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
	for i := 0; i < len(b.target.flags); i++ {
		if more, is := linking(b.target.flags[i]); is {
			flags = append(flags, b.target.flags[i:min(i+1+more, len(b.target.flags))]...)
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
	c := languages.Command{Version: b.compiler.version, Meta: map[string]string{}}
	if s.OwnCheckpoints {
		return b.launchOwnCheckpoints(ctx, c)
	}
	if err := b.compile(ctx, t.Flags["inline"] != ""); err != nil {
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
	runtime, err := runtimes.Object(ctx, b.compiler.words, b.setup.Cache, b.setup.Dir)
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
	args := append(without(b.target.flags, linking), b.target.files...)
	args = append(args, recorders(b.target.files)...)
	args = append(append(args, b.linkerFlags()...), "-lm", "-o", program)
	said, err := b.compiler.run(ctx, args...)
	if err != nil {
		return c, languages.Refuse(1, "the compiler refuses the program:\n%s", reason(said, err))
	}
	c.BuildOutput, c.Args = said, append([]string{program}, b.target.args...)
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
