package population

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cg/pattern"
)

// Container is what the path of a control group tells of a container.
type Container struct {
	Runtime string // docker, podman, containerd, crio, or "kubepods" where that is all that is known
	ID      string // of 64 hexadecimal digits
}

// The folders of containers: systemd's scopes (docker-ID.scope), cgroupfs (docker/ID) and
// those of pods (kubepods/.../podUID/ID).
var (
	scopeOfContainer = pattern.Later(`^(docker|libpod|cri-containerd|nerdctl|crio)-([0-9a-f]{64})\.scope$`)
	idOfContainer    = pattern.Later(`^(?:libpod-)?([0-9a-f]{64})$`)
)

var runtimes = map[string]string{"docker": "docker", "libpod": "podman", "cri-containerd": "containerd",
	"nerdctl": "containerd", "crio": "crio"}

// ContainerOf tells which container a group belongs to: the innermost one in its path.
func ContainerOf(group string) (Container, bool) {
	parts := strings.Split(group, "/")
	for i := len(parts) - 1; i > 0; i-- {
		if m := scopeOfContainer().FindStringSubmatch(parts[i]); m != nil {
			return Container{runtimes[m[1]], m[2]}, true
		}
		m := idOfContainer().FindStringSubmatch(parts[i])
		if m == nil {
			continue
		}
		above := strings.Join(parts[:i], "/")
		switch {
		case strings.HasPrefix(parts[i], "libpod-"), strings.Contains(above, "/libpod_parent"):
			return Container{"podman", m[1]}, true
		case strings.Contains(above, "kubepods"):
			return Container{"kubepods", m[1]}, true
		case strings.HasSuffix(above, "/docker"):
			return Container{"docker", m[1]}, true
		}
		return Container{"containerd", m[1]}, true
	}
	return Container{}, false
}

// UnitOf is the innermost unit of systemd in the path of a group, "" for none:
// "nginx.service" in "/system.slice/nginx.service/workers".
func UnitOf(group string) string {
	for p := group; p != "/" && p != "."; p = path.Dir(p) {
		switch name := path.Base(p); path.Ext(name) {
		case ".service", ".scope", ".slice", ".socket", ".mount", ".swap":
			return name
		}
	}
	return ""
}

// ContainersNamed lists the ids of containers with a name, as their runtimes keep it below
// a root folder ("" is /): docker, podman, nerdctl, and the logs of Kubernetes. Folders
// that may not be read are left out.
func ContainersNamed(root, name string) (ids []string) {
	for id, other := range containerNames(root) {
		if other == name {
			ids = append(ids, id)
		}
	}
	return ids
}

// containerNames is the name of each container that a runtime keeps below a root folder.
func containerNames(root string) map[string]string {
	names := map[string]string{}
	below := func(parts ...string) string { return filepath.Join(append([]string{"/", root}, parts...)...) }
	docker, _ := filepath.Glob(below("var/lib/docker/containers/*/config.v2.json"))
	for _, file := range docker {
		var c struct{ ID, Name string }
		if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &c) == nil {
			names[c.ID] = strings.TrimPrefix(c.Name, "/")
		}
	}
	podman, _ := filepath.Glob(below("home/*/.local/share/containers/storage/overlay-containers/containers.json"))
	for _, file := range append(podman, below("var/lib/containers/storage/overlay-containers/containers.json")) {
		var all []struct {
			ID    string   `json:"id"`
			Names []string `json:"names"`
		}
		if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &all) == nil {
			for _, c := range all {
				if len(c.Names) > 0 {
					names[c.ID] = c.Names[0]
				}
			}
		}
	}
	nerdctl, _ := filepath.Glob(below("var/lib/nerdctl/*/names/*/*"))
	for _, file := range nerdctl {
		if b, err := os.ReadFile(file); err == nil {
			names[string(bytes.TrimSpace(b))] = filepath.Base(file)
		}
	}
	// POD_NAMESPACE_CONTAINER-ID.log
	logs, _ := filepath.Glob(below("var/log/containers/*.log"))
	for _, file := range logs {
		base := strings.TrimSuffix(filepath.Base(file), ".log")
		if at := strings.LastIndexByte(base, '-'); at > 0 {
			parts := strings.Split(base[:at], "_")
			names[base[at+1:]] = parts[len(parts)-1]
		}
	}
	return names
}
