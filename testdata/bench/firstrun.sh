#!/usr/bin/env bash
# What the first run of a program that is new to cg costs beside the interpreter or
# compiler alone: wall-clock and processor time of all processes, medians of runs in turn.
#
#   testdata/bench/firstrun.sh            # 9 rounds, on one processor
#   ROUNDS=3 CPUS=0,1 testdata/bench/firstrun.sh python imports
#   CG=/usr/bin/cg testdata/bench/firstrun.sh installed      # Python, Java, Node and Go
#
# Python: a program asks for the code of MODULES (143) files of the standard library, as an import
# does, without running them. imports: a program imports these files, and each ends at its first line, so that cg
# can weave them ahead of the program where CPUS names several processors. Java and Go: a program of 60 files. PYTHON, CG name an interpreter
# and a cg to use. installed: a small program of each language is measured with a cache of cg that is empty, as after
# the installation of a package, and again; without CG, with cg as packages have it. What the compilers keep is there
# already, also of the standard library of Go with checkpoints. Column "work" is what is left without the time of a program without files.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cg=${CG:-}
if [ -z "$cg" ]; then
  cg=$work/cg
  if [[ " $* " == *" installed "* ]]; then # as release/ builds it, from a copy, since it takes files beside the source
    mkdir "$work/source"
    (cd "$root" && git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$work/source")
    (cd "$work/source" && CGO_ENABLED=0 go run ./runtimes/prebuild -javac javac >/dev/null &&
      go build -trimpath -buildvcs=false -tags=prebuilt -ldflags='-s -w' -o "$cg" .)
  else
    (cd "$root" && go build -o "$cg" .)
  fi
fi
unset PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX
export XDG_CACHE_HOME=$work/cache GOCACHE=${GOCACHE:-$(go env GOCACHE 2>/dev/null || true)}
exec_on=()
[ -z "${CPUS-0}" ] || exec_on=(taskset -c "${CPUS-0}")
"${exec_on[@]}" "${PYTHON:-python3}" - "$work" "$cg" "${ROUNDS:-9}" "${MODULES:-143}" "${@:-python}" <<'PROGRAM'
import os, shutil, subprocess, sys, time
from statistics import median

work, cg, rounds, modules = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
kinds = sys.argv[5:]
python = sys.executable


def run(cwd, args, **env):
    """(wall-clock, processor) seconds of a command with all its processes."""
    begin = time.perf_counter()
    child = subprocess.Popen(args, cwd=cwd, env=dict(os.environ, **env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    if status:
        sys.exit("%s: %s" % (args, said.decode(errors="replace")))
    return wall, used.ru_utime + used.ru_stime


def forget(*folders):
    """Removes what is kept, so that a run is the first one."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def show(title, rows, reference, first, idle):
    print(title)
    print("%-34s %9s %9s %9s %9s" % ("median of %d, ms" % rounds, "wall", "work", "processor", "work"))
    middle = {name: [median(x) for x in zip(*times)] for name, times in rows.items()}
    done = {name: [x - y for x, y in zip(middle[name], middle[idle[name]])] for name in rows if name in idle}
    for name in rows:
        wall, processor = middle[name]
        left = ["%9.1f" % (1e3 * x) for x in done[name]] if name in done else [" " * 9] * 2
        print("%-34s %9.1f %s %9.1f %s" % (name, 1e3 * wall, left[0], 1e3 * processor, left[1]))
    for i, what in enumerate(("wall-clock", "processor")):
        print("%s time, %s / %s: %.2f in all, %.2f of the work" % (
            what, first, reference, middle[first][i] / middle[reference][i], done[first][i] / done[reference][i]))
    print(flush=True)


def of_imports():
    of_python(True)


def of_python(imports=False):
    folder = os.path.join(work, "imports" if imports else "python")
    package = os.path.join(folder, "library" if imports else "files")
    os.makedirs(package)
    library, n, size, names = os.path.dirname(os.__file__), 0, 0, []
    for name in sorted(os.listdir(library)):
        if not name.endswith(".py") or not name[:-3].isidentifier() or n == modules:
            continue
        with open(os.path.join(library, name), encoding="utf-8") as f:
            text = f.read()
        if imports and "__future__" in text:
            continue  # which has to be first
        with open(os.path.join(package, name), "w", encoding="utf-8") as f:
            f.write("import no_such_module\n" + text if imports else text)
        n, size, names = n + 1, size + os.path.getsize(os.path.join(package, name)), names + [name[:-3]]
    with open(os.path.join(folder, "files.py"), "w") as f:
        f.write("".join("try:\n    import library.%s\nexcept ImportError:\n    pass\n" % name for name in names) if imports else
                "import importlib.machinery, os\nfor name in sorted(os.listdir('files')):\n    if name.endswith('.py'):\n"
                "        importlib.machinery.SourceFileLoader(name[:-3], os.path.abspath('files/' + name)).get_code(name[:-3])\n")
    with open(os.path.join(folder, "nothing.py"), "w") as f:
        f.write("import importlib.machinery, os\n")
    time.sleep(2.1)  # until the times of the files tell whether they have changed
    woven, pyc = os.path.join(os.environ["XDG_CACHE_HOME"], "cg", "woven"), os.path.join(work, "pyc")
    measure = [cg, "measure", "-g", "fine", "--python", python]
    rows = {name: [] for name in ("nothing", "without its cache", "from its cache", "nothing, cg", "first run with cg", "second run with cg")}
    run(folder, measure + ["nothing.py"])
    for _ in range(rounds):
        rows["nothing"].append(run(folder, [python, "nothing.py"]))
        forget(pyc)
        rows["without its cache"].append(run(folder, [python, "files.py"], PYTHONPYCACHEPREFIX=pyc))
        rows["from its cache"].append(run(folder, [python, "files.py"], PYTHONPYCACHEPREFIX=pyc))
        rows["nothing, cg"].append(run(folder, measure + ["nothing.py"]))
        forget(woven)
        rows["first run with cg"].append(run(folder, measure + ["files.py"]))
        rows["second run with cg"].append(run(folder, measure + ["files.py"]))
    idle = {"without its cache": "nothing", "from its cache": "nothing", "first run with cg": "nothing, cg",
            "second run with cg": "nothing, cg"}
    show("Python %s, %d files%s, %.1f MB" % (sys.version.split()[0], n, " that are imported" if imports else "", size / 1e6), rows, "without its cache", "first run with cg", idle)


def sources(folder, template, name, n=60):
    for i in range(n):
        with open(os.path.join(folder, name % i), "w") as f:
            f.write(template.replace("@", str(i)))


def of_java():
    folder = os.path.join(work, "java")
    os.makedirs(folder)
    methods = "".join("    static int m%d(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * %d; return s; }\n" % (k, k)
                      for k in range(60))
    sources(folder, "class C@ {\n%s}\n" % methods, "C%d.java")
    with open(os.path.join(folder, "Main.java"), "w") as f:
        f.write("class Main { public static void main(String[] a) { int s = 0;\n%s System.out.println(s); } }\n"
                % "".join("s += C%d.m3(4);\n" % i for i in range(60)))
    other = os.path.join(work, "nothing")
    os.makedirs(other)
    with open(os.path.join(other, "Main.java"), "w") as f:
        f.write("class Main { public static void main(String[] a) { System.out.println(0); } }\n")
    cache, out = os.path.join(os.environ["XDG_CACHE_HOME"], "cg", "java"), os.path.join(work, "classes")
    rows = {name: [] for name in ("nothing", "javac and java", "nothing, cg", "first run with cg", "second run with cg")}
    measure = [cg, "measure", "-g", "fine", "Main.java"]
    run(other, measure)
    build = ["sh", "-c", "javac -d '%s' *.java && java -cp '%s' Main" % (out, out)]
    for k in range(rounds):
        forget(out)
        rows["nothing"].append(run(other, build))
        forget(out)
        rows["javac and java"].append(run(folder, build))
        renew(other, ".java", k)
        rows["nothing, cg"].append(run(other, measure))
        renew(folder, ".java", k)
        rows["first run with cg"].append(run(folder, measure))
        rows["second run with cg"].append(run(folder, measure))
    show("Java, 60 files of 60 methods", rows, "javac and java", "first run with cg",
         {"javac and java": "nothing", "first run with cg": "nothing, cg"})


def of_go():
    folder, other = os.path.join(work, "go"), os.path.join(work, "nothing-go")
    functions = "".join("func f@_%d(a int) int { s := 0; for i := 0; i < a; i++ { s += i * %d }; return s }\n" % (k, k)
                        for k in range(60))
    rows = {name: [] for name in ("nothing", "go build and run", "nothing, cg", "first run with cg", "second run with cg")}
    for where, n in (folder, 60), (other, 0):
        os.makedirs(where)
        with open(os.path.join(where, "go.mod"), "w") as f:
            f.write("module example.org/first\n\ngo 1.21\n")
        sources(where, "package main\n\n" + functions, "f%d.go", n)
        with open(os.path.join(where, "main.go"), "w") as f:
            f.write("package main\n\nfunc main() {\n\ts := 0\n%s\tprintln(s)\n}\n" % "".join("\ts += f%d_3(4)\n" % i for i in range(n)))
    measure, build = [cg, "measure", "-g", "fine", "."], ["sh", "-c", "go build -o ../program . && ../program"]
    run(other, measure), run(other, build)
    for k in range(rounds):
        for where, names in (other, ("nothing", "nothing, cg")), (folder, ("go build and run", "first run with cg")):
            renew(where, ".go", 2 * k)
            rows[names[0]].append(run(where, build))
            renew(where, ".go", 2 * k + 1)
            rows[names[1]].append(run(where, measure))
        rows["second run with cg"].append(run(folder, measure))
    show("Go, 60 files of 60 functions", rows, "go build and run", "first run with cg",
         {"go build and run": "nothing", "first run with cg": "nothing, cg"})


def of_installed():
    fib = "int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }"
    texts = {
        "Python": ("work.py", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\nprint(fib(15))\n", [python, "work.py"]),
        "Java": ("Work.java", "class Work { static %s public static void main(String[] a) { System.out.println(fib(15)); } }\n" % fib,
                 ["sh", "-c", "javac -d out Work.java && java -cp out Work"]),
        "Node": ("work.js", "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\nconsole.log(fib(15));\n", ["node", "work.js"]),
        "Go": ("work.go", "package main\n\nfunc fib(n int) int {\n\tif n < 2 {\n\t\treturn n\n\t}\n\treturn fib(n-1) + fib(n-2)\n}\n\n"
               "func main() { println(fib(15)) }\n", ["sh", "-c", "go build -o program work.go && ./program"]),
    }
    cache = os.path.join(os.environ["XDG_CACHE_HOME"], "cg")
    print("%-28s %9s %9s %9s %12s %12s" % ("installed, median of %d, ms" % rounds, "alone", "first", "second", "first, own", "second, own"))
    for language, (name, text, alone) in texts.items():
        folder = os.path.join(work, "installed-" + language)
        os.makedirs(folder)
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
        measure = [cg, "measure", "-g", "fine"] + (["--python", python] if language == "Python" else []) + [name]
        run(folder, measure), run(folder, alone)
        times = []
        for k in range(rounds):
            if language == "Go":  # whose own cache would know the program
                renew(folder, ".go", 2 * k)
            a = run(folder, alone)[0]
            if language == "Go":
                renew(folder, ".go", 2 * k + 1)
            forget(cache)
            times.append((a, run(folder, measure)[0], run(folder, measure)[0]))
        a, first, second = (1e3 * median(x) for x in zip(*times))
        print("%-28s %9.0f %9.0f %9.0f %12.0f %12.0f" % (language, a, first, second, first - a, second - a), flush=True)


def renew(folder, ending, k):
    """Changes each source, so that no cache knows it."""
    for name in os.listdir(folder):
        if name.endswith(ending):
            with open(os.path.join(folder, name), "a") as f:
                f.write("// %d\n" % k)


for kind in kinds:
    {"python": of_python, "imports": of_imports, "java": of_java, "go": of_go, "installed": of_installed}[kind]()
PROGRAM
