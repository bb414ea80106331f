"""Files that cg keeps and reads again. What is read has to be this user's own,
and nobody else may be able to write it: this is asked of the open file. What is
written appears as a whole, in a folder of which the same holds.
"""
import _io
import _thread
import os

FOREIGN, LINK = 1, 40  # EPERM; ELOOP of O_NOFOLLOW
FILE, FOLDER = 0o100000, 0o040000  # kinds, in st_mode


def check(fd, name, kind):
    """OSError with the number FOREIGN if what is open is another user's, or
    others may write it, or it is not of this kind."""
    s = os.fstat(fd)
    if s.st_uid != os.geteuid():
        raise OSError(FOREIGN, "belongs to user %d" % s.st_uid, name)
    if s.st_mode & 0o170022 != kind:
        raise OSError(FOREIGN, "can be written by others, or is of another kind (mode %o)" % s.st_mode, name)


def read_private(name):
    """The content of a file of cg's, see check."""
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with _io.open(fd, "rb") as f:
        check(fd, name, FILE)
        return f.read()


def write_private(where, parts):
    """Writes a file of this user's own, if its folder is: to another name, and
    renamed. Whether that was possible tells nobody."""
    folder, _, name = where.rpartition("/")
    part = "%s.%d.%d" % (name, os.getpid(), _thread.get_ident())
    try:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        check(at, folder, FOLDER)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at)
        try:
            with _io.open(fd, "wb") as f:
                f.write(b"".join(parts))
            os.rename(part, name, src_dir_fd=at, dst_dir_fd=at)
        except (OSError, ValueError):
            os.unlink(part, dir_fd=at)
    except OSError:
        pass
    finally:
        os.close(at)


def read_source(path):
    """The content of a source of the program's, as the interpreter reads it."""
    with _io.open_code(path) as f:
        return f.read()
