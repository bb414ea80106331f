#!/usr/bin/env bash
# Makes the packages of cg (release/), and tries those of this architecture: the sums, the
# .deb and the wheel in a new Debian without a C compiler, where programs in Python, Java and
# Go are measured; the .rpm, npm's and Maven's beside it. What is removed leaves nothing.
#
#	testdata/packages.sh [FOLDER]   tries the packages in FOLDER, which it makes if it is not there
#
# It takes root, debootstrap and a mirror of Debian, rpm, npm and a JDK. ARCH=amd64 makes
# packages of one architecture, CG_ZIG is the command of Zig in place of one that is installed,
# and CG_DEBIAN a folder with the new Debian, in place of one that debootstrap makes.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
mounted=()
leave() {
  for m in "${mounted[@]}"; do umount "$m"; done
  rm -rf --one-file-system "$work"
}
trap leave EXIT
said() { printf 'packages: %s\n' "$*"; }
fault() { printf 'packages: %s\n' "$*" >&2; exit 1; }

out=$(realpath -m "${1:-$work/packages}")
if [ ! -e "$out" ]; then
  if [ -z "${CG_ZIG:-}" ]; then
    python3 -m venv "$root/.cache/zig"
    "$root/.cache/zig/bin/pip" install -q --disable-pip-version-check ziglang==0.13.0
    export CG_ZIG="$root/.cache/zig/bin/python -m ziglang"
  fi
  # An .rpm has the name of the host that made it.
  (cd "$root/release" && go build -o "$work/release" . &&
    unshare --uts sh -c 'hostname localhost && exec "$@"' sh "$work/release" -o "$out" ${ARCH:+-arch "$ARCH"})
fi
(cd "$out" && sha256sum --check --quiet SHA256SUMS)
said "$(wc -l <"$out/SHA256SUMS") files have their sums"

machine=$(uname -m)
deb=$(dpkg --print-architecture)
one() { [ $# = 1 ] && [ -e "$1" ] || fault "not one of $1"; printf '%s\n' "$1"; }
archive=$(one "$out"/cg-*-linux-"$deb".tar.gz)

# The lowest C library on which it runs is that of its symbols.
tar -xzf "$archive" -C "$work"
highest=$(objdump -T "$work"/cg-*/bin/cg | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
[ "$(printf '%s\n' "$highest" GLIBC_2.28 | sort -V | tail -1)" = GLIBC_2.28 ] || fault "cg needs $highest"
said "symbols of the C library up to $highest"

# programs ROOT CG: cg measures three languages in a root.
cat >"$work/work.py" <<'P'
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

print("python", fib(20))
P
cat >"$work/Work.java" <<'P'
public class Work {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] args) { System.out.println("java " + fib(20)); }
}
P
cat >"$work/work.go" <<'P'
package main

import "fmt"

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() { fmt.Println("go", fib(20)) }
P
debian=$work/debian
inside() { chroot "$debian" env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
programs() {
  inside sh -c '! command -v cc' >/dev/null || fault "the new Debian has a C compiler"
  for f in work.py Work.java work.go; do
    inside sh -c "cd /root/programs && '$1' measure -g fine --json '$f'" >"$work/run.json" 2>"$work/said" ||
      { cat "$work/said" >&2; fault "$1 cannot measure $f"; }
    grep -q ' 6765$' "$work/said" || fault "$f did not say its result"
    python3 - "$work/run.json" "$f" <<'P'
import json, sys
run = json.load(open(sys.argv[1]))
fib = [f for f in run["functions"] if "fib" in f["name"]]
assert fib and fib[0]["calls"] == 21891, fib
assert run["totals"]["energy_j"] > 0, run["totals"]
print("packages: %s: %s called %d times" % (sys.argv[2], fib[0]["name"], fib[0]["calls"]))
P
  done
}
# files is what is in a root, but for caches and logs.
files() {
  local not=(-path ./dev) d
  for d in proc root tmp var/log var/lib/dpkg; do not+=(-o -path "./$d"); done
  (cd "$1" && find . -xdev \( "${not[@]}" \) -prune -o -print | sort)
}

if [ -n "${CG_DEBIAN:-}" ]; then
  cp -a "$CG_DEBIAN" "$debian"
else
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  debootstrap --variant=minbase --include=python3-venv,python3-pip "$release" "$debian" >"$work/said" ||
    { tail "$work/said" >&2; fault "debootstrap cannot make a Debian"; }
fi
bound() { mkdir -p "$debian$1" && mount --bind "$1" "$debian$1" && mounted=("$debian$1" "${mounted[@]}"); }
java=$(dirname "$(dirname "$(realpath "$(command -v javac)")")")
mkdir -p "$debian/root/programs"
cp "$work"/work.* "$work"/Work.* "$debian/root/programs"
cp "$out"/*.deb "$out"/*.whl "$debian/root"
for m in /proc /dev "$(go env GOROOT)" "$java"; do bound "$m"; done
for etc in /etc/java-*; do [ ! -d "$etc" ] || cp -a "$etc" "$debian/etc/"; done
for tool in java javac; do ln -sf "$java/bin/$tool" "$debian/usr/bin/$tool"; done
ln -sf "$(go env GOROOT)/bin/go" "$debian/usr/bin/go"

said "the .deb"
files "$debian" >"$work/before"
inside sh -c "dpkg -i /root/cg_*_$deb.deb" >/dev/null
inside cg version >/dev/null
for f in /usr/share/man/man1/cg-measure.1 /usr/share/bash-completion/completions/cg /usr/lib/systemd/system/cg-monitor.service \
  /usr/share/doc/cg/licences.md; do
  [ -e "$debian$f" ] || fault "the .deb lacks $f"
done
programs cg
inside dpkg --purge cg >/dev/null
files "$debian" >"$work/after"
diff "$work/before" "$work/after" || fault "the .deb leaves files behind"

said "the wheel"
inside sh -c "python3 -m venv /root/venv && /root/venv/bin/pip install -q --no-index /root/codegreen_cg-*_$machine.whl"
inside /root/venv/bin/python -c 'import codegreen; codegreen.Session'
programs /root/venv/bin/cg
inside /root/venv/bin/pip uninstall -q -y codegreen-cg
left=$(find "$debian/root/venv" -name '*codegreen*' -o -name 'cg*')
[ -z "$left" ] || fault "the wheel leaves files behind: $left"

said "the .rpm"
mkdir "$work/rpm"
rpm --root "$work/rpm" --initdb
(cd "$work/rpm" && find . -path ./var -prune -o -print | sort) >"$work/before"
rpm --root "$work/rpm" -i --nodeps --ignoreos "$(one "$out"/cg-*."$machine".rpm)"
rpm --root "$work/rpm" -V --nodeps cg
"$work/rpm/usr/bin/cg" version >/dev/null
rpm --root "$work/rpm" -e cg
left=$(find "$work/rpm" -path "$work/rpm/var" -prune -o \( -name 'cg*' -o -name '_cg' \) -print)
[ -z "$left" ] || fault "the .rpm leaves files behind: $left"

said "npm"
cpu=x64
[ "$machine" = x86_64 ] || cpu=arm64
npm install --prefix "$work/npm" --silent --offline --no-audit --no-fund "$(one "$out"/codegreen-cg-linux-$cpu-*.tgz)"
"$work/npm/node_modules/.bin/cg" version >/dev/null
npm uninstall --prefix "$work/npm" --silent "codegreen-cg-linux-$cpu"
[ ! -e "$work/npm/node_modules/.bin/cg" ] || fault "npm leaves cg behind"

said "the repository of Maven"
(cd "$work" && mkdir -p m2 && cd m2 && "$java/bin/jar" -xf "$(one "$out"/codegreen-maven-*.zip)")
cat >"$work/Uses.java" <<'P'
public class Uses {
    public static void main(String[] args) throws Exception { System.out.println(codegreen.Session.class.getName()); }
}
P
jar=$(one "$work"/m2/codegreen/codegreen/*/codegreen-*[0-9].jar)
[ "$("$java/bin/java" -cp "$jar" "$work/Uses.java")" = codegreen.Session ] || fault "the jar has no codegreen.Session"
said "all hold"
