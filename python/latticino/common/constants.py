"""Encoded constants, kept because encoding costs more than most operations on ciphertexts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .locks import Lock

Kept = TypeVar("Kept")


class ConstantCache(Generic[Kept]):
    """The most recently used constants, by whatever tells them apart, up to `limit` bytes of device
    memory. While a program is recorded nothing is dropped: its constants must be there to the end."""

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
        """While a thread holds this lock, nothing is dropped, and other threads wait: ``with cache.held: ...``. A thread
        that encoded meanwhile would hold it while it waits for the recording, and the recording needs it."""
        return self._lock.own

    # An interrupt may come where a call ends, so no call lies between the two changes of each pair.

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
