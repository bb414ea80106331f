#!/usr/bin/env bash
# Tries the packages of the architecture that this machine is not, arm64 on x86-64 and the other way round, in a new
# Debian of that architecture, whose programs the kernel starts with QEMU (qemu-user-static): cg's .deb and its wheel
# are installed, measure a Python program by native checkpoints, and leave nothing.
#
#	testdata/emulated.sh FOLDER   tries the packages in FOLDER
#
# It takes root, debootstrap, a mirror of Debian, and Linux 6.7 or later: there QEMU is registered for this script's
# namespace of users alone (binfmt_misc), and for nobody else. What is emulated has no counters and no true times.
# CG_EMULATED keeps the Debian in a folder, and takes it from there the next time.
set -euo pipefail
out=$(realpath "$1")
work=$(mktemp -d)
inside=
leave() {
  [ -z "$inside" ] || kill "$inside" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap leave EXIT
said() { printf 'emulated: %s\n' "$*"; }
fault() { printf 'emulated: %s\n' "$*" >&2; exit 1; }

case $(dpkg --print-architecture) in
  amd64) arch=arm64 machine=aarch64 ;;
  arm64) arch=amd64 machine=x86_64 ;;
  *) fault "no packages are made for an architecture beside $(dpkg --print-architecture)" ;;
esac
[ $arch = arm64 ] && elf='\xb7' || elf='\x3e'
emulator=$(command -v qemu-$machine-static) || fault "qemu-$machine-static is not installed: apt-get install qemu-user-static"
one() { [ $# = 1 ] && [ -e "$1" ] || fault "not one of $1"; printf '%s\n' "$1"; }
deb=$(one "$out"/cg_*_$arch.deb)
wheel=$(one "$out"/codegreen_cg-*manylinux*_$machine.whl)

debian=${CG_EMULATED:-$work/debian}
if [ ! -e "$debian" ]; then
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  debootstrap --foreign --arch=$arch --variant=minbase --include=python3-venv,python3-pip "$release" "$debian" >"$work/said" ||
    { tail "$work/said" >&2; fault "debootstrap cannot fetch a Debian for $arch"; }
fi

cat >"$debian/root/work.py" <<'P'
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

print("python", fib(20))
P
cat >"$debian/root/try.sh" <<'P'
set -eu
# Here no device can be made (container=lxc), and none needs to be.
[ ! -e /debootstrap ] || container=lxc /debootstrap/debootstrap --second-stage >/root/said || { tail /root/said; exit 1; }
! command -v cc >/dev/null
measured() { # NAME CG
  "$2" measure -g fine --json /root/work.py >/root/run.json 2>/root/said || { cat /root/said; exit 1; }
  grep -q '^python 6765$' /root/said || { cat /root/said; echo "the program did not say its result"; exit 1; }
  python3 - "$1" <<'Q'
import json, sys
run = json.load(open("/root/run.json"))
fib = [f for f in run["functions"] if f["name"] == "__main__.fib"]
slugs = {w["slug"] for w in run["warnings"]}
assert fib and fib[0]["calls"] == 21891, fib
assert "pure-runtime" not in slugs, run["warnings"]
print("emulated: %s: %s called %d times, %s" % (sys.argv[1], fib[0]["name"], fib[0]["calls"], ", ".join(sorted(slugs)) or "no warning"))
Q
}
# What is in the root, but for caches and logs.
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /root -o -path /tmp -o -path /var/cache -o -path /var/log \
    -o -path /var/lib/dpkg \) -prune -o -print | sort
}
dpkg --purge cg >/dev/null 2>&1 || true # what a run before may have left, where CG_EMULATED keeps this Debian
files >/root/before
dpkg -i /root/cg.deb >/dev/null
cg version | head -1
measured "the .deb" cg
dpkg --purge cg >/dev/null
files >/root/after
diff /root/before /root/after || { echo "the .deb leaves files behind"; exit 1; }
python3 -m venv /root/venv
/root/venv/bin/pip install -q --no-index /root/*.whl
/root/venv/bin/python -c 'import codegreen; codegreen.Session'
measured "the wheel" /root/venv/bin/cg
/root/venv/bin/pip uninstall -q -y codegreen-cg
left=$(find /root/venv -name '*codegreen*' -o -name 'cg*')
[ -z "$left" ] || { echo "the wheel leaves files behind: $left"; exit 1; }
P
rm -rf "$debian"/root/*.whl "$debian"/root/venv
cp "$deb" "$debian/root/cg.deb"
cp "$wheel" "$debian/root/"

# In namespaces of users and mounts: what is registered and mounted there ends with them.
mkfifo "$work/mapped"
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00'$elf'\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
unshare --user --mount bash -euo pipefail -c '
  read -r <"$1"
  mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || { echo "this kernel has no binfmt_misc for a namespace: Linux 6.7 has"; exit 1; }
  printf %s ":cg:M::$3:$4:$5:F" >/proc/sys/fs/binfmt_misc/register
  for m in proc sys dev; do mount --rbind /$m "$2/$m"; done
  mount -t tmpfs none "$2/tmp"
  exec chroot "$2" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /root/try.sh
' bash "$work/mapped" "$debian" "$magic" "$mask" "$emulator" &
inside=$!
until [ "$(readlink /proc/$inside/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.01; done
echo '0 0 65536' >"/proc/$inside/uid_map"
echo '0 0 65536' >"/proc/$inside/gid_map"
echo >"$work/mapped"
status=0
wait "$inside" || status=$?
inside=
[ $status = 0 ] || fault "what was tried ended with status $status"
said "all hold for $arch"
