#!/usr/bin/env bash
# Makes the packages of cg (release/), and tries those of this architecture: the sums, the
# .deb and the wheel in a new Debian without a C compiler, where programs in Python, Java and
# Go are measured from dash, fish and sh, at the speed of native checkpoints; the script that installs,
# the image, the Go module, the .rpm, npm's and Maven's beside it. What is removed leaves nothing.
# cg of another architecture runs under QEMU, and measures a Python program there (emulated.sh). cg for musl measures beside Debian's musl, whose musl-gcc
# builds the program in C.
#
#	testdata/packages.sh [FOLDER]   tries the packages in FOLDER, which it makes if it is not there
#
# It takes root, debootstrap and a mirror of Debian, rpm, npm and a JDK; qemu-user-static, if it is there. ARCH=amd64 makes
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

# libc ARCH makes libc-ARCH.tar of Debian's C library for an architecture. What this machine
# knows of packages stays as it is.
libc() {
  local apt=$work/apt-$1
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  touch "$apt/status"
  local get=(apt-get -qq -o "Dir::State=$apt" -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache=$apt/cache" -o "APT::Architecture=$1" -o "APT::Architectures=$1" -o APT::Sandbox::User=root)
  "${get[@]}" update && (cd "$apt" && "${get[@]}" download libc6) && dpkg-deb --fsys-tarfile "$apt"/libc6_*.deb >"$work/libc-$1.tar" ||
    fault "cannot get the C library for $1"
}

out=$(realpath -m "${1:-$work/packages}")
if [ ! -e "$out" ]; then
  if [ -z "${CG_ZIG:-}" ]; then
    python3 -m venv "$root/.cache/zig"
    "$root/.cache/zig/bin/pip" install -q --disable-pip-version-check ziglang==0.13.0
    export CG_ZIG="$root/.cache/zig/bin/python -m ziglang"
  fi
  # Images have Debian's C library below cg.
  bases=()
  for arch in ${ARCH:-amd64 arm64}; do
    libc "$arch"
    bases+=(-base "$arch=$work/libc-$arch.tar")
  done
  # An .rpm has the name of the host that made it.
  (cd "$root/release" && go build -o "$work/release" . &&
    unshare --uts sh -c 'hostname localhost && exec "$@"' sh "$work/release" -o "$out" ${ARCH:+-arch "$ARCH"} "${bases[@]}")
fi
(cd "$out" && sha256sum --check --quiet SHA256SUMS)
said "$(wc -l <"$out/SHA256SUMS") files have their sums"

# The checksums are signed and checked as docs/versions.md says, with a key made for this.
if command -v minisign >/dev/null; then
  minisign -G -W -p "$work/key.pub" -s "$work/key" >/dev/null
  minisign -S -s "$work/key" -m "$out/SHA256SUMS" -x "$work/SHA256SUMS.minisig" >/dev/null
  minisign -V -q -m "$out/SHA256SUMS" -x "$work/SHA256SUMS.minisig" -P "$(tail -1 "$work/key.pub")" || fault "the signature does not hold"
  sed '1s/^./x/' "$out/SHA256SUMS" >"$work/SHA256SUMS"
  ! minisign -V -q -m "$work/SHA256SUMS" -x "$work/SHA256SUMS.minisig" -P "$(tail -1 "$work/key.pub")" 2>/dev/null ||
    fault "a signature of other checksums holds"
  said "the checksums can be signed"
fi

machine=$(uname -m)
deb=$(dpkg --print-architecture)
one() { [ $# = 1 ] && [ -e "$1" ] || fault "not one of $1"; printf '%s\n' "$1"; }
archive=$(one "$out"/cg-*-linux-"$deb".tar.gz)

# The lowest C library on which it runs is that of its symbols.
tar -xzf "$archive" -C "$work"
highest=$(objdump -T "$work"/cg-*/bin/cg | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
[ "$(printf '%s\n' "$highest" GLIBC_2.28 | sort -V | tail -1)" = GLIBC_2.28 ] || fault "cg needs $highest"
said "symbols of the C library up to $highest"

# programs CG [WARNING]: cg measures three languages in the new Debian.
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
# called NAME WARNING: what cg measured of a program, which may have a warning of that name.
called() {
  python3 - "$work/run.json" "$@" <<'P'
import json, sys
run = json.load(open(sys.argv[1]))
fib = [f for f in run["functions"] if "fib" in f["name"]]
assert fib and fib[0]["calls"] == 21891, fib
assert run["totals"]["energy_j"] > 0, run["totals"]
slow = [w for w in run["warnings"] if w["slug"] == "pure-runtime"]
assert not slow or sys.argv[3] == "pure-runtime", slow
print("packages: %s: %s called %d times" % (sys.argv[2], fib[0]["name"], fib[0]["calls"]))
P
}
debian=$work/debian
inside() { chroot "$debian" env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
programs() {
  inside sh -c '! command -v cc' >/dev/null || fault "the new Debian has a C compiler"
  local n=0 f shells=(dash fish sh)
  for f in work.py Work.java work.go; do
    inside "${shells[n++]}" -c "cd /root/programs; '$1' measure -g fine --json '$f'" >"$work/run.json" 2>"$work/said" ||
      { cat "$work/said" >&2; fault "$1 cannot measure $f"; }
    grep -q ' 6765$' "$work/said" || fault "$f did not say its result"
    called "$f" "${2:-}"
  done
}
# doctor CG: what a person types first says in one screen what is here: a Python, a Go and a Java, no C compiler, and
# the one command that improves measuring most.
doctor() {
  local status=0 language
  inside "$1" doctor >"$work/doctor" 2>&1 || status=$?
  [ $status -le 1 ] || { cat "$work/doctor" >&2; fault "$1 doctor: exit status $status"; } # 1: no sensor
  for language in python go java; do
    grep -q "^ok  *$language " "$work/doctor" || { cat "$work/doctor" >&2; fault "$1 doctor does not find $language"; }
  done
  ! grep -q '^ok  *c ' "$work/doctor" || fault "$1 doctor finds a C compiler"
  grep -q '^first do: ' "$work/doctor" || [ $status = 0 ] || { cat "$work/doctor" >&2; fault "$1 doctor does not say what to do first"; }
  [ "$(wc -l <"$work/doctor")" -le 24 ] || { cat "$work/doctor" >&2; fault "$1 doctor fills more than a screen"; }
  said "$1 doctor: $(wc -l <"$work/doctor") lines"
}
# files is what is in a root, but for caches and logs.
files() {
  local not=(-path ./dev) d
  for d in proc sys root tmp var/cache var/log var/lib/dpkg; do not+=(-o -path "./$d"); done
  (cd "$1" && find . -xdev \( "${not[@]}" \) -prune -o -print | sort)
}

if [ -n "${CG_DEBIAN:-}" ]; then
  cp -a "$CG_DEBIAN" "$debian"
else
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  debootstrap --variant=minbase --include=python3-venv,python3-pip,dash,fish "$release" "$debian" >"$work/said" ||
    { tail "$work/said" >&2; fault "debootstrap cannot make a Debian"; }
fi
bound() { mkdir -p "$debian$1" && mount --bind "$1" "$debian$1" && mounted=("$debian$1" "${mounted[@]}"); }
java=$(dirname "$(dirname "$(realpath "$(command -v javac)")")")
mkdir -p "$debian/root/programs"
cp "$work"/work.* "$work"/Work.* "$debian/root/programs"
cp "$out"/*.deb "$out"/*manylinux*.whl "$debian/root"
mkdir "$debian/root/packages"
cp "$out"/install.sh "$out"/cg-*-linux-"$deb".tar.gz "$debian/root/packages"
for m in /proc /sys /dev "$(go env GOROOT)" "$java"; do bound "$m"; done
for etc in /etc/java-*; do [ ! -d "$etc" ] || cp -a "$etc" "$debian/etc/"; done
for tool in java javac; do ln -sf "$java/bin/$tool" "$debian/usr/bin/$tool"; done
ln -sf "$(go env GOROOT)/bin/go" "$debian/usr/bin/go"

said "the .deb"
files "$debian" >"$work/before"
inside sh -c "dpkg -i /root/cg_*_$deb.deb" >/dev/null
commit=$(inside cg version --json | sed -n 's/^ *"commit": "\([0-9a-f]*\)",$/\1/p')
[ -n "$commit" ] || fault "cg does not know its commit"
said "commit $commit"
for f in /usr/share/man/man1/cg-measure.1 /usr/share/bash-completion/completions/cg /usr/lib/systemd/system/cg-monitor.service \
  /usr/share/doc/cg/licences.md; do
  [ -e "$debian$f" ] || fault "the .deb lacks $f"
done
doctor cg
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

said "the script"
inside env PREFIX=/opt/cg CG_URL=file:///root/packages sh /root/packages/install.sh >/dev/null
programs /opt/cg/bin/cg
inside env PREFIX=/opt/cg sh /root/packages/install.sh --uninstall >/dev/null
left=$(find "$debian/opt" -mindepth 1 ! -path "$debian/opt/cg")
[ -z "$left" ] || fault "the script leaves files behind: $left"

# Debian's programs are of the GNU library, so that there the libraries for musl are not loaded, and Python has
# the runtime without native code.
said "cg for musl"
mkdir "$debian/root/musl"
tar -xzf "$(one "$out"/cg-*-linux-musl-"$deb".tar.gz)" -C "$debian/root/musl" --strip-components=1
needed=$(objdump -p "$debian/root/musl/bin/cg" | awk '$1 == "NEEDED" { print $2 }')
[ "$needed" = libc.so ] || fault "cg for musl needs $needed"
! inside /root/musl/bin/cg --version >/dev/null 2>&1 || fault "cg for musl runs without musl"
if ! cp "/lib/ld-musl-$machine.so.1" "$debian/lib/"; then
  fault "musl is not installed: apt-get install musl-tools"
fi
inside /root/musl/bin/cg version | grep "linux/$deb" >/dev/null || fault "cg for musl is not for $deb"
programs /root/musl/bin/cg pure-runtime
if command -v musl-gcc >/dev/null; then
  cat >"$work/work.c" <<'P'
#include <stdio.h>

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(void) { return printf("c %d\n", fib(20)) < 0; }
P
  (cd "$work" && CC=musl-gcc "$debian/root/musl/bin/cg" measure -g fine --json work.c >run.json 2>said) || { cat "$work/said" >&2; fault "cg for musl cannot measure a program in C"; }
  grep -q '^c 6765$' "$work/said" || fault "work.c did not say its result"
  called work.c pure-runtime
fi
rm "$debian/lib/ld-musl-$machine.so.1"

said "the image"
mkdir "$work/image" "$work/layers"
tar -xf "$(one "$out"/cg-*-image-"$deb".tar)" -C "$work/layers"
python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))[0]["Layers"], sep="\n")' "$work/layers/manifest.json" |
  while read -r layer; do tar -xf "$work/layers/$layer" -C "$work/image"; done
[ "$(find "$work/image" -name sh)" = "" ] || fault "the image has a shell"
chroot "$work/image" /usr/bin/cg version >/dev/null
mkdir -p "$work/image/proc" "$work/image/sys"
unshare --mount --fork sh -ec "mount --bind /proc '$work/image/proc'; mount --rbind /sys '$work/image/sys'
  exec chroot '$work/image' /usr/bin/cg monitor --duration 1 --output -" >"$work/said" 2>&1 ||
  { cat "$work/said" >&2; fault "cg monitor does not run in the image"; }

# The other architecture's: first by an emulator of user programs, which starts no program, then in a Debian of that
# architecture, where this kernel can start its programs with the emulator.
for other in amd64 arm64; do
  [ "$other" != "$deb" ] && [ -e "$(echo "$out"/cg-*-linux-"$other".tar.gz)" ] || continue
  emulator=qemu-aarch64-static
  [ "$other" = arm64 ] || emulator=qemu-x86_64-static
  command -v "$emulator" >/dev/null || { said "cg for $other is not tried: $emulator is not installed"; continue; }
  [ -e "$work/libc-$other.tar" ] || libc "$other"
  mkdir "$work/$other"
  tar -xf "$work/libc-$other.tar" -C "$work/$other"
  tar -xzf "$(one "$out"/cg-*-linux-"$other".tar.gz)" -C "$work/$other"
  emulated() { "$emulator" -L "$work/$other" "$work/$other"/cg-*/bin/cg "$@"; }
  emulated version | grep "linux/$other" >/dev/null || fault "cg for $other is not for it"
  emulated analyze "$work/work.py" | grep fib >/dev/null || fault "cg for $other finds no functions"
  emulated info >/dev/null
  said "cg for $other runs under $emulator: version, analyze, info"
  if unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; then
    "$root/testdata/emulated.sh" "$out"
  else
    said "cg for $other measures nothing here: this kernel has no binfmt_misc for a namespace (Linux 6.7 has)"
  fi
done

said "the examples of docs/ci.md"
(cd "$root" && CI=true CG_PACKAGES="$out" go test -count=1 ./e2e -run '^(TestWorkflowOfGitHub|TestJobOfGitLab)$')

said "the Go module"
mkdir "$work/proxy"
python3 -m zipfile -e "$(one "$out"/cg-*-goproxy.zip)" "$work/proxy"
path=$(sed -n 's/^module //p' "$work"/proxy/*/*/*/@v/*.mod)
(cd "$work" && GOBIN="$work/gobin" GOFLAGS=-modcacherw GOPROXY="file://$work/proxy,$(go env GOPROXY)" GONOSUMDB="$path" GONOSUMCHECK=1 \
  GOMODCACHE="$work/modules" go install "$path@v$("$work"/cg-*/bin/cg --version | sed 's/.* //')")
"$work/gobin/cg" version >/dev/null
said "go install $path"

# Into the same Debian, whose rpm need not be there: this machine's writes into a root.
said "the .rpm"
rpm --root "$debian" --initdb
files "$debian" | grep -v '^./var/lib/rpm' >"$work/before"
rpm --root "$debian" -i --nodeps --ignoreos "$(one "$out"/cg-*."$machine".rpm)"
rpm --root "$debian" -V --nodeps cg
doctor cg
programs cg
rpm --root "$debian" -e cg
files "$debian" | grep -v '^./var/lib/rpm' >"$work/after"
# Folders that are the package's, too, are not Debian's here: rpm takes them away when they are empty.
rpm -qlp "$(one "$out"/cg-*."$machine".rpm)" | sed 's/^/./' >"$work/owned"
differ=$(diff "$work/before" "$work/after" | grep '^[<>]' | grep -vxFf <(sed 's/^/< /' "$work/owned") || :)
[ -z "$differ" ] || fault "the .rpm leaves files behind, or takes others away: $differ"

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
