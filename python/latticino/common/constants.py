"""Encoded constants, kept because encoding costs more than most operations on ciphertexts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
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
        self._pinned = 0
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """The bytes that the kept constants take."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            made = self._kept[key] = make()
            self._bytes += self._size(made)
            self._shrink()
            return made

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Nothing is dropped inside, and other threads wait. A thread that encoded meanwhile would hold this lock while
        it waits for the recording, and the recording needs the lock."""
        with self._lock:
            self._pinned += 1
            try:
                yield
            finally:
                self._pinned -= 1
                self._shrink()

    def _shrink(self) -> None:
        while not self._pinned and self._bytes > self.limit and len(self._kept) > 1:
            self._bytes -= self._size(self._kept.popitem(last=False)[1])
