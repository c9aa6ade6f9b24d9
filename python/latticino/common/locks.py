"""Locks that are free in a forked child."""

from __future__ import annotations

import os
import threading


class Lock:
    """A re-entrant lock: ``with lock.own: ...``. A forked child gets a new one, because the thread that held the
    parent's lock does not exist there.

    `with` acts on the interpreter's own lock, which it acquires and releases in one step. If it called functions of
    this class instead, an interrupt could come at the first line of the one that releases: it would stay held.

    There is no list of all locks by which they could be renewed after a fork: a list of weak references runs Python
    code whenever a lock is destroyed, and an interrupt during that code would be lost.
    """

    _forks = 0  # number of forks between the first process and this one

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
