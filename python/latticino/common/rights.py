"""Lets a process give up rights permanently, by means of Linux: system calls, and being readable by other processes."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from .. import errors

# exit status of a process that should have read a bundle, but had to end before because of its own problems
UNREADY = os.EX_CONFIG

_SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES = 4, 38  # of prctl
_SET_FILTER, _ALL_THREADS = 1, 1  # operation and flag of seccomp

# Decisions of a filter, from linux/seccomp.h.
KILL, REFUSE, ALLOW = 0x8000_0000, 0x0005_0000 | errno.EPERM, 0x7FFF_0000

# Instructions of a filter (classic BPF), and offsets in its input, struct seccomp_data.
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16

_EXECUTE, _ANONYMOUS = 0x4, 0x20  # flags of mmap and mprotect


class Machine(NamedTuple):
    """A processor architecture: its identifier in a filter, the number of the call ``seccomp``, and which call numbers
    belong to it."""

    word: int
    seccomp: int
    column: int


MACHINES = {"x86_64": Machine(0xC000_003E, 317, 0), "aarch64": Machine(0xC000_00B7, 277, 1)}

# For each architecture, the numbers of the system calls that reading a bundle needs. A list of allowed calls stays safe
# if a kernel gets a new call; a list of forbidden ones would not. Files are read before the filter is installed.
CALLS = {
    "read": (0, 63), "close": (3, 57), "exit": (60, 93), "exit_group": (231, 94),
    "brk": (12, 214), "munmap": (11, 215), "mremap": (25, 216), "madvise": (28, 233),
    "futex": (202, 98), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "getrandom": (318, 278), "sysinfo": (99, 179),
}
# Calls that are allowed with certain arguments only.
WRITE, MAP, PROTECT = (1, 64), (9, 222), (10, 226)

Instruction: TypeAlias = tuple[int, int, int, int]


def _load(at: int) -> Instruction:
    return _LOAD, 0, 0, at


def _argument(number: int) -> Instruction:
    """The lower half of an argument, at the same place on both architectures. The kernel reads only this half for the
    calls below."""
    return _load(_ARGUMENTS + 8 * number)


def _decide(verdict: int) -> Instruction:
    return _RETURN, 0, 0, verdict


def _where(number: int, then: Sequence[Instruction]) -> list[Instruction]:
    """Instructions that apply ``then``, which decides, to the call with this number."""
    return [(_EQUAL, 0, len(then), number), *then]


def filter_of(machine: Machine) -> list[Instruction]:
    """The filter. It kills a process that uses call numbers of another architecture, and refuses all calls except a
    few. Allowed are writing to standard output and standard error, and anonymous memory that is not executable."""
    own = machine.column
    private = [_argument(3), (_ANY_BIT, 1, 0, _ANONYMOUS), _decide(REFUSE)]
    unrun = [_argument(2), (_ANY_BIT, 0, 1, _EXECUTE), _decide(REFUSE), _decide(ALLOW)]
    out = [_load(_MACHINE), (_EQUAL, 1, 0, machine.word), _decide(KILL), _load(_NUMBER)]
    for numbers in CALLS.values():
        out += _where(numbers[own], [_decide(ALLOW)])
    out += _where(WRITE[own], [_argument(0), (_EQUAL, 2, 0, 1), (_EQUAL, 1, 0, 2), _decide(REFUSE), _decide(ALLOW)])
    out += _where(MAP[own], [*private, *unrun])
    out += _where(PROTECT[own], unrun)
    return [*out, _decide(REFUSE)]


class _Program(ctypes.Structure):
    """Makes a struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def hide() -> None:
    """Protects this process from other processes of the same user: they cannot read its memory or environment, nor
    debug it, and it writes no core dump. UnsupportedError if the system does not support this."""
    _called("a system that shows the memory of a process to others of its user", _linux().prctl,
            _SET_DUMPABLE, 0, 0, 0, 0)


def keep_few_calls() -> None:
    """Restricts this process, with all its threads, to the calls of `filter_of`. UnsupportedError if the system cannot
    do it, or says that it did and did not."""
    machine = MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 1 << 32:
        raise _unsupported(f"a processor {platform.machine()} of {sys.maxsize.bit_length() + 1} bits")
    code = filter_of(machine)
    program = _Program(len(code), b"".join(struct.pack("=HBBI", *each) for each in code))
    linux = _linux()
    _called("a system that can give new rights to a process", linux.prctl, _SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _called("a system without filters of calls", linux.syscall, machine.seccomp, _SET_FILTER, _ALL_THREADS,
            ctypes.byref(program))
    try:
        os.close(os.open("/", os.O_RDONLY))
    except PermissionError:
        return
    raise _unsupported("a system whose filter of calls lets a process open a folder")


def _linux() -> ctypes.CDLL:
    if not sys.platform.startswith("linux"):
        raise _unsupported(f"the system {sys.platform}")
    return ctypes.CDLL(None, use_errno=True)


def _called(had: str, call: Callable[..., int], *arguments: object) -> None:
    whole = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    found = call(*whole)
    if found != 0:
        raise _unsupported(f"{had} ({os.strerror(ctypes.get_errno()) if found < 0 else f'thread {found} has its own'})")


def _unsupported(had: str) -> errors.Error:
    return errors.UnsupportedError.explain(
        "serve", had, "Linux with seccomp on x86-64 or aarch64, which confines the process that reads bundles of "
        "strangers", "run the service there; in a container, with a profile that allows prctl and seccomp")
