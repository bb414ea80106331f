package processor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnline(t *testing.T) {
	const stat = "cpu  10 0 20 300 0 0 0 0 0 0\ncpu0 5 0 10 150 0 0 0 0 0 0\ncpu2 5 0 10 150 0 0 0 0 0 0\nintr 1 2 3\nctxt 4\n"
	for _, test := range []struct {
		name, online, stat string
		want               int
	}{
		{"both", "0-3,8\n", stat, 5},
		{"no /sys", "", stat, 2},
		{"nothing", "", "", 0},
	} {
		root := t.TempDir()
		for name, text := range map[string]string{"sys/devices/system/cpu/online": test.online, "proc/stat": test.stat} {
			if text == "" {
				continue
			}
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := onlineBelow(root); got != test.want {
			t.Errorf("%s: %d processors, want %d", test.name, got, test.want)
		}
	}
}
