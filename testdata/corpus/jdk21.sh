#!/usr/bin/env bash
# Unpacks JDK 21 of Debian 13 in a folder, beside whatever the machine has installed, and prints the
# folder of its commands. apt checks the signature of the archive. Where the machine's C library is
# older than the JDK needs, the commands run with that of Debian 13, which is unpacked, too.
# usage: jdk21.sh FOLDER   needs apt-get, dpkg-deb, patchelf, debian-archive-keyring and the network
set -euo pipefail
[ $# = 1 ] || { echo "usage: jdk21.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
work=$PWD
arch=$(dpkg --print-architecture)
jdk=$work/root/usr/lib/jvm/java-21-openjdk-$arch
if [ ! -e "$work/done" ]; then
  mkdir -p apt/lists/partial apt/cache/archives/partial
  echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main" >apt/sources.list
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/apt/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$work/apt/cache"
    -o APT::Sandbox::User=root -o Acquire::Languages=none)
  "${apt[@]}" update >&2
  "${apt[@]}" download openjdk-21-jdk-headless openjdk-21-jre-headless libc6 >&2
  rm -rf root
  for package in *.deb; do dpkg-deb -x "$package" root; done
  rm -f ./*.deb
  rm -rf apt
  # Its settings are links to the machine's /etc.
  find "$jdk" -type l -lname '/etc/*' | while read -r link; do ln -sfn "$work/root$(readlink "$link")" "$link"; done
  if ! "$jdk/bin/java" -version >/dev/null 2>&1; then
    libraries=$(dirname "$(find "$work/root" -name libc.so.6)")
    for command in "$jdk"/bin/*; do
      patchelf --set-interpreter "$(find "$libraries" -name 'ld-linux*.so.*' | head -1)" "$command"
      patchelf --force-rpath --set-rpath "$libraries:\$ORIGIN/../lib:/usr/lib/$(basename "$libraries")" "$command"
    done
  fi
  "$jdk/bin/java" -version >&2
  "$jdk/bin/javac" -version >&2
  touch "$work/done"
fi
echo "$jdk/bin"
