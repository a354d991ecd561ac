"""A program of its own, run as `python -I -S launch.py '<json>'`: it prepares itself and then becomes a server.

It exists because these steps must happen between fork and exec, which is not safe inside a program with threads. It
imports nothing of Lousa, so that it starts in some 20 ms. In order: the log becomes its output; the life file is
locked and inherited on purpose (the only descriptor that is); it leaves the terminal and its parent, so that neither
Ctrl-C nor the parent's death reaches the server; signals are what they were at boot; it becomes the user the server
shall run as; it execs.

It prints one line, a code and a reason, since a caller who ignores SIGCHLD gets no exit code. With `detach` the line
comes once the exec has happened, otherwise when the program has ended. Codes: 0 well, 3 the namespace was refused,
4 somebody holds the life file, 5 another step failed; without `detach` also the program's own.
"""

# pyright: basic
# every import counts in the start time, `typing` too

import contextlib
import fcntl
import json
import os
import signal
import sys
import time

CLONE_NEWUSER = 0x10000000
PR_SET_DUMPABLE = 4
REFUSED, HELD, FAILED = 3, 4, 5


class Refusal(Exception):
    """A step that did not succeed, with the exit code that says which."""

    def __init__(self, code, why):
        super().__init__(why)
        self.code = code


def main(spec):
    """Do the steps in a child of ours, and tell how they went."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    word_out, word_in = os.pipe()  # close-on-exec: the reader sees the end when the server has taken over
    child = os.fork()
    if child == 0:
        if spec["detach"]:
            os.setsid()
        try:
            become(spec)
        except BaseException as error:
            code = error.code if isinstance(error, Refusal) else FAILED
            os.write(word_in, f"{code} {error}".encode())
            os._exit(code)
    os.close(word_in)
    said = b""
    while part := os.read(word_out, 4096):
        said += part
    if not said and not spec["detach"]:
        said = f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])} it ended".encode()
    os.write(1, said or b"0 it runs")


def become(spec):
    """The half that turns into the server."""
    os.umask(0o077)
    if spec["words"]:
        read, write = os.pipe()
        os.write(write, spec["words"].encode())
        os.dup2(read, 0)
        os.close(write)
    log = os.open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    life = os.open(spec["life"]["path"], os.O_RDWR | os.O_CREAT, 0o600) if spec["life"] else -1
    if life >= 0:
        lock(life)
        line = json.dumps({**spec["life"]["line"], "pid": os.getpid()}).encode()
        os.ftruncate(life, os.pwrite(life, line, 0))
        os.set_inheritable(life, True)
    if spec["namespace"]:  # loaded as long as we may: the next user may not see Python's own files
        import ctypes

        libc = ctypes.CDLL(None)
    uid, gid = spec["uid"], spec["gid"]
    if uid is not None:
        for fd in (log, life):
            if fd >= 0:
                os.fchown(fd, uid, gid)
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if spec["namespace"]:
        enter_namespace(libc, spec["alias"])
    if not spec["command"]:
        os._exit(0)
    os.chdir(spec["folder"])
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.execve(spec["command"][0], spec["command"], spec["environment"])


def lock(fd):
    """Take the life file alone. A probe may share it for an instant; a server holds it for good."""
    for _ in range(100):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(0.005)
    raise Refusal(HELD, "another server holds the life file")


def enter_namespace(libc, alias):
    """Be `alias` to ourselves and still own our files: PostgreSQL refuses root, and initdb a user without a name."""
    uid, gid = os.getuid(), os.getgid()  # inside, they have no name yet
    try:
        if libc.unshare(CLONE_NEWUSER):
            raise OSError("unshare")
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # who changed its user may not write into its own /proc else
        for name, value in (
            ("setgroups", "deny"),
            ("uid_map", f"{alias} {uid} 1"),
            ("gid_map", f"{alias} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(value)
    except (OSError, AttributeError) as error:
        raise Refusal(REFUSED, f"a user namespace was refused: {error}") from error


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
