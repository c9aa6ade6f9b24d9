"""Bodies of requests that are being received, and inputs that are on the disk before the rows of their jobs exist."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from ..blobs import Blobs, Writer
from ..refusals import Refused

Wrote = Callable[[int], None]


class Flight:
    """Bytes of bodies that are being received, by their owners. The loop alone calls this."""

    def __init__(self) -> None:
        self._of: Counter[Hashable] = Counter()
        self._unwritten = 0

    @contextmanager
    def one(self, owner: Hashable, size: int, most: int, free: int | None = None) -> Iterator[Wrote]:
        """Counts a body of ``size`` bytes while the block runs. It gets a function to call for bytes that are written.

        Refused (429) if more than ``most`` bytes of the owner would then be being received; a single body is always
        accepted. Refused (507) if the disk had less than ``free`` bytes left for all bodies. The bytes that are written
        between the look at the disk and this call are in neither sum: they are those of a few milliseconds.
        """
        if self._of[owner] and self._of[owner] + size > most:
            raise Refused.of(429, "service", f"{size} bytes beside {self._of[owner]} of requests that are on their way",
                             f"at most {max(most, size)}", "send it again when those have arrived", retry_after=1.0)
        if free is not None and self._unwritten + size > free:
            raise Refused.of(507, "service", f"{size} bytes", "as much room on the disk of the service",
                             "ask its operator")
        left = size if free is not None else 0

        def wrote(count: int) -> None:
            nonlocal left
            left -= count
            self._unwritten -= count

        self._of[owner] += size
        self._unwritten += left
        try:
            yield wrote
        finally:
            self._unwritten -= left
            self._of[owner] -= size
            if not self._of[owner]:
                del self._of[owner]


class Inputs:
    """Files of inputs whose jobs have no row yet. Requests with equal bodies share a file, so that one of them that is
    refused must not take it from another. ``needed``: whether a row names the input of a tenant.

    While the store or the disk is asked, only a request of the same tenant with an equal body waits."""

    def __init__(self, blobs: Blobs, needed: Callable[[str, str], bool]) -> None:
        self._blobs, self._needed = blobs, needed
        self._changed = threading.Condition()
        self._of: Counter[tuple[str, str]] = Counter()
        self._going: set[tuple[str, str]] = set()  # files of which it is being checked whether they are still needed

    def commit(self, tenant: str, writer: Writer) -> None:
        """Moves a file to its final name. `end` must be called afterwards."""
        name = tenant, writer.hash
        with self._changed:
            self._changed.wait_for(lambda: name not in self._going)  # after that, this request writes the file again
            self._of[name] += 1
        try:
            writer.commit()
        except BaseException:
            self.end(*name, useless=False)
            raise

    def drop(self, tenant: str, hash_: str) -> None:
        """Deletes the file of a job that was cancelled, unless another job needs it, or is about to."""
        name = tenant, hash_
        with self._changed:
            self._changed.wait_for(lambda: name not in self._going)
            self._of[name] += 1
        self.end(*name, useless=True)

    def end(self, tenant: str, hash_: str, useless: bool) -> None:
        """Says that a row names the file. ``useless``: that none does for this request. The file is deleted then,
        unless another job needs it, or is about to."""
        name = tenant, hash_
        with self._changed:
            self._of[name] -= 1
            if self._of[name]:
                return
            del self._of[name]
            if not useless:
                return
            self._going.add(name)
        try:
            if not self._needed(*name):
                self._blobs.discard("inputs", *name)
        finally:
            with self._changed:
                self._going.remove(name)
                self._changed.notify_all()
