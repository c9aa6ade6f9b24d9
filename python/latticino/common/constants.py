"""A cache of encoded constants, because encoding costs more than most operations on ciphertexts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .locks import Lock

Kept = TypeVar("Kept")


class ConstantCache(Generic[Kept]):
    """The most recently used constants, by a key that identifies them, up to `limit` bytes of device memory. While a
    program is recorded, nothing is dropped, because it needs its constants until it ends."""

    def __init__(self, limit: float, size: Callable[[Kept], int]) -> None:
        self.limit, self._size = limit, size
        self._bytes = 0
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """The bytes that the kept constants take."""
        return self._bytes

    @property
    def held(self) -> threading.RLock:
        """While a thread holds this lock, nothing is dropped, and others wait: ``with cache.held: ...``. This avoids a
        deadlock: a thread that encodes would hold the lock while it waits for the recording, and the recording needs
        the lock."""
        return self._lock.own

    # An interrupt may come when a function call ends, so there is no call between the two changes of each pair.

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        lock = self._lock.own
        outer = lock._is_owned()  # type: ignore[attr-defined]  # this thread records, or makes a constant of others
        with lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            made = make()
            size = self._size(made)
            self._kept[key] = made
            self._bytes += size
            if not outer:
                self._shrink()
            return made

    def _shrink(self) -> None:
        while self._bytes > self.limit and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            size = self._size(self._kept[oldest])
            del self._kept[oldest]
            self._bytes -= size
