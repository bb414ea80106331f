package codegreen;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The open tasks of a thread, the innermost last. A virtual thread has its own, too. */
final class Stack {
    final Thread thread = Thread.currentThread();
    final List<Task> tasks = new ArrayList<>();

    /**
     * The kernel's number of the thread, of the carrier of a virtual one when it began its first task; 0 where it is
     * not known.
     */
    final int number = number();

    static int number() {
        try { // proc_self(5): PID/task/TID
            return Integer.parseInt(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
        } catch (IOException | RuntimeException e) {
            return 0;
        }
    }

    Task top() {
        return tasks.isEmpty() ? null : tasks.get(tasks.size() - 1);
    }
}
