package e2e

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A BMC that answers over TLS is read by the commands, as flags, variables and files of settings name it.
func TestBMCOverTheNetwork(t *testing.T) {
	answers := map[string]string{
		"/redfish/v1/Chassis":         `{"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]}`,
		"/redfish/v1/Chassis/1":       `{"Links": {"ComputerSystems": [{}]}, "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}}`,
		"/redfish/v1/Chassis/1/Power": `{"PowerControl": [{"PowerConsumedWatts": 240}]}`,
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, answers[r.URL.Path])
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	token, wrong := write("token", "reader:secret\n"), write("wrong", "reader:guess\n")
	flags := []string{"--bmc-url", server.URL, "--bmc-ca", ca, "--bmc-token-file"}
	settings := write("settings.toml", "bmc-url = \""+server.URL+"\"\nbmc-ca = \"ca.pem\"\nbmc-token-file = \"token\"\n")
	for _, test := range []struct {
		what string
		args []string
		env  []string
		says []string
	}{
		{"flags", append([]string{"info"}, append(flags, token)...), nil, []string{"redfish    present    wall", "Redfish " + server.URL + "/redfish/v1/Chassis/1/Power, PowerConsumedWatts"}},
		{"variables", []string{"doctor"}, []string{"CG_BMC_URL=" + server.URL, "CG_BMC_CA=" + ca, "CG_BMC_TOKEN_FILE=" + token}, []string{"measured here: wall 2"}},
		{"a file of settings", []string{"track", "--config", settings, "--tracker", "1,redfish", "--duration", "0.2", "-o", "log"}, nil, []string{" rows in ", ": log/cg_1s.csv"}},
		{"a wrong password", append([]string{"doctor"}, append(flags, wrong)...), nil, []string{"warning  redfish", "it refuses what " + wrong + " has"}},
	} {
		cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), test.args...)
		cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "CG_SYSROOT="+t.TempDir()), test.env...)
		out, _ := cmd.CombinedOutput()
		for _, text := range test.says {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s: no %q in %s", test.what, text, out)
			}
		}
		if strings.Contains(string(out), "secret") || strings.Contains(string(out), "guess") {
			t.Errorf("%s: it tells the password: %s", test.what, out)
		}
	}
}
