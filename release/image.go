package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// image makes cg-VERSION-image-ARCH.tar, which podman load and docker load take: a root file
// system with the C library, and cg on it. It is for cg monitor and cg track, as
// deploy/container/Containerfile is. Nothing is asked of a daemon or a registry.
func (r *release) image(t target) error {
	goarch := t.goarch
	base := r.bases[goarch]
	if base == "" {
		fmt.Printf("no image for %s: -base %[1]s=ROOT.tar gives it the C library\n", goarch)
		return nil
	}
	below, err := tarball.LayerFromFile(base)
	if err != nil {
		return fmt.Errorf("-base %s: %w", base, err)
	}
	text, err := r.layer(t)
	if err != nil {
		return err
	}
	above, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	})
	if err != nil {
		return err
	}
	at := v1.Time{Time: r.at}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{Architecture: goarch, OS: "linux", Created: at,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/usr/bin/cg"},
			Cmd:        []string{"monitor", "--serve", "0.0.0.0:9464", "--top", "0"},
			Env:        []string{"PATH=/usr/bin:/bin"},
			Labels: map[string]string{
				"org.opencontainers.image.title": "cg", "org.opencontainers.image.version": r.version,
				"org.opencontainers.image.source": "https://" + repository, "org.opencontainers.image.licenses": "Apache-2.0",
			}}})
	if err != nil {
		return err
	}
	for _, l := range []struct {
		layer v1.Layer
		what  string
	}{{below, "the C library"}, {above, "cg"}} {
		image, err = mutate.Append(image, mutate.Addendum{Layer: l.layer,
			History: v1.History{Created: at, CreatedBy: "cg release", Comment: l.what}})
		if err != nil {
			return err
		}
	}
	tag, err := name.NewTag("cg:" + r.version)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(filepath.Join(r.out, "cg-"+r.version+"-image-"+goarch+".tar"), tag, image)
}

// layer is cg for an image: the program and its documents. With --sysroot /host cg looks for
// drivers' libraries in /host/lib; the container's runtime puts them where the linker looks.
func (r *release) layer(t target) ([]byte, error) {
	cg, err := r.program(t, "usr/bin/cg")
	if err != nil {
		return nil, err
	}
	files := []file{cg}
	for _, f := range r.extras {
		if filepath.Dir(f.name) == "share/doc/cg" {
			files = append(files, file{"usr/" + f.name, f.content, f.mode})
		}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "host/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "host/lib", Typeflag: tar.TypeSymlink, Linkname: "/usr/lib/" + arches[t.goarch].cpu + "-linux-gnu", Mode: 0o777},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
	} {
		h.ModTime, h.Format = r.at, tar.FormatPAX
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	// Not closed: what ends a tar follows the files.
	err = r.packed(&b, "", files)
	return b.Bytes(), err
}
