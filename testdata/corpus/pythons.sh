#!/usr/bin/env bash
# Unpacks Pythons of Debian's unstable distribution in a folder, with their headers, beside whatever the machine has
# installed, and prints their paths with ":" between them, as CG_PYTHONS has them. apt checks the signature of the
# archive. They run with that distribution's C library, which is unpacked, too.
# usage: pythons.sh FOLDER [VERSION...]   needs apt-get, dpkg-deb, patchelf, debian-archive-keyring and the network
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: pythons.sh FOLDER [VERSION...]" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
shift
work=$PWD
[ $# != 0 ] || set -- 3.14 3.15
if [ ! -e "done-$*" ]; then
  mkdir -p apt/lists/partial apt/cache/archives/partial
  arch=$(dpkg --print-architecture)
  echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian unstable main" >apt/sources.list
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/apt/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$work/apt/cache"
    -o APT::Sandbox::User=root -o Acquire::Languages=none)
  "${apt[@]}" update >&2
  packages=()
  for version in "$@"; do packages+=("python$version" "python$version-venv" "libpython$version-dev"); done
  "${apt[@]}" install --no-install-recommends --download-only --yes "${packages[@]}" >&2
  rm -rf root
  for package in apt/cache/archives/*.deb; do dpkg-deb -x "$package" root; done
  rm -rf apt
  rm -f root/usr/lib/python*/sitecustomize.py # leads to /etc
  libraries=$(dirname "$(find "$work/root/usr" -name libc.so.6)")
  for version in "$@"; do
    patchelf --set-interpreter "$(find "$libraries" "$work/root/usr/lib64" -name 'ld-linux*.so.*' | head -1)" \
      --force-rpath --set-rpath "$libraries" "root/usr/bin/python$version"
    "root/usr/bin/python$version" -c 'import ctypes, ssl, sys; print(sys.version)' >&2
  done
  touch "done-$*"
fi
paths=
for version in "$@"; do paths+=:$work/root/usr/bin/python$version; done
echo "${paths#:}"
