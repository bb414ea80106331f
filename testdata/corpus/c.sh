#!/usr/bin/env bash
# Builds SQLite's amalgamation, as github.com/mattn/go-sqlite3 has it, with checkpoints in every function, and
# has it work: its answers must be those of the plain build, with nothing skipped and nothing lost. The source
# is left as it is. It takes two minutes.
# usage: c.sh [FOLDER]   keeps what it makes in FOLDER
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
module=$(cd "$work" && go mod download -json github.com/mattn/go-sqlite3@v1.14.53 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
mkdir -p "$work/sqlite"
cd "$work/sqlite"
export XDG_CACHE_HOME=$work/cache
for name in sqlite3-binding.c sqlite3-binding.h; do
  sed 's/^#ifndef USE_LIBSQLITE3/#if 1/' "$module/$name" >"$name"
done
cat >main.c <<'C'
#include "sqlite3-binding.h"
#include <stdio.h>

static int row(void *n, int count, char **values, char **names)
{
	(void)names;
	for (int i = 0; i < count; i++)
		printf("%s|", values[i] ? values[i] : "NULL");
	puts("");
	++*(int *)n;
	return 0;
}

int main(void)
{
	static const char sql[] =
		"create table t(a integer primary key, b text, c real);"
		"with recursive k(i) as (select 1 union all select i+1 from k where i < 20000)"
		" insert into t select i, 'row '||i*7919%1000, i/3.0 from k;"
		"create index tb on t(b); select count(*), sum(c), min(b), max(b) from t;"
		"select b, count(*) from t group by b having count(*) > 3 order by b limit 5;"
		"update t set c = c*2 where a % 2; delete from t where b like '%5';"
		"select count(*), round(sum(c), 2) from t;"
		"select json_group_array(a) from (select a from t limit 6);"
		"begin; delete from t; rollback; select count(*) from t; pragma integrity_check;";
	sqlite3 *db;
	char *error = 0;
	int n = 0;
	if (sqlite3_open(":memory:", &db) || sqlite3_exec(db, sql, row, &n, &error)) {
		printf("error %s\n", error);
		return 1;
	}
	sqlite3_close(db);
	return n;
}
C
sum() { sha256sum main.c sqlite3-binding.c sqlite3-binding.h; }
before=$(sum)
status=0
TIMEFORMAT='plain build: %U s of processor time'
time cc -O1 main.c sqlite3-binding.c -o plain -lm -lpthread -ldl
./plain >plain.txt || status=$?
for flags in "" --inline; do
  got=0
  TIMEFORMAT="with checkpoints ${flags:-where functions are not short}: %U s, cg and the program included"
  time "$cg" measure c -O1 -g fine $flags -o run.json main.c sqlite3-binding.c >out.txt 2>said.txt || got=$?
  cmp plain.txt out.txt
  [ "$got" = "$status" ] || { echo "status $got, want $status"; exit 1; }
  python3 - <<'P'
import json
r = json.load(open("run.json"))
c = r["channel"]
print(f"{len(r['functions'])} functions ran, {c['events']} events, {c['lost']} lost, {len(r['skipped'])} skipped")
assert len(r["functions"]) > 800 and c["lost"] == 0 and c["open_at_end"] == 0 and not r["skipped"]
P
done
[ "$(sum)" = "$before" ] || { echo "the source was changed"; exit 1; }
echo "the same answers, $(wc -l <plain.txt) lines"
