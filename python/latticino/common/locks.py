"""Locks that a forked child finds free."""

from __future__ import annotations

import os
import threading
from typing import Any


class Lock:
    """A re-entrant lock. In a child it is a new one: a thread of the parent that held it is not there.

    No list of all locks renews them: a weak one runs Python code whenever a lock is destroyed, and an interrupt that
    falls into that code is lost.
    """

    _forks = 0  # between the first process and this one

    def __init__(self) -> None:
        self._locks: dict[int, threading.RLock] = {}

    def __enter__(self) -> None:
        self._of_this_process().acquire()

    def __exit__(self, *_: Any) -> None:
        self._of_this_process().release()

    def _of_this_process(self) -> threading.RLock:
        found = self._locks.get(Lock._forks)
        return self._locks.setdefault(Lock._forks, threading.RLock()) if found is None else found

    @staticmethod
    def _forked() -> None:
        Lock._forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Lock._forked)
