package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of docs/SKILL.md, which tells a coding assistant how to use cg, work in this order.
func TestSkill(t *testing.T) {
	t.Parallel()
	python(t)
	text, err := os.ReadFile("docs/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	skill := string(text)
	if !strings.HasPrefix(skill, "---\nname: cg\ndescription: ") || strings.Count(skill, "\n---\n") != 1 {
		t.Error("the file does not begin with its name and its description")
	}
	dir := t.TempDir()
	for name, n := range map[string]string{"main.py": "400_000", "faster.py": "40_000"} {
		program := "def work():\n    return sum(i * i for i in range(" + n + "))\n\n\nfor _ in range(5):\n    work()\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin := os.Getenv("CG_TEST_BIN")
	env := append(sdkMachine(t), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir)
	ran := map[string]string{}
	for i, block := range strings.Split(skill, "\n```sh\n")[1:] {
		commands, _, ended := strings.Cut(block, "\n```\n")
		if !ended {
			t.Fatalf("block %d has no end", i+1)
		}
		for line := range strings.SplitSeq(commands, "\n") {
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			ran[line] = string(out)
		}
	}
	says(t, ran["cg report before.json"], "work")
	says(t, ran["cg compare before.json after.json"], "program")
	if len(ran) != 7 {
		t.Errorf("%d commands ran", len(ran))
	}
	// What stands in a line of text exists, too.
	for _, args := range [][]string{{"help", "sensor-suspect"}, {"gate", "--help"}, {"measure", "--help"}} {
		if out, err := exec.Command(filepath.Join(bin, "cg"), args...).CombinedOutput(); err != nil {
			t.Errorf("cg %q: %v\n%s", args, err, out)
		}
	}
}
