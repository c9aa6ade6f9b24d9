"""Locks that a forked child finds free."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, ClassVar


class Lock:
    """A re-entrant lock. In a child it is a new one: a thread of the parent that held it is not there."""

    _all: ClassVar[weakref.WeakSet[Lock]] = weakref.WeakSet()

    def __init__(self) -> None:
        self._lock = threading.RLock()
        Lock._all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    @staticmethod
    def _renew() -> None:
        for lock in Lock._all:
            lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Lock._renew)
