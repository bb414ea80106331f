#!/bin/sh
# projects.sh [PYTHON]: runs the tests of other people's projects as they are and
# measured, package and tests instrumented, and fails if a test does not end then as
# it did, if anything is left in the project's folder that a plain run does not leave
# there, or if the plain run after it differs. Needs PyPI and the module venv.
#
#   CG=path       the cg to use; built from this tree otherwise
#   PROJECTS=...  some of the projects below
set -eu

python=${1:-python3}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cg=${CG:-$work/cg}
[ -x "$cg" ] || (cd "$here/../.." && go build -o "$cg" .)
export XDG_CACHE_HOME="$work/cache"
unset PYTHONDONTWRITEBYTECODE

cd "$work"
"$python" -m venv venv
python=$work/venv/bin/python
"$python" -m pip install -q --disable-pip-version-check pytest==8.4.2 hypothesis==6.140.2 trio==0.31.0 trustme==1.2.1 \
	psutil==7.1.0 cloudpickle==3.1.1 blockbuster==1.5.25 exceptiongroup==1.3.0 attrs==25.3.0 click==8.2.1 anyio==4.9.0 jinja2==3.1.6

# project NAME VERSION MODULE ARGS...: the module that runs the tests, in the
# unpacked source. What is installed is for others that need it, and for the
# project's own metadata: its source comes first on the path.
failed=
project() {
	case " ${PROJECTS:-$1} " in *" $1 "*) ;; *) return 0 ;; esac
	echo "== $1 $2"
	name=$1
	"$python" -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: -d sources "$1==$2"
	tree=$(ls sources | sed -n "s/^\($(echo "$1" | tr - .)-$2\)\.tar\.gz$/\1/p")
	shift 2
	form=xml
	[ "$1" = pytest ] || form=log
	bad=

	fresh
	run plain "$@"
	files >plain.files
	fresh
	run woven "$@"
	files >woven.files
	diff plain.files woven.files || bad="$bad files"
	if grep -rl cg-checkpoint "$tree"; then
		bad="$bad bytecode"
	fi
	run after "$@" # reads whatever bytecode the measured run has left
	again=
	if [ -n "$(outcomes differ plain.$form woven.$form)" ]; then
		run again "$@"
		again="after.$form again.$form"
	fi
	outcomes table "$here/projects.allow" plain.$form woven.$form $again || bad="$bad tests"
	differ=$(outcomes differ plain.$form after.$form)
	if [ -n "$differ" ]; then
		printf 'the plain runs before and after differ in:\n%s\n' "$differ"
		bad="$bad after"
	fi
	"$python" -c '
import json, sys
called = json.load(open("woven.json"))["functions"]
tests = [f for f in called if f["file"].split(sys.argv[1] + "/", 1)[-1].startswith("test")]
print("instrumented: %d functions called, %d calls; of the tests: %d, %d" % (
    len(called) - len(tests), sum(f["calls"] for f in called) - sum(f["calls"] for f in tests),
    len(tests), sum(f["calls"] for f in tests)))
sys.exit(len(called) == len(tests))' "$tree" || bad="$bad instrumentation"
	[ -z "$bad" ] || failed="$failed $name ($(echo $bad))"
	if [ -n "${KEEP:-}" ]; then
		mkdir "$name"
		mv plain.* woven.* after.* "$name"
	fi
}

outcomes() {
	"$python" "$here/outcomes.py" "$@"
}

fresh() {
	rm -rf "$tree"
	tar xzf "sources/$tree.tar.gz"
}

# The files of the project. Bytecode is looked into by itself, hypothesis keeps what
# it found, and archives have the time in them.
files() {
	(cd "$tree" && find . \( -name __pycache__ -o -name .hypothesis -o -name "*.odt" \) -prune -o -type f -print0 |
		LC_ALL=C sort -z | xargs -0 sha256sum)
}

# run NAME MODULE ARGS...
run() {
	as=$1
	shift
	rm -f "$as.xml"
	[ "$1" != pytest ] || set -- "$@" --junit-xml "$work/$as.xml"
	case $as in
	plain | after) set -- "$python" -m "$@" ;;
	*) set -- "$cg" measure python --python "$python" -g fine --output "$work/$as.json" -- -m "$@" ;;
	esac
	status=0
	(cd "$tree" && PYTHONPATH=src "$@") </dev/null >"$as.out" 2>"$as.log" || status=$?
	echo "$as: exit status $status"
}

quiet="-q -p no:cacheprovider --hypothesis-seed=0"
project attrs 25.3.0 pytest $quiet tests
# Whether a pager has read its input before it is killed is left to chance.
project click 8.2.1 pytest $quiet tests -k 'not echo_via_pager'
project jinja2 3.1.6 pytest $quiet tests
# pytest rewrites the package of a plugin that it finds by itself, or by its short
# name; it would not be instrumented.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
project anyio 4.9.0 pytest $quiet -o addopts= -p _hypothesis_pytestplugin -p anyio.pytest_plugin \
	tests/test_taskgroups.py tests/test_synchronization.py tests/test_from_thread.py tests/test_to_thread.py \
	tests/test_lowlevel.py tests/test_eventloop.py tests/streams
project more-itertools 10.7.0 unittest -v
project docutils 0.21.2 unittest discover -v -s test
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
