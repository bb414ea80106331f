package codegreen;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Which other processes of this user have a session: $XDG_RUNTIME_DIR/codegreen-UID.pids, or in /tmp, a line
 * "PID START" for each (docs/session.md of cg). Java has fcntl(2) locks, which every language takes there.
 */
final class Neighbours {
    private static final ReentrantLock ONE = new ReentrantLock(); // locks are the process's
    private static final FileAttribute<?> OWN =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final Set<OpenOption> CHANGED =
        Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);

    private Neighbours() {}

    /** What the kernel says of a process from its state on (proc_pid_stat(5)). */
    private static String[] stat(String pid) throws IOException {
        String stat = Files.readString(Path.of("/proc", pid, "stat"), StandardCharsets.ISO_8859_1);
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    }

    /** When a process started, in ticks; "" where it is gone. */
    private static String started(String pid) {
        try {
            String[] fields = stat(pid);
            return Spec.GONE_STATES.contains(fields[0]) ? "" : fields[19];
        } catch (IOException | RuntimeException e) {
            return "";
        }
    }

    /** Whether a process is over, be it a zombie. */
    static boolean gone(String pid) {
        try {
            return Spec.GONE_STATES.contains(stat(pid)[0]);
        } catch (IOException | RuntimeException e) {
            return !Files.exists(Path.of("/proc", pid));
        }
    }

    /** Lists this process there if mine, else takes it out; the numbers of the others. */
    static List<String> change(boolean mine) {
        return change(System.getenv("XDG_RUNTIME_DIR"), mine);
    }

    /** The same in a folder; null or "" for that of all users. */
    static List<String> change(String folder, boolean mine) {
        ONE.lock();
        boolean interrupted = Thread.interrupted(); // a channel is closed under a thread that is
        try {
            String uid = uid(), place = folder == null || folder.isEmpty() ? Spec.NEIGHBOURS_FOLDER : folder;
            Path path = Path.of(place, Spec.NEIGHBOURS_FILE.replace("%d", uid));
            for (int i = 0; i < 100; i++) {
                List<String> others = attempt(path, uid, mine);
                if (others != null) return others;
            }
        } catch (IOException | RuntimeException e) {
            // Nobody is known then.
        } finally {
            ONE.unlock();
            if (interrupted) Thread.currentThread().interrupt();
        }
        return List.of();
    }

    /** The user's number (proc_pid_status(5)). */
    private static String uid() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"), StandardCharsets.ISO_8859_1)) {
            if (line.startsWith("Uid:")) return line.split("\\s+")[1];
        }
        throw new IOException("/proc/self/status has no Uid");
    }

    /** null where the file was removed or replaced meanwhile. */
    private static List<String> attempt(Path path, String uid, boolean mine) throws IOException {
        Object before = key(path, uid);
        if (before == null) {
            try {
                Files.createFile(path, OWN);
            } catch (FileAlreadyExistsException e) {
                return null;
            }
            before = key(path, uid);
        }
        try (FileChannel file = FileChannel.open(path, CHANGED); FileLock lock = lock(file)) {
            if (lock == null) throw new IOException(path + ": it is locked");
            if (before == null || !before.equals(key(path, uid))) return null;
            ByteBuffer b = ByteBuffer.allocate((int) Math.min(1 << 20, file.size()));
            file.read(b, 0);
            String self = Long.toString(ProcessHandle.current().pid());
            List<String> others = new ArrayList<>();
            StringBuilder lines = new StringBuilder();
            for (String line : new String(b.array(), 0, b.position(), StandardCharsets.ISO_8859_1).split("\n")) {
                String[] words = line.split(" ", -1);
                if (words.length != 2 || !words[0].matches("[1-9][0-9]*") || words[0].equals(self)) continue;
                if (!words[1].isEmpty() && started(words[0]).equals(words[1])) {
                    others.add(words[0]);
                    lines.append(line).append('\n');
                }
            }
            if (mine) lines.append(self).append(' ').append(started(self)).append('\n');
            if (lines.length() == 0) {
                Files.delete(path);
            } else {
                file.truncate(0);
                file.write(ByteBuffer.wrap(lines.toString().getBytes(StandardCharsets.ISO_8859_1)), 0);
            }
            return others;
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private static FileLock lock(FileChannel file) throws IOException {
        for (int i = 0; i < 200; i++) {
            FileLock lock = file.tryLock();
            if (lock != null) return lock;
            Source.pause(5);
        }
        return null;
    }

    /** What names the file itself; null where there is none. IOException for a link, and for a file of another user. */
    private static Object key(Path path, String uid) throws IOException {
        try {
            BasicFileAttributes info = Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            Object owner = Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
            if (!info.isRegularFile() || !owner.toString().equals(uid)) {
                throw new IOException(path + ": not a file of this user");
            }
            return info.fileKey();
        } catch (NoSuchFileException e) {
            return null;
        }
    }
}
