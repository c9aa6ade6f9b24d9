"""Locks that a forked child finds free."""

from __future__ import annotations

import os
import threading


class Lock:
    """A re-entrant lock: ``with lock.own: ...``. In a child it is a new one: a thread of the parent that held it is not
    there.

    `with` acts on the interpreter's own lock, which it acquires and releases in one step. If it called functions of
    this class instead, an interrupt could come at the first line of the one that releases, and the lock would stay held.

    No list of all locks renews them: a weak one runs Python code whenever a lock is destroyed, and an interrupt that
    falls into that code is lost.
    """

    _forks = 0  # between the first process and this one

    def __init__(self) -> None:
        self._locks: dict[int, threading.RLock] = {}

    @property
    def own(self) -> threading.RLock:
        """The lock of this process."""
        found = self._locks.get(Lock._forks)
        return self._locks.setdefault(Lock._forks, threading.RLock()) if found is None else found

    @staticmethod
    def _forked() -> None:
        Lock._forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Lock._forked)
