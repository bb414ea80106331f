package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// replaced is a text with one part for another. The part must be there.
func replaced(text, old, with string) (string, error) {
	if !strings.Contains(text, old) {
		return "", fmt.Errorf("has no %q", old)
	}
	return strings.ReplaceAll(text, old, with), nil
}

// sdk is the package that cg writes for a language, in a folder.
func (r *release) sdk(language string) (string, error) {
	dir := filepath.Join(r.work, "sdk-"+language)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	_, err := r.said(r.cg[native()], "sdk", language, dir)
	return dir, err
}

// wheel makes codegreen_cg-VERSION-py3-none-manylinux_2_28_CPU.whl, or that of musllinux: cg as a
// script, and the package codegreen (packaging.python.org, "Binary distribution format").
func (r *release) wheel(t target) error {
	dir, err := r.sdk("python")
	if err != nil {
		return err
	}
	all, err := read(dir)
	if err != nil {
		return err
	}
	base := "codegreen_cg-" + r.version
	info := base + ".dist-info/"
	var files []file
	for _, f := range all {
		if strings.HasPrefix(f.name, "codegreen/") || f.name == "recorder_viz.py" {
			files = append(files, f)
		}
	}
	cg, err := r.program(t, base+".data/scripts/cg")
	if err != nil {
		return err
	}
	files = append(files, cg)
	for _, f := range r.extras {
		name := base + ".data/data/" + f.name
		if strings.HasPrefix(f.name, "share/doc/") {
			name = info + "licenses/" + filepath.Base(f.name)
		}
		files = append(files, file{name, f.content, f.mode})
	}
	readme, err := os.ReadFile(filepath.Join(r.source, "README.md"))
	if err != nil {
		return err
	}
	platform := t.wheel()
	about := "Metadata-Version: 2.1\nName: codegreen-cg\nVersion: " + r.version + "\nSummary: cg " + about +
		"\nLicense: Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n" + string(readme)
	form := "Wheel-Version: 1.0\nGenerator: cg-release\nRoot-Is-Purelib: false\nTag: py3-none-" + platform + "\n"
	files = append(files, file{info + "METADATA", []byte(about), 0o644}, file{info + "WHEEL", []byte(form), 0o644})
	files = append(files, file{info + "RECORD", record(files, info+"RECORD"), 0o644})
	return r.zipped(filepath.Join(r.out, base+"-py3-none-"+platform+".whl"), files)
}

// record lists the files of a wheel with their digests, and itself without.
func record(files []file, self string) []byte {
	var text bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&text, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&text, "%s,,\n", self)
	return text.Bytes()
}

// npm makes codegreen-cg-linux-CPU-VERSION.tgz, which has cg as its command, and for musl
// codegreen-cg-linux-musl-CPU-VERSION.tgz. npm refuses it on other machines.
func (r *release) npm(t target) error {
	cg, err := r.program(t, "bin/cg")
	if err != nil {
		return err
	}
	name, libc := "codegreen-cg-linux-"+arches[t.goarch].npm, "glibc" // as npm calls it
	if t.libc != "gnu" {
		name, libc = "codegreen-cg-linux-"+t.libc+"-"+arches[t.goarch].npm, t.libc
	}
	about, err := json.MarshalIndent(map[string]any{
		"name": name, "version": r.version, "description": "cg " + about, "license": "Apache-2.0",
		"os": []string{"linux"}, "cpu": []string{arches[t.goarch].npm}, "libc": []string{libc},
		"bin": map[string]string{"cg": "bin/cg"}, "man": r.pages(),
	}, "", "  ")
	if err != nil {
		return err
	}
	files := append([]file{{"package.json", append(about, '\n'), 0o644}, cg}, r.extras...)
	return r.tarball(name+"-"+r.version+".tgz", "package", files)
}

// pages are the man pages among the extras.
func (r *release) pages() (names []string) {
	for _, f := range r.extras {
		if strings.HasPrefix(f.name, "share/man/") {
			names = append(names, "./"+f.name)
		}
	}
	return names
}

// maven makes codegreen-maven-VERSION.zip: a Maven repository with codegreen:codegreen, its
// classes and its sources.
func (r *release) maven() error {
	dir, err := r.sdk("java")
	if err != nil {
		return err
	}
	sources := filepath.Join(dir, "src", "main", "java")
	texts, err := read(sources)
	if err != nil {
		return err
	}
	classes := filepath.Join(r.work, "classes")
	args := []string{"--release", "17", "-encoding", "UTF-8", "-d", classes}
	for _, f := range texts {
		args = append(args, filepath.Join(sources, filepath.FromSlash(f.name)))
	}
	if _, err := r.said("javac", args...); err != nil {
		return err
	}
	compiled, err := read(classes)
	if err != nil {
		return err
	}
	pom, err := os.ReadFile(filepath.Join(dir, "pom.xml"))
	if err != nil {
		return err
	}
	if !bytes.Contains(pom, []byte("<version>"+r.version+"</version>")) {
		return fmt.Errorf("pom.xml of the Java package is not of version %s", r.version)
	}
	manifest := file{"META-INF/MANIFEST.MF",
		[]byte("Manifest-Version: 1.0\r\nAutomatic-Module-Name: codegreen\r\n\r\n"), 0o644}
	repository := filepath.Join(r.work, "maven")
	base := filepath.Join(repository, "codegreen", "codegreen", r.version, "codegreen-"+r.version)
	if err := errorOf(r.zipped(base+".jar", append([]file{manifest}, compiled...)),
		r.zipped(base+"-sources.jar", append([]file{manifest}, texts...)),
		os.WriteFile(base+".pom", pom, 0o666)); err != nil {
		return err
	}
	all, err := read(repository)
	if err != nil {
		return err
	}
	return r.zipped(filepath.Join(r.out, "codegreen-maven-"+r.version+".zip"), all)
}
