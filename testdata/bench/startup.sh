#!/usr/bin/env bash
# What cg takes besides what it is asked for: cg --version, cg run of a program that does nothing, and cg
# measure of an empty Python file, beside true and Python alone. Prints medians of interleaved runs, so
# that other work on the machine meets all of them alike.
#
#   testdata/bench/startup.sh            # 100 runs of each
#   ROUNDS=20 testdata/bench/startup.sh  # the short form
#   CG="old/cg new/cg" testdata/bench/startup.sh
#
# CG names one cg or several to use; PYTHON is the interpreter, else the one that python3 stands for.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
root=$(cd "$(dirname "$0")/../.." && pwd)
rounds=${ROUNDS:-100}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-$(python3 -c 'import sys; print(sys.executable)')}
: >"$work/empty.py"
if [ -z "${CG:-}" ]; then
  CG=$work/cg
  (cd "$root" && go build -o "$CG" .)
fi
read -ra cgs <<<"$CG"
for i in "${!cgs[@]}"; do cgs[i]=$(realpath "${cgs[i]}"); done
cd "$work"

names=() commands=()
add() { # NAME COMMAND: a row, and what is timed for it
  names+=("$1")
  commands+=("$2")
}
add true "$(type -P true)"
add 'python empty.py' "'$python' empty.py"
for cg in "${cgs[@]}"; do
  of=
  [ ${#cgs[@]} = 1 ] || of=" ($cg)"
  add "cg --version$of" "'$cg' --version"
  add "cg run -n 1 -w 0 -- true$of" "'$cg' run -n 1 -w 0 -- true"
  add "cg run -n 1 -- true$of" "'$cg' run -n 1 -- true"
  add "cg measure -g fine empty.py$of" "'$cg' measure -g fine --python '$python' empty.py"
done

once() { # COMMAND: in µs
  local begin=$EPOCHREALTIME
  eval "$1" >/dev/null 2>&1 </dev/null
  echo $((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}))
}
for command in "${commands[@]}"; do
  eval "$command" >/dev/null </dev/null 2>log || { cat log >&2; exit 1; } # it works, and has filled its caches
done
for ((round = 0; round < rounds; round++)); do
  for i in "${!commands[@]}"; do once "${commands[i]}" >>"times.$i"; done
done

quantile() { sort -n "times.$1" | awk -v q="$2" '{ t[NR] = $1 } END { printf "%.1f", t[int((NR - 1) * q) + 1] / 1000 }'; }
alone=$(quantile 1 0.5)
printf '%-34s %10s %10s\n' "ms" median "a tenth"
for i in "${!names[@]}"; do
  more=
  case ${names[i]} in
    "cg measure"*) more=$(echo "$(quantile "$i" 0.5) $alone" | awk '{ printf "  %.1f more than Python alone", $1 - $2 }') ;;
  esac
  printf '%-34s %10s %10s%s\n' "${names[i]}" "$(quantile "$i" 0.5)" "$(quantile "$i" 0.1)" "$more"
done
echo "a tenth of the runs took no longer than the second figure; $rounds interleaved runs of each; $(nproc) processors, load $(cut -d' ' -f1-3 /proc/loadavg)"
