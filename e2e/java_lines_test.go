package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// linedJava is a program whose lines a debugger counts, too: loops with labels, branches, exceptions, and cases that
// fall through.
const linedJava = `public class Lined {
    static int jumps(int n) {
        int all = 0;
        outer:
        for (int i = 0; i < n; i++) {
            for (int k : new int[] {3, 1, 2}) {
                if (k == 2)
                    continue outer;
                all += k;
            }
            all += 100;
        }
        while (all > 5) {
            all -= 7;
            if (all % 4 == 1) {
                all--;
                continue;
            } else if (all % 4 == 2)
                all -= 2;
            switch (all % 3) {
            case 0:
                all--;
            case 1:
                all -= 2;
                break;
            default:
                all -= 3;
            }
        }
        do {
            all++;
        } while (all < 9);
        return all;
    }

    static int tries(int n) {
        int caught = 0;
        for (int i = 0; i < n; i++) {
            try {
                if (i % 3 == 0)
                    throw new IllegalStateException();
                caught += 10;
            } catch (IllegalStateException e) {
                caught++;
            } finally {
                caught += 100;
            }
        }
        return caught;
    }

    static int sorted(int[] cells) {
        int swaps = 0;
        for (int i = 1; i < cells.length; i++) {
            int k = i;
            while (k > 0 && cells[k - 1] > cells[k]) {
                int held = cells[k];
                cells[k] = cells[k - 1];
                cells[--k] = held;
                swaps++;
            }
        }
        return swaps;
    }

    public static void main(String[] args) {
        Runnable r = () -> {
            int x = tries(3);
            System.out.println(x);
        };
        r.run();
        System.out.println(jumps(20) + " " + tries(10) + " " + sorted(new int[] {5, 2, 9, 1, 7, 3}));
    }
}
`

// debuggerJava counts how often the program comes to each entry of its line tables, with a breakpoint at each.
const debuggerJava = `import com.sun.jdi.*;
import com.sun.jdi.event.*;
import com.sun.jdi.request.*;
import java.util.*;

public class Debugger {
    public static void main(String[] args) throws Exception {
        var connector = Bootstrap.virtualMachineManager().defaultConnector();
        var arguments = connector.defaultArguments();
        arguments.get("main").setValue(args[1]);
        arguments.get("options").setValue("-XX:-UsePerfData -cp " + args[0]);
        VirtualMachine vm = connector.launch(arguments);
        var requests = vm.eventRequestManager();
        var prepare = requests.createClassPrepareRequest();
        prepare.addClassFilter(args[1]);
        prepare.enable();
        Map<Integer, Integer> counts = new TreeMap<>();
        for (boolean runs = true; runs; ) {
            EventSet set = vm.eventQueue().remove();
            for (Event e : set) {
                if (e instanceof ClassPrepareEvent p)
                    for (Location l : p.referenceType().allLineLocations())
                        requests.createBreakpointRequest(l).enable();
                else if (e instanceof BreakpointEvent b)
                    counts.merge(b.location().lineNumber(), 1, Integer::sum);
                else if (e instanceof VMDisconnectEvent)
                    runs = false;
            }
            set.resume();
        }
        counts.forEach((line, count) -> System.out.println(line + " " + count));
    }
}
`

// Calls come to a line as often as a debugger sees it.
func TestLinesAreThoseOfADebugger(t *testing.T) {
	need(t, "javac", "apt-get install default-jdk-headless")
	dir := t.TempDir()
	for name, text := range map[string]string{"Lined.java": linedJava, "Debugger.java": debuggerJava} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said []byte
	for _, args := range [][]string{{"javac", "-J-XX:-UsePerfData", "Lined.java", "Debugger.java"},
		{"java", "-XX:-UsePerfData", "-cp", ".", "Debugger", dir, "Lined"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		var err error
		if said, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said)
		}
	}
	want := map[int]uint64{}
	for line := range strings.Lines(string(said)) {
		var at int
		var n uint64
		if _, err := fmt.Sscan(line, &at, &n); err == nil {
			want[at] = n
		}
	}
	r, _, _ := measured(t, "java", "-g", "line", filepath.Join(dir, "Lined.java"))
	seen := 0
	for _, f := range r.Functions {
		for _, p := range f.Places {
			if n, is := want[p.Line]; is && p.Kind == "line" {
				if seen++; n != p.Count {
					t.Errorf("line %d: %d, and the debugger counts %d: %s", p.Line, p.Count, n, p.Text)
				}
			}
		}
	}
	if seen < 34 {
		t.Errorf("%d lines of %d", seen, len(want))
	}
}
