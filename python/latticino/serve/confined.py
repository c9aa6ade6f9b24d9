"""The process that reads a bundle of keys from an untrusted source. It has no rights, opens no files, and has little
memory.

``python -m latticino.serve.confined MODEL`` opens the part of the model that clients have, gives up what it may do,
reads the bundle from standard input, and prints its verdict as a line of JSON. It does not get the steps and constants
of the model, because a hostile bundle might take the process over. Without a model it only tests whether the system
lets it give up its rights.
"""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

from .. import errors
from ..common import rights
from .models import Reader, file_of, open_reader

NOBODY = 65534
_ROOM = 256 << 20  # bytes of memory in addition to the keys
_RATE = 4 << 20  # bytes of keys that are read at least per second of CPU time


def confine(key_bytes: int) -> None:
    """Gives up rights permanently: no file is opened, written or removed, no process started, seen or sent a signal,
    and memory is as much as keys of this size take while they are read. UnsupportedError where the system cannot."""
    used = _address_space()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    limits = {resource.RLIMIT_AS: used + 2 * key_bytes + _ROOM, resource.RLIMIT_FSIZE: 0,
              resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: 16, resource.RLIMIT_NPROC: 0,
              resource.RLIMIT_CPU: int(_seconds_used()) + 60 + key_bytes // _RATE}
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))
    rights.hide()
    rights.keep_few_calls()


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _seconds_used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Reads the bundle; the verdict has ``id`` and ``bytes``, or ``refused``."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt must not be taken for an error of the bundle
    warnings.simplefilter("ignore", errors.SecurityWarning)
    try:
        model = _ready(sys.argv[1:])
    except Exception as why:
        print(why if isinstance(why, errors.Error) else f"{type(why).__name__}: {why}", file=sys.stderr)
        sys.exit(rights.UNREADY)
    if model is not None:
        print(json.dumps(_verdict(model)), flush=True)


def _ready(paths: Sequence[str]) -> Reader | None:
    """Opens the part of the model, if there is one, and the files that reading keys needs. Then gives up rights."""
    model = open_reader(file_of(paths[0])) if paths else None
    if model is not None:
        with suppress(errors.Error):
            # makes the context, and imports the modules that readers and their errors need
            model.load_keys(io.BytesIO())
    confine(0 if model is None else model.key_bytes)
    return model


def _verdict(model: Reader) -> dict[str, str | int]:
    try:
        keys = model.load_keys(sys.stdin.buffer)
        if sys.stdin.buffer.read(1):
            raise errors.FileError.explain("keys", "bytes behind the bundle", "one bundle", "upload it alone")
        return {"id": keys.id, "bytes": keys.bytes}
    except errors.OutOfMemoryError:
        return {"refused": "keys: had a bundle that takes more memory than one of this model; needs the keys of the "
                "model, and no others; make it with service.use(client)"}
    except errors.Error as why:
        return {"refused": str(why)}


if __name__ == "__main__":
    main()
