#!/bin/sh
# Made by cg's release. Installs cg {{.Version}}, or removes what it installed:
#
#	sh install.sh [--uninstall]
#
# PREFIX is the folder below which bin and share are: /usr/local for root, else ~/.local. CG_URL is
# the address of a folder with the archive (https://, file:// or http://127.0.0.1:PORT), in place of
# the release's. The archive's checksum is in this script. It asks for no password and gives cg no right.
set -eu
umask 022 # all users may run what root installs
version={{.Version}}
url=${CG_URL:-{{.Downloads}}}
work=
new=
leave() {
  [ -z "$work" ] || rm -rf "$work"
  [ -z "$new" ] || rm -f "$new"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
fault() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

if [ -z "${PREFIX:-}" ]; then
  PREFIX=/usr/local
  [ "$(id -u)" = 0 ] || PREFIX=${HOME:?HOME is not set: set PREFIX}/.local
fi
case $PREFIX in /*) ;; *) fault "PREFIX=$PREFIX: name the folder from / on" ;; esac
list=$PREFIX/share/doc/cg/installed

uninstall() {
  [ -f "$list" ] || fault "$list is not there: this script has not installed cg below $PREFIX"
  while IFS= read -r name; do
    case $name in /* | ../* | */../*) fault "$list: $name is no file of cg: nothing more is removed" ;; esac
    rm -f "$PREFIX/$name"
  done <"$list"
  folders=
  [ ! -f "$list.folders" ] || folders=$(sort -r "$list.folders") # those that it made; another's files keep one
  rm -f "$list" "$list.folders"
  for d in $folders; do rmdir "$PREFIX/$d" 2>/dev/null || true; done
  printf 'cg is removed from %s\n' "$PREFIX"
}
case ${1:-} in
  '') ;;
  --uninstall) uninstall; exit 0 ;;
  *) fault "$1 is not known: sh install.sh [--uninstall]" ;;
esac

[ "$(uname -s)" = Linux ] || fault "cg is for Linux, and this is $(uname -s)"
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=
if [ -n "$libc" ]; then
  libc=${libc#* }
  major=${libc%%.*} minor=${libc#*.}
  minor=${minor%%.*}
  want={{.Glibc}}
  [ "$major" -gt "${want%.*}" ] || { [ "$major" = "${want%.*}" ] && [ "$minor" -ge "${want#*.}" ]; } ||
    fault "cg needs the GNU C library {{.Glibc}} or later, and this is $libc"
  libc=gnu
else
  case $(ldd --version 2>&1 || true) in
    musl*) libc=musl ;;
    *) fault "cg needs the GNU C library {{.Glibc}} or later, or musl, and this system has another: build cg from the source" ;;
  esac
fi
case $libc-$(uname -m) in
{{- range .Archives}}
  gnu-{{.CPU}}) file={{.File}} sum={{.SHA256}} ;;
{{- end}}
{{- range .Musl}}
  musl-{{.CPU}}) file={{.File}} sum={{.SHA256}} ;;
{{- end}}
  *) fault "there is no cg for $(uname -m) with this C library ($libc): build it from the source at {{.Repository}}" ;;
esac

# What is there and is not cg stays.
if [ -e "$PREFIX/bin/cg" ] || [ -h "$PREFIX/bin/cg" ]; then
  case $("$PREFIX/bin/cg" --version 2>/dev/null </dev/null || true) in
    'cg '*) ;;
    *) fault "$PREFIX/bin/cg is another program: move it away, or set PREFIX to another folder" ;;
  esac
fi
mkdir -p "$PREFIX" 2>/dev/null && [ -w "$PREFIX" ] || fault "$PREFIX cannot be written: set PREFIX, or run this as root"

work=$(mktemp -d)
get() {
  case $url in
    http://*@*) fault "CG_URL=$url: it names a user, and so another host: use https:// or file://" ;;
    file://*) cp "${url#file://}/$1" "$2" ;;
    https://* | http://127.0.0.1:*)
      if command -v curl >/dev/null; then
        curl -fsSL --retry 2 -o "$2" "$url/$1"
      elif command -v wget >/dev/null; then
        wget -q -O "$2" "$url/$1"
      else
        fault "neither curl nor wget is there"
      fi ;;
    *) fault "CG_URL=$url: use https:// or file://" ;;
  esac
}
get "$file" "$work/$file" || fault "$url/$file cannot be fetched"
got=$(sha256sum "$work/$file")
[ "${got%% *}" = "$sum" ] || fault "$url/$file is not what was released: its SHA-256 is ${got%% *}, and not $sum. Nothing was installed"
mkdir "$work/cg"
tar -xzf "$work/$file" -C "$work/cg"
cd "$work/cg"/cg-*
find . -type f | sed 's|^\./||' | sort >"$work/list"
while IFS= read -r name; do
  d=${name%/*}
  while [ "$d" != . ] && [ ! -d "$PREFIX/$d" ]; do
    printf '%s\n' "$d" >>"$work/folders"
    d=$(dirname "$d")
  done
  mkdir -p "$PREFIX/${name%/*}"
  new=$PREFIX/$name.new$$
  cp "$name" "$new"
  mode=644
  [ "$name" != bin/cg ] || mode=755
  chmod $mode "$new"
  mv -f "$new" "$PREFIX/$name"
  new=
done <"$work/list"
# An older one may have had others.
if [ -f "$list" ]; then
  sort "$list" | comm -23 - "$work/list" | while IFS= read -r name; do
    case $name in /* | ../* | */../*) ;; *) rm -f "$PREFIX/$name" ;; esac
  done
fi
cp "$work/list" "$list"
[ ! -f "$work/folders" ] || cat "$work/folders" >>"$list.folders"
cd /
printf 'cg %s is in %s/bin; "cg doctor" says what this machine can measure\n' "$version" "$PREFIX"
case :${PATH:-}: in *":$PREFIX/bin:"*) ;; *) printf '%s/bin is not in PATH\n' "$PREFIX" ;; esac
