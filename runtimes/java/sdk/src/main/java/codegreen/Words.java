package codegreen;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;

/** The warnings of a session, each once, in their order. Any thread may call the methods. */
final class Words {
    private final ReentrantLock lock = new ReentrantLock(); // virtual threads are not pinned by it
    private final Map<String, String> all = new LinkedHashMap<>(); // message to slug
    private List<String> untold = new ArrayList<>();

    void note(String slug, String message) {
        lock.lock();
        try {
            if (all.putIfAbsent(message, slug) == null) untold.add(message);
        } finally {
            lock.unlock();
        }
    }

    boolean have(String slug) {
        lock.lock();
        try {
            return all.containsValue(slug);
        } finally {
            lock.unlock();
        }
    }

    /** As the file has them. */
    List<Map<String, Object>> all() {
        lock.lock();
        try {
            List<Map<String, Object>> out = new ArrayList<>();
            all.forEach((message, slug) -> out.add(Map.of("slug", slug, "message", message)));
            return out;
        } finally {
            lock.unlock();
        }
    }

    /** Says what was noted since it was called last, with no lock held. */
    void tell(BiConsumer<String, String> to) {
        Map<String, String> some = new LinkedHashMap<>();
        lock.lock();
        try {
            for (String message : untold) some.put(message, all.get(message));
            untold = new ArrayList<>();
        } finally {
            lock.unlock();
        }
        some.forEach((message, slug) -> to.accept(slug, message));
    }
}
