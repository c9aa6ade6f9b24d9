"""The process that reads a bundle of keys from a stranger. It has no rights, opens no files, and has little memory.

``python -m latticino.serve.confined MODEL`` opens the model, gives up what it may do, reads the bundle from standard
input, and prints its verdict as a line of JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import warnings

from .. import errors
from .models import file_of, open_model

NOBODY = 65534
_NO_NEW_PRIVILEGES = 38  # prctl's number
_ROOM = 256 << 20  # bytes beside the keys themselves
_RATE = 4 << 20  # bytes of keys per second of CPU time that are read at least


def confine(key_bytes: int) -> None:
    """Gives up rights for good: no other user's files, none to write, no new process, and as much memory as keys of
    this size take while they are read."""
    used = _address_space()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    with contextlib.suppress(OSError, AttributeError):  # of Linux alone
        ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    limits = {resource.RLIMIT_AS: used + 2 * key_bytes + _ROOM, resource.RLIMIT_FSIZE: 0,
              resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: 16, resource.RLIMIT_NPROC: 0,
              resource.RLIMIT_CPU: int(_seconds_used()) + 60 + key_bytes // _RATE}
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _seconds_used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Reads the bundle; the verdict has ``id`` and ``bytes``, or ``refused``."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt is never taken for an error of the bundle
    warnings.simplefilter("ignore", errors.SecurityWarning)
    model = open_model(file_of(sys.argv[1]), "cpu", threads=1)
    confine(model.key_bytes)
    try:
        keys = model.load_keys(sys.stdin.buffer)
        if sys.stdin.buffer.read(1):
            raise errors.FileError.explain("keys", "bytes behind the bundle", "one bundle", "upload it alone")
        verdict = {"id": keys.id, "bytes": keys.bytes}
    except errors.OutOfMemoryError:
        verdict = {"refused": "keys: had a bundle that takes more memory than one of this model; needs the keys of the "
                   "model, and no others; make it with service.use(client)"}
    except errors.Error as why:
        verdict = {"refused": str(why)}
    print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main()
