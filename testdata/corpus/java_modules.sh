#!/usr/bin/env bash
# Runs Gson, a folder with a module-info.java that nobody wrote for this, as a module of its
# sources: plain, and measured with cg measure java FOLDER. The module prints the same, and
# its methods have checkpoints. It needs Maven Central and a JDK; it takes half a minute.
# usage: java_modules.sh [FOLDER]   keeps what it makes in FOLDER
#
#	CG=path      the cg to use; built from this tree otherwise
#	JAVA=folder  of java and javac; those of the path otherwise
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
PATH=${JAVA:+$JAVA:}$PATH
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$here" && go build -o "$cg" .)
cd "$work"

central=https://repo1.maven.org/maven2/com/google
get() { [ -e "${1##*/}" ] || curl -sSfL -m 120 -o "${1##*/}" "$central/$1"; }
get code/gson/gson/2.13.2/gson-2.13.2-sources.jar
mkdir -p lib gson
(cd lib && get errorprone/error_prone_annotations/2.41.0/error_prone_annotations-2.41.0.jar)
(cd gson && unzip -q -o ../gson-2.13.2-sources.jar && rm -rf META-INF)
# A class of its module, so that the module runs: it reads what it has written.
cat >gson/com/google/gson/Main.java <<'J'
package com.google.gson;

import com.google.gson.reflect.TypeToken;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

public class Main {
    enum Kind { FIRST, SECOND }

    static class Part {
        int n;
        Kind kind;
        double[] figures;
        String text;
        List<Part> parts = new ArrayList<>();
        Map<String, Long> counts = new TreeMap<>();

        Part() {}

        Part(int n, int depth) {
            this.n = n;
            kind = Kind.values()[n % 2];
            figures = new double[] {n / 3.0, -n};
            text = "part \u00e9 <" + n + ">";
            counts.put("n", (long) n);
            for (int i = 0; i < depth; i++) parts.add(new Part(n * 4 + i, depth - 1));
        }
    }

    public static void main(String[] args) {
        System.out.println(Main.class.getModule().getDescriptor().toNameAndVersion());
        Gson gson = new GsonBuilder().setPrettyPrinting().serializeNulls().create();
        List<Part> all = List.of(new Part(1, 4), new Part(2, 3));
        String json = gson.toJson(all);
        List<Part> read = gson.fromJson(json, new TypeToken<List<Part>>() {}.getType());
        System.out.println(json.hashCode() + " " + json.length() + " " + gson.toJson(read).equals(json));
        System.out.println(gson.toJson(read.get(0).parts.get(3).parts.get(2).parts.get(0)));
        System.out.println(JsonParser.parseString("[1, {\"a\": [null, true, 1e3]}]"));
        for (String wrong : new String[] {"{\"n\": }", "[1, 2", "{\"n\": \"x\"}"}) {
            try {
                System.out.println(gson.fromJson(wrong, Part.class));
            } catch (JsonParseException e) {
                System.out.println(e.getClass().getName() + " " + e.getMessage());
            }
        }
    }
}
J

find gson -name '*.java' >list
rm -rf plain
javac -nowarn -proc:none -Xlint:-options -encoding UTF-8 -p lib -d plain @list
java -p plain -m com.google.gson/com.google.gson.Main >plain.txt
"$cg" measure -g fine -o run.json java --module-path lib gson --main com.google.gson/com.google.gson.Main >measured.txt 2>measured.err ||
  { cat measured.err; exit 1; }
diff plain.txt measured.txt && echo "java $(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p'): the module prints the same"
python3 - run.json <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
calls = sum(f["calls"] or 0 for f in r["functions"])
print("%d sites, %d functions called, %d calls; lost %d, open at the end %d, skipped %d" % (
    len(r["sites"]), len(r["functions"]), calls, r["channel"]["lost"], r["channel"]["open_at_end"], len(r["skipped"])))
sys.exit(0 if calls > 1000 and r["channel"]["lost"] == r["channel"]["open_at_end"] == len(r["skipped"]) == 0 else 1)
P
