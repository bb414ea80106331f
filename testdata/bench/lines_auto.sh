#!/usr/bin/env bash
# What lines of the functions that use most cost beside -g fine, and what --lines auto makes of that: three programs in
# four languages, each with loops and with calls. The processor time that each tells at its end (Java: of its thread),
# the median of ROUNDS runs that take turns: alone, -g fine, -g line --lines FILE.json (the report of the run before) and
# -g line --lines auto, whose two runs before are not in its time. The ratios are to -g fine; "left" is how many of the
# functions that use most have no lines by auto, in the last round.
#
#   testdata/bench/lines_auto.sh [ROUNDS]        # 5 rounds; CG names a cg to use
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
rounds=${1:-5}
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cg=${CG:-}
if [ -z "$cg" ]; then
  cg=$work/cg
  (cd "$root" && go build -trimpath -o "$cg" .)
fi
mkdir "$work/go"
cd "$work"

# sieve: loops of a few operations. trees: short calls. words: what a library does.
cat >main.py <<'E'
import sys
import time


def sieve(n):
    gone = bytearray(n)
    count = 0
    for i in range(2, n):
        if gone[i]:
            continue
        count += 1
        for j in range(i * i, n, i):
            gone[j] = 1
    return count


def make(depth):
    if depth == 0:
        return None
    return make(depth - 1), make(depth - 1)


def count(tree):
    if tree is None:
        return 1
    return count(tree[0]) + count(tree[1])


def trees(n):
    sum = 0
    for _ in range(n):
        sum += count(make(14))
    return sum


def words(n):
    seen = {}
    for i in range(n):
        word = "w%d" % (i * 7919 % 5003)
        seen[word] = seen.get(word, 0) + 1
    return len(sorted(seen))


which, n = sys.argv[1], int(sys.argv[2])
print({"sieve": sieve, "trees": trees, "words": words}[which](n))
print("cpu", time.process_time(), file=sys.stderr)
E
cat >Main.java <<'E'
import java.lang.management.ManagementFactory;
import java.util.TreeMap;

public class Main {
    record Tree(Tree left, Tree right) {}

    static int sieve(int n) {
        boolean[] gone = new boolean[n];
        int count = 0;
        for (int i = 2; i < n; i++) {
            if (gone[i]) {
                continue;
            }
            count++;
            for (long j = (long) i * i; j < n; j += i) {
                gone[(int) j] = true;
            }
        }
        return count;
    }

    static Tree make(int depth) {
        if (depth == 0) {
            return null;
        }
        return new Tree(make(depth - 1), make(depth - 1));
    }

    static int count(Tree tree) {
        if (tree == null) {
            return 1;
        }
        return count(tree.left()) + count(tree.right());
    }

    static int trees(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += count(make(14));
        }
        return sum;
    }

    static int words(int n) {
        TreeMap<String, Integer> seen = new TreeMap<>();
        for (int i = 0; i < n; i++) {
            String word = "w" + (i * 7919L % 5003);
            seen.merge(word, 1, Integer::sum);
        }
        return seen.size();
    }

    public static void main(String[] args) {
        int n = Integer.parseInt(args[1]);
        System.out.println(switch (args[0]) {
            case "sieve" -> sieve(n);
            case "trees" -> trees(n);
            default -> words(n);
        });
        System.err.println("cpu " + ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e9);
    }
}
E
cat >go/go.mod <<'E'
module auto
go 1.24
E
cat >go/main.go <<'E'
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

type tree struct{ left, right *tree }

func sieve(n int) int {
	gone := make([]bool, n)
	count := 0
	for i := 2; i < n; i++ {
		if gone[i] {
			continue
		}
		count++
		for j := i * i; j < n; j += i {
			gone[j] = true
		}
	}
	return count
}

func grow(depth int) *tree {
	if depth == 0 {
		return nil
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

func count(t *tree) int {
	if t == nil {
		return 1
	}
	return count(t.left) + count(t.right)
}

func trees(n int) int {
	sum := 0
	for range n {
		sum += count(grow(14))
	}
	return sum
}

func words(n int) int {
	seen := map[string]int{}
	for i := range n {
		word := "w" + strconv.Itoa(i*7919%5003)
		seen[word]++
	}
	return len(seen)
}

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	fmt.Println(map[string]func(int) int{"sieve": sieve, "trees": trees, "words": words}[os.Args[1]](n))
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	fmt.Fprintln(os.Stderr, "cpu", float64(u.Utime.Nano()+u.Stime.Nano())/1e9)
}
E
cat >main.c <<'E'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tree { struct tree *left, *right; };

static int sieve(int n)
{
    char *gone = calloc(n, 1);
    int count = 0;
    for (int i = 2; i < n; i++) {
        if (gone[i])
            continue;
        count++;
        for (long j = (long)i * i; j < n; j += i)
            gone[j] = 1;
    }
    free(gone);
    return count;
}

static struct tree *make(int depth)
{
    if (depth == 0)
        return NULL;
    struct tree *t = malloc(sizeof *t);
    t->left = make(depth - 1);
    t->right = make(depth - 1);
    return t;
}

static int count(struct tree *t)
{
    if (t == NULL)
        return 1;
    int sum = count(t->left) + count(t->right);
    free(t);
    return sum;
}

static int trees(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += count(make(14));
    return sum;
}

static int words(int n)
{
    static char seen[5003][8];
    int different = 0;
    for (long i = 0; i < n; i++) {
        char word[8];
        int k = i * 7919 % 5003;
        snprintf(word, sizeof word, "w%d", k);
        if (strcmp(seen[k], word) != 0)
            different++;
        strcpy(seen[k], word);
    }
    return different;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;
    const char *which = argc > 1 ? argv[1] : "";
    printf("%d\n", !strcmp(which, "sieve") ? sieve(n) : !strcmp(which, "trees") ? trees(n) : words(n));
    fprintf(stderr, "cpu %g\n", (double)clock() / CLOCKS_PER_SEC);
    return 0;
}
E
# What is built once, without cg.
mkdir plain
javac -d plain Main.java
(cd go && go build -o ../plain/go .)
cc -O2 -o plain/c main.c

declare -A plain=([python]="python3 main.py" [java]="java -cp plain Main" [go]=plain/go [c]=plain/c)
declare -A measured=([python]="python3 main.py" [java]="java Main.java" [go]="go ." [c]=main.c)
declare -A sizes=([python]="sieve=1000000 trees=20 words=600000" [java]="sieve=20000000 trees=600 words=3000000"
  [go]="sieve=20000000 trees=600 words=20000000" [c]="sieve=20000000 trees=600 words=6000000")
for language in python java go c; do
  for sized in ${sizes[$language]}; do
    program=${sized%=*} n=${sized#*=}
    for ((round = 0; round < rounds; round++)); do
      ${plain[$language]} "$program" "$n" 2>said >/dev/null
      echo "$language $program alone $(sed -n 's/^cpu //p' said)"
      folder=.
      [ "$language" != go ] || folder=go
      for way in fine lines auto; do
        case $way in
        fine) flags="-g fine -o $work/fine.json" ;;
        lines) flags="-g line --lines $work/fine.json" ;;
        auto) flags="-g line --lines auto -o $work/auto.json" ;;
        esac
        (cd $folder && "$cg" measure $flags ${measured[$language]} "$program" "$n" >/dev/null 2>"$work/said") ||
          { cat said >&2; exit 1; }
        echo "$language $program $way $(sed -n 's/^cpu \([0-9.]*\).*/\1/p' said)"
      done
      echo "$language $program left $(python3 -c 'import json, sys
print(len(json.load(open(sys.argv[1])).get("places_of", {}).get("too_dear", [])))' auto.json)"
    done
  done
done | python3 -c '
import collections, statistics, sys
took = collections.defaultdict(list)
for line in sys.stdin:
    language, program, way, seconds = line.split()
    took[language, program, way].append(float(seconds))
print("language program  alone  fine  lines   auto  lines/fine  auto/fine  left")
for language, program, way in took:
    if way == "alone":
        a, f, l, e = (statistics.median(took[language, program, w]) for w in ("alone", "fine", "lines", "auto"))
        print("%-8s %-7s %6.2f %5.2f %6.2f %6.2f %11.1f %10.1f %5d" % (
            language, program, a, f, l, e, l / f, e / f, took[language, program, "left"][-1]))
'
