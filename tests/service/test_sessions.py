"""The keys that a worker has in memory: the memory of keys that it drops is released."""

import ctypes
import os
from types import SimpleNamespace

from latticino.serve.sessions import Name, Sessions

MB = 1 << 20


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_of_dropped_bundles_goes_back_to_the_system():
    """Keys lie in the heap in pieces of some KiB, and between them pieces that stay: the allocator alone returns none of it."""
    stay = []

    def keys():
        held = []
        for _ in range(8192):
            held.append(bytearray(b"x" * 8191))
            stay.append(bytes(1000))
        return SimpleNamespace(bytes=64 * MB, held=held)

    model = SimpleNamespace(context=SimpleNamespace(bind=lambda found: found))
    sessions = Sessions(budget=100 * MB, share=1.0)
    ctypes.CDLL(None).malloc_trim(0)  # memory that earlier tests left, and that would be used again
    before = resident()
    sessions.get(Name("a", "m", "1"), model, 64 * MB, keys)
    most = resident() - before
    assert most > 60 * MB
    sessions.get(Name("a", "m", "2"), model, 64 * MB, lambda: SimpleNamespace(bytes=64 * MB))
    assert sessions.dropped == 1 and resident() - before < most - 40 * MB
