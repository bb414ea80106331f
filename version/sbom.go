package version

import (
	"errors"
	"net/url"
	"runtime/debug"
	"strings"
	"unicode"
)

// BOM is the modules that cg was built from, as CycloneDX has them
// (https://cyclonedx.org/docs/1.5/json/).
type BOM struct {
	Format     string      `json:"bomFormat"`
	Version    string      `json:"specVersion"`
	Number     int         `json:"version"`
	Metadata   BOMMetadata `json:"metadata"`
	Components []Component `json:"components"`
}

// BOMMetadata names what the list is of.
type BOMMetadata struct {
	Component Component `json:"component"`
}

// Component is a module, or cg. PURL is a package URL (github.com/package-url/purl-spec).
type Component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
}

// Materials is the list of the running cg. Go's standard library is a component, too. The error is that the
// build recorded no modules.
func Materials() (BOM, error) {
	built, ok := debug.ReadBuildInfo()
	if !ok || len(built.Deps) == 0 {
		return BOM{}, errors.New("this cg was built without a record of its modules")
	}
	return materials(built), nil
}

func materials(built *debug.BuildInfo) BOM {
	b := BOM{Format: "CycloneDX", Version: "1.5", Number: 1,
		Metadata:   BOMMetadata{Component{Type: "application", Ref: "cg", Name: "cg", Version: Cg}},
		Components: []Component{component("stdlib", strings.TrimLeftFunc(built.GoVersion, unicode.IsLetter))}}
	for _, m := range built.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, component(m.Path, m.Version))
	}
	return b
}

func component(path, version string) Component {
	purl := "pkg:golang/" + strings.ReplaceAll(url.PathEscape(path), "%2F", "/") + "@" + url.PathEscape(version)
	return Component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}
