"""Encoded constants, kept because encoding costs more than most operations on ciphertexts."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from . import _native

Key = tuple[bytes, int, int, float]


class ConstantCache:
    """The most recently used plaintexts, by content, level and scale, up to `limit` bytes of device
    memory. While a program is recorded nothing is dropped: its constants must be there to the end."""

    def __init__(self, limit: int = 256 * 2**20) -> None:
        self.limit = limit
        self._bytes = 0
        self._kept: OrderedDict[Key, _native.Plaintext] = OrderedDict()
        self._pinned = 0
        self._lock = threading.RLock()

    def get(self, values: np.ndarray, level: int, scale: float,
            encode: Callable[[], _native.Plaintext]) -> _native.Plaintext:
        key = (hashlib.sha256(values).digest(), values.size, level, scale)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            made = self._kept[key] = encode()
            self._bytes += made.nbytes
            self._shrink()
            return made

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Drops nothing inside, and other threads wait: one that encoded meanwhile would hold this lock
        while it waits for the recording, which needs it."""
        with self._lock:
            self._pinned += 1
            try:
                yield
            finally:
                self._pinned -= 1
                self._shrink()

    def _shrink(self) -> None:
        while not self._pinned and self._bytes > self.limit and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
