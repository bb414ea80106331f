package c

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/instrument"
	"cg/languages"
	"cg/long"
)

var savedBlock = regexp.MustCompile(`(?s)--- CODEGREEN_RESULT_START ---\n(.*?)\n--- CODEGREEN_RESULT_END ---\n`)

// notSaved are fixtures that do not run saved, whatever has checkpoints: they print where their frames lie, have a
// lambda that the compiler computes, or name a file of the folder that they are in.
var notSaved = []string{"attributes.c", "constant.cpp", "included.c"}

// TestSavedPrograms: fixtures that were saved with calls, lines and blocks build and run without cg, print the same and
// end the same. Those of which some function has places tell them.
func TestSavedPrograms(t *testing.T) {
	needCompiler(t, plusPlus)
	some := long.Without(t, "saved programs but for those about statements")
	dir := t.TempDir()
	for _, d := range dialects {
		for _, f := range fixtures(t, d) {
			few := []string{"forms.c", "gotos.c", "pragmas.c", "exceptions.cpp"}
			if slices.Contains(notSaved, f.file) || some && !slices.Contains(few, f.file) {
				continue
			}
			source, err := filepath.Abs(filepath.Join(casesOf(d), f.file))
			if err != nil {
				t.Fatal(err)
			}
			if d == plusPlus {
				f.flags += " -std=c++20"
			}
			build := func(to string, files ...string) string {
				args := append(strings.Fields(f.flags), "-w", "-I"+filepath.Dir(source), "-o", to)
				out, err := exec.Command(d.command, append(append(args, files...), "-lm")...).CombinedOutput()
				if err != nil {
					return err.Error() + "\n" + string(out)
				}
				return ""
			}
			plain := filepath.Join(dir, "plain-"+f.file+".out")
			if why := build(plain, source); why != "" {
				t.Fatal(f.file, why)
			}
			want := runProgram(t, plain)
			for _, g := range []instrument.Granularity{instrument.Fine, instrument.Lines, instrument.Blocks} {
				if some && g == instrument.Fine {
					continue
				}
				t.Run(f.file+"/"+string(g), func(t *testing.T) {
					saved, program := filepath.Join(dir, f.file+string(g)), filepath.Join(dir, f.file+string(g)+".out")
					target := languages.Target{Args: []string{source}, Flags: map[string]string{"build-flags": f.flags}}
					o := instrument.Options{Granularity: g, Entry: true, Alone: true}
					if _, err := d.saveTarget(target, o, saved); err != nil {
						t.Fatal(err)
					}
					if why := build(program, filepath.Join(saved, f.file), filepath.Join(saved, aloneFile)); why != "" {
						t.Fatal(why)
					}
					got := runProgram(t, program)
					block := savedBlock.FindStringSubmatch(got.stdout)
					if got.stdout = savedBlock.ReplaceAllString(got.stdout, ""); got.stdout != want.stdout ||
						got.status != want.status { // messages have paths
						t.Errorf("%+v, want %+v", got, want)
					}
					has := block != nil && strings.Contains(block[1], `"time_ns": `)
					if (f.file == "forms.c" || f.file == "gotos.c") && has != g.HasPlaces() {
						t.Errorf("places: %v", has)
					}
				})
			}
		}
	}
}
