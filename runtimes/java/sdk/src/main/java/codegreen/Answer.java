package codegreen;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What is asked of a file that may never answer, such as a sensor's, in a thread that is given up. */
final class Answer<T> {
    /** In what time there is one, in ns. */
    static volatile long within = Spec.ANSWER_NS;

    interface Question<T> {
        T of(String path) throws IOException;
    }

    private final String path;
    private final FutureTask<T> task;
    private final long until = System.nanoTime() + within;

    private Answer(String path, Question<T> question) {
        this.path = path;
        task = new FutureTask<>(() -> question.of(path));
        Thread thread = new Thread(task, "codegreen-open");
        thread.setDaemon(true);
        thread.start();
    }

    /** Asks about each path, about all at a time. */
    static <T> List<Answer<T>> all(List<String> paths, Question<T> question) {
        List<Answer<T>> all = new ArrayList<>();
        for (String path : paths) all.add(new Answer<>(path, question));
        return all;
    }

    static <T> T of(String path, Question<T> question) throws IOException {
        return new Answer<>(path, question).get();
    }

    /** Waits for it. IOException where there is none, or none in time. */
    T get() throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return task.get(Math.max(0, until - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (TimeoutException e) {
            throw new IOException(path + ": no answer in " + within / 1e9 + " s");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException io) throw io;
            throw new IOException(path + ": " + e.getCause());
        } finally {
            if (interrupted) Thread.currentThread().interrupt();
        }
    }
}
