package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// connecting are packages by which cg reaches others, or is reached: sockets and networks.
var connecting = []string{
	"net", "net/http", "google.golang.org/grpc", "github.com/eclipse/paho.mqtt.golang",
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp",
}

// connections are the packages of cg that import one of those, and what SECURITY.md says of each.
var connections = map[string]string{
	"cli/track":           "`cg track --mqtt-broker` | sends",
	"footprint":           "| `--grid-intensity` with an",
	"instrument":          "through which the measured program asks for its checkpoints",
	"monitor/annotate":    "| `cg monitor --socket` | a Unix socket",
	"monitor/metrics":     "| `cg monitor --serve` | listens on TCP",
	"monitor/otlp":        "| `cg monitor --otlp` | sends",
	"monitor/spans":       "| `cg monitor --otlp-listen` | listens on TCP",
	"mqtt":                "| `cg monitor --mqtt`, `cg track --mqtt-broker` | sends",
	"nemb/sensor/redfish": "| `--bmc-url` | connects to the BMC",
	"nemb/sensor/ipmi":    "| `/dev/ipmi0`, for reading and writing |",
	"kernels":             "| `cg measure --gpu-kernels` | a Unix socket",
	"nemb/idle":           "in `idle` the idle power",
}

// SECURITY.md names what connects cg with others: a package that begins to has a line there.
func TestConnectionsAreTold(t *testing.T) {
	page, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for at, text := range connections {
		if !strings.Contains(string(page), text) {
			t.Errorf("SECURITY.md does not say %q of %s", text, at)
		}
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path == "runtimes" || len(path) > 1 && strings.ContainsAny(path[:1], "._")) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			at := filepath.ToSlash(filepath.Dir(path))
			if !slices.Contains(connecting, name) {
				continue
			}
			if seen[at] = true; connections[at] == "" {
				t.Errorf("%s imports %s: say in SECURITY.md what it connects to, and here where", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 6 {
		t.Errorf("only %d packages connect: %v", len(seen), seen)
	}
}
