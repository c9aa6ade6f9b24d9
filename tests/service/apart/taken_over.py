"""What a process that a bundle has taken over would try: ``python taken_over.py MODE FOLDER`` prints what came of each
attempt, in JSON: "done", or the error's number. The mode is ``confined``; or ``hidden``, where the process above is as
those of a service, but this one is free; or ``free``, where both are.

It does so as the user 2000 of the image, who is also the user of the process above it, as in a service without root.
"""

import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from latticino.common import rights
from latticino.serve.confined import confine

USER = 2000
_PR_SET_DUMPABLE, _PTRACE_ATTACH, _PTRACE_DETACH = 4, 16, 17
LIBC = ctypes.CDLL(None, use_errno=True)
BOTH = ctypes.create_string_buffer(8)  # at the same address in both processes


def become_user(*folders):
    """If the tests run as root: another user, in a process that this user could have started."""
    if os.geteuid() == 0:
        for folder in folders:
            os.chown(folder, USER, USER)
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    # A change of users protects the process, and starting a program ends this.
    assert LIBC.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0) == 0


def called(name, *arguments):
    """A function of the C library, with its error as an OSError."""
    ctypes.set_errno(0)
    if LIBC[name](*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)


class Attempts:
    """Each public method is one; ``above`` is the process of the service. Files are those of the user itself."""

    def __init__(self, folder, above):
        self.folder, self.above = Path(folder), above
        for name in ("a", "b", "c", "d", "e"):
            (self.folder / name).write_bytes(bytes(mmap.PAGESIZE))
        self.file = (self.folder / "a").open("r+b", buffering=0)
        self.other = (self.folder / "a").open("rb")
        self.at = os.open(self.folder, os.O_RDONLY)
        self.page = mmap.mmap(-1, mmap.PAGESIZE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))

    # ---- files ----

    def write_through_a_mapping(self):
        mmap.mmap(self.file.fileno(), mmap.PAGESIZE)[:5] = b"other"

    def write_at_a_place(self):
        os.pwrite(self.file.fileno(), b"x", 0)

    def write_vectors(self):
        os.writev(self.file.fileno(), [b"x"])

    def write_to_an_open_file(self):
        self.file.write(b"x")

    def send_into_a_file(self):
        os.sendfile(self.file.fileno(), self.other.fileno(), 0, 8)

    def truncate(self):
        os.truncate(self.folder / "b", 0)

    def truncate_an_open_file(self):
        os.ftruncate(self.file.fileno(), mmap.PAGESIZE)

    def allocate_in_a_file(self):
        os.posix_fallocate(self.file.fileno(), 0, mmap.PAGESIZE)

    def unlink(self):
        os.unlink(self.folder / "c")

    def rename(self):
        os.rename(self.folder / "d", self.folder / "renamed")

    def link(self):
        os.link(self.folder / "e", self.folder / "linked")

    def symlink(self):
        os.symlink("e", self.folder / "pointed")

    def make_a_folder(self):
        os.mkdir(self.folder / "made")

    def make_a_pipe(self):
        os.mkfifo(self.folder / "pipe")

    def change_the_mode(self):
        os.chmod(self.folder / "e", 0o777)

    def change_times(self):
        os.utime(self.folder / "e")

    def open_to_write(self):
        os.close(os.open(self.folder / "e", os.O_WRONLY))

    def open_to_create(self):
        os.close(os.open(self.folder / "new", os.O_RDWR | os.O_CREAT))

    def open_to_read(self):
        os.close(os.open(self.folder / "e", os.O_RDONLY))

    def open_below_an_open_folder(self):
        os.close(os.open("e", os.O_RDONLY, dir_fd=self.at))

    def list_an_open_folder(self):
        os.listdir(self.at)

    def look_at_a_path(self):
        os.stat(self.folder / "e")

    def make_a_file_in_memory(self):
        os.close(os.memfd_create("x"))

    def change_the_folder(self):
        os.chdir(self.folder)

    # ---- other processes ----

    def read_the_environment_above(self):
        with open(f"/proc/{self.above}/environ", "rb") as file:
            assert os.environb[b"LATTICINO_STORE"] in file.read()

    def open_the_memory_above(self):
        os.close(os.open(f"/proc/{self.above}/mem", os.O_RDWR))

    def read_the_memory_above(self):
        place = (ctypes.c_void_p * 2)(ctypes.addressof(BOTH), 8)
        called("process_vm_readv", self.above, place, ctypes.c_ulong(1), place, ctypes.c_ulong(1), ctypes.c_ulong(0))

    def trace_the_process_above(self):
        called("ptrace", _PTRACE_ATTACH, self.above, None, None)
        os.waitpid(self.above, 0x40000000)  # __WALL
        called("ptrace", _PTRACE_DETACH, self.above, None, None)

    def ask_for_the_process_above(self):
        os.kill(self.above, 0)

    def signal_the_process_above(self):
        os.kill(self.above, signal.SIGCONT)

    def signal_a_thread_above(self):
        called("tgkill", self.above, self.above, 0)

    def hold_the_process_above(self):
        os.close(os.pidfd_open(self.above))

    def change_its_priority(self):
        os.setpriority(os.PRIO_PROCESS, self.above, 19)  # the lowest, which every process may take

    def change_its_limits(self):
        resource.prlimit(self.above, resource.RLIMIT_CORE)

    def fork(self):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    def start_a_program(self):
        subprocess.run(["true"], check=True)

    def start_a_thread(self):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()

    def become_a_program(self):
        os.execv("/none", ["none"])

    # ---- connections ----

    def socket(self):
        socket.socket().close()

    def socket_to_the_machine(self):
        socket.socket(socket.AF_UNIX).close()

    def pair(self):
        for end in socket.socketpair():
            end.close()

    def pipe(self):
        for end in os.pipe():
            os.close(end)

    def share_memory(self):
        called("shmget", 0, ctypes.c_ulong(mmap.PAGESIZE), 0o1600)

    # ---- rights of its own process ----

    def run_own_memory(self):
        called("mprotect", ctypes.c_void_p(self.address), ctypes.c_ulong(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_EXEC)

    def take_memory_that_runs(self):
        mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()

    def take_a_file_into_memory(self):
        mmap.mmap(self.other.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE).close()

    def open_itself(self):
        called("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)


def names():
    return [name for name in vars(Attempts) if not name.startswith("_")]


def came_of(attempt):
    try:
        attempt()
    except OSError as why:
        return why.errno
    except RuntimeError as why:  # threading raises this, and it has no number
        assert "can't start new thread" in str(why)
        return 1
    return "done"


def main():
    mode, folder = sys.argv[1:]
    become_user(folder)
    above = os.getpid()
    if mode != "free":
        rights.hide()
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    LIBC.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as in a program that the service has started
    attempts = Attempts(folder, above)
    if mode == "confined":
        confine(1 << 20)
    print(json.dumps({name: came_of(getattr(attempts, name)) for name in names()}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
