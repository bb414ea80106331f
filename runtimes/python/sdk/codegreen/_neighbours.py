"""Which other processes have a session: $XDG_RUNTIME_DIR/codegreen-<uid>.pids,
or in /tmp, a line "PID START" for each (docs/session.md of cg)."""
import os
import stat
import time

from ._spec import GONE_STATES, NEIGHBOURS_FILE, NEIGHBOURS_FOLDER

try:
    import fcntl
except ImportError:  # not Unix: others are not seen
    fcntl = None


def place():
    return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or NEIGHBOURS_FOLDER, NEIGHBOURS_FILE % os.getuid())


def _fields(pid):
    """What the kernel says of a process from its state on (proc_pid_stat(5)); empty where it says nothing."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            return f.read().rpartition(b")")[2].decode("ascii", "replace").split()
    except OSError:
        return []


def started(pid):
    """When a process started, in ticks; "" for one that is gone."""
    fields = _fields(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in GONE_STATES else ""


def gone(pid):
    """Whether a process is over, be it a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # another user's
        pass
    fields = _fields(pid)
    return bool(fields) and fields[0] in GONE_STATES


def _locked(path):
    """The file, locked; None where that is not possible."""
    for _ in range(100):
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid():
                os.close(fd)
                return None
            for n in range(200):
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # which is what Java has
                    break
                except (BlockingIOError, PermissionError):
                    time.sleep(0.005)
            else:
                os.close(fd)
                return None
            now = os.stat(path)
            if (now.st_dev, now.st_ino) == (info.st_dev, info.st_ino):
                return fd
        except FileNotFoundError:
            pass
        except OSError:
            os.close(fd)
            return None
        os.close(fd)  # it was removed or replaced meanwhile
    return None


def change(mine):
    """Lists this process there if mine, else takes it out; the pids of the others."""
    if fcntl is None:
        return []
    path = place()
    fd = _locked(path)
    if fd is None:
        return []
    try:
        others = []
        for line in os.pread(fd, 1 << 20, 0).decode("ascii", "replace").split("\n"):
            number, _, start = line.partition(" ")
            if not number.isdigit() or number[0] == "0" or len(number) > 18:
                continue
            pid = int(number)
            if pid != os.getpid() and start and started(pid) == start:
                others.append((pid, start))
        lines = others + ([(os.getpid(), started(os.getpid()))] if mine else [])
        if lines:
            os.ftruncate(fd, 0)
            os.pwrite(fd, "".join("%d %s\n" % line for line in lines).encode(), 0)
        else:
            os.unlink(path)
        return [pid for pid, _ in others]
    except OSError:
        return []
    finally:
        os.close(fd)
