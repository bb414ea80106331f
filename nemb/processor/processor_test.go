package processor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestIdentifyEC2(t *testing.T) {
	for product, want := range map[string]bool{"m6g.large": true, "m6g.metal": false} {
		root := t.TempDir()
		for path, text := range map[string]string{
			"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
			"sys/class/dmi/id/product_name": product + "\n"} {
			path = filepath.Join(root, path)
			os.MkdirAll(filepath.Dir(path), 0o755)
			os.WriteFile(path, []byte(text), 0o644)
		}
		if c := Identify(filepath.Join(root, "proc/cpuinfo"), filepath.Join(root, "sys/class/dmi/id")); c.Virtual != want {
			t.Errorf("%s: virtual %v", product, c.Virtual)
		}
	}
}

// Every row of the table leads to an estimate that grows with use.
func TestMarches(t *testing.T) {
	for i, m := range marches {
		if m.year < 2013 || m.tdp < 10 || m.tdp > 600 || m.threads < 4 {
			t.Errorf("%+v", m)
		}
		for _, o := range marches[:i] {
			if o.vendor == m.vendor && o.family == m.family && o.model == m.model {
				t.Errorf("%s and %s have the same model number", o.name, m.name)
			}
		}
	}
	for _, e := range eras {
		for _, r := range []Ratio{e.Idle, e.Max} {
			if r.P10 >= r.Median || r.Median >= r.P90 {
				t.Errorf("%+v", e)
			}
		}
	}
}
