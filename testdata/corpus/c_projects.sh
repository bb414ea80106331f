#!/usr/bin/env bash
# Builds projects of C and C++ from Debian's source packages, and runs their tests, as they are and with checkpoints
# in every function: the tests must end and say the same, nothing may be lost, no function is skipped but those
# that the compiler computes (constexpr), and the sources are left as they are.
# usage: c_projects.sh [FOLDER [NAME...]]   keeps what it makes in FOLDER; NAME are some of the projects
# NAME may be short: the one that .ci/run builds.
# It needs apt-get, debian-archive-keyring, make, cmake, meson, ninja and the network. Where the sources cannot be
# fetched, it says so and ends with status 3.
#
#	CG=path   the cg to use; built from this tree otherwise
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$here" && go build -o "$cg" .)
export XDG_CACHE_HOME=$work/cache

# The projects: name, the compilers' language, the source package, the least number of functions that run, and
# the command. What a test says differently each time is taken out by stable.
projects=(
  "lua     c   lua5.4   400 make -s -C src lua MYCFLAGS=-DLUA_USE_LINUX MYLIBS='-Wl,-E -ldl' && src/lua $work/work.lua"
  "zlib    c   zlib     80  ./configure --static >configured && make -s test"
  "cjson   c   cjson    300 cmake -S . -B b -DENABLE_CJSON_UTILS=On >b.txt 2>&1 && cmake --build b >>b.txt && ctest --test-dir b"
  "lz4     c   lz4      60  make -s -C programs lz4 && programs/lz4 -q -9 lib/lz4.c t.lz4 && programs/lz4 -dc t.lz4 | cmp - lib/lz4.c && programs/lz4 -t t.lz4"
  "libpng  c   libpng1.6 150 ./configure --disable-shared >b.txt && make -s pngtest pngstest pngvalid >>b.txt 2>&1 && ./pngtest pngtest.png && ./pngstest --strict contrib/testpngs/rgb-8.png contrib/testpngs/palette-4.png && ./pngvalid --strict --transform"
  "zstd    c   libzstd  250 make -s -C programs zstd-frugal ZSTD_NO_ASM=1 >b.txt && cd lib && ../programs/zstd-frugal -q -9 compress/zstd_opt.c -o t.zst && ../programs/zstd-frugal -dc t.zst | cmp - compress/zstd_opt.c && ../programs/zstd-frugal -t -q t.zst"
  "redis   c   redis    200 make -s -j2 -C src redis-server MALLOC=libc OPTIMIZATION=-O1 REDIS_CFLAGS=-DREDIS_TEST >b.txt 2>&1 && src/redis-server test all 2>&1 | grep -E '^\[(ok|fail)|tests,'"
  "json    cpp nlohmann-json3 200 c++ -O0 -Iinclude -Itests/thirdparty/doctest -Itest/thirdparty/doctest -DJSON_TEST_KEEP_MACROS test*/src/unit.cpp test*/src/unit-pointer_access.cpp test*/src/unit-element_access1.cpp test*/src/unit-merge_patch.cpp -o t && ./t"
  "fmt     cpp fmtlib+googletest 100 cd $work/fmt/googletest && c++ -std=c++17 -O0 -DGTEST_HAS_PTHREAD=0 -Igoogletest/include -Igoogletest -Igooglemock/include -Igooglemock -c googletest/src/gtest-all.cc googletest/src/gtest_main.cc googlemock/src/gmock-all.cc && cd - >/dev/null && c++ -std=c++17 -O0 -DGTEST_HAS_PTHREAD=0 -Iinclude -isystem $work/fmt/googletest/googletest/include -isystem $work/fmt/googletest/googlemock/include src/format.cc src/os.cc test/args-test.cc test/color-test.cc test/gtest-extra.cc test/util.cc $work/fmt/googletest/*.o -o t && ./t"
  "gtest   cpp googletest 400 cmake -S . -B b -Dgtest_build_tests=On -DBUILD_GMOCK=Off >b.txt && cmake --build b --target gtest_no_test_unittest googletest-port-test googletest-filepath-test gtest-typed-test_test >>b.txt && ctest --test-dir b -R 'port-test|filepath-test|typed-test_test'"
  "tinyxml cpp tinyxml2 200 meson setup b -Dtests=true >m.txt && ninja -C b >>m.txt && b/xmltest"
)
cat >"$work/work.lua" <<'LUA'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local words = {}
for i = 1, 5000 do words[i] = tostring(i * 7919 % 1000) end
table.sort(words)
print(fib(18), #words, words[1], words[#words], select("#", ("a,b,c"):gsub(",", ";")), pcall(error, "told"))
local each = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
print(each(), each(), each(), string.format("%5.2f %q", 2 / 3, "quoted\n"), load("return ...")(7))
LUA

apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/apt/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$work/apt/cache"
  -o APT::Sandbox::User=root -o Acquire::Languages=none -o APT::Update::Error-Mode=any -o Acquire::Retries=2
  -o Acquire::http::Timeout=20)
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" \
  >"$work/apt/sources.list"
unfetched() {
  echo "c_projects.sh: $1 cannot be fetched from deb.debian.org (no network, or no keys in /usr/share/keyrings)" >&2
  exit 3
}
"${apt[@]}" update >&2 || unfetched "the list of source packages"

sum() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum); }
# stable takes out times, process numbers, and the folders of the two builds.
stable() { sed -E -e "s#$1#DIR#g" -e 's/[0-9.]+ (sec|milli-seconds|ms)//g' | grep -v '^Internal ctest' || true; }

failed=()
wanted=${*:2}
[ "$wanted" != short ] || wanted=cjson
for line in "${projects[@]}"; do
  read -r name language package least command <<<"$line"
  [ $# -lt 2 ] || [[ " $wanted " == *" $name "* ]] || continue
  echo "== $name"
  rm -rf "$work/$name"
  mkdir -p "$work/$name"
  cd "$work/$name"
  for of in ${package//+/ }; do # the sources of the first, and of what its tests need
    "${apt[@]}" source --download-only "$of" >/dev/null 2>&1 || unfetched "the source of $of"
    folder=source # as the project's authors have it, without Debian's changes
    [ "$of" = "${package%%+*}" ] || folder=$of
    mkdir "$folder"
    tar xf "$(find . -name "${of}_*.orig.tar.*" ! -name "*.asc")" -C "$folder" --strip-components=1
  done
  cp -a source plain
  before=$(sum source)
  (cd plain && sh -c "$command") >plain.out 2>plain.err || { tail -5 plain.err; failed+=("$name (without cg)"); continue; }
  status=0
  (cd source && "$cg" measure "$language" -g fine -o ../run.json --project . -- sh -c "$command") >with.out 2>with.err || status=$?
  stable "$PWD/plain" <plain.out >plain.txt
  stable "$PWD/source" <with.out >with.txt
  ok=yes
  [ $status = 0 ] || { echo "ends with status $status"; tail -5 with.err; ok=; }
  diff plain.txt with.txt >difference || { echo "says something else:"; head -5 difference; ok=; }
  [ "$(sum source)" = "$before" ] || { echo "the source was changed"; ok=; }
  python3 - "$least" "$language" <<'P' || ok=
import json, re, sys
r = json.load(open("run.json"))
c = r["channel"]
print(f"{len(r['functions'])} functions ran, {c['events']} events, {c['lost']} lost, {len(r['skipped'])} skipped")
def computed(s): # a function of C++ whose source has the word, or a macro for it, in its declaration
    path, _, line = s["file"].rpartition(":")
    if sys.argv[2] != "cpp" or not s["reason"].endswith(" is constexpr") or not line.isdigit():
        return False
    with open(path, errors="replace") as f:
        lines = f.read().split("\n")[max(0, int(line) - 6):int(line)]
    macro = "::FMT_COMPILE_STRING::operator " in s["reason"] # of fmt, where FMT_STRING stands
    return macro or "constexpr" in re.sub("//.*", "", "\n".join(lines)).lower()
left = [s for s in r["skipped"] if not computed(s)]
for s in left:
    print("skipped:", s)
sys.exit(len(r["functions"]) < int(sys.argv[1]) or c["lost"] != 0 or len(left) > 0)
P
  [ -n "$ok" ] || failed+=("$name")
done
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
echo "the same answers, and the sources are as they were"
