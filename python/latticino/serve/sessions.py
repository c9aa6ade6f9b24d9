"""The keys of tenants that a worker has in memory: found by tenant, model and bundle. The longest unused go first."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from .models import AnyKeys, AnySession, Model


class Name(NamedTuple):
    """The key of a bundle. The tenant is that of the request's token, and never one that a file names."""

    tenant: str
    model: str
    bundle: str


class Sessions:
    """Bound sessions within ``budget`` bytes of memory, for one thread.

    A context moves keys from its device to host memory within a budget of its own. Here whole bundles go, which then
    have to be read again. ``share``: what a bundle counts beside its bytes on the device. Its form in host memory takes
    half of those; where the device is the host, both lie there.
    """

    def __init__(self, budget: int, share: float) -> None:
        self.budget, self._share = budget, share
        self._held: OrderedDict[Name, tuple[AnySession, int]] = OrderedDict()
        self.hits = self.misses = self.dropped = 0

    def get(self, name: Name, model: Model, size: int, load: Callable[[], AnyKeys]) -> AnySession:
        """The session of a bundle, whose keys are loaded where they are not in memory. ``size`` on the device."""
        if name in self._held:
            self.hits += 1
            self._held.move_to_end(name)
            return self._held[name][0]
        self.misses += 1
        # Makes room before loading, because the new bundle lies in memory beside those that stay.
        self._shrink(self.budget - int(size * self._share))
        keys = load()
        context: Any = model.context
        session: AnySession = context.bind(keys)
        self._held[name] = session, int(keys.bytes * self._share)
        return session

    @property
    def names(self) -> frozenset[Name]:
        return frozenset(self._held)

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self._held.values())

    def clear(self) -> None:
        """Drops all keys. Called if memory has run out."""
        self._shrink(0)

    def _shrink(self, room: int) -> None:
        before = self.dropped
        while self._held and self.bytes > max(room, 0):
            self._held.popitem(last=False)
            self.dropped += 1
        if self.dropped > before:
            _give_back()


def _give_back() -> None:
    """Returns freed memory to the system. What is left of a dropped bundle in the heap are holes between pieces that
    stay. Smaller bundles fill them only in part, so that without this a heap of 130 MB grew to 180 MB in half an
    hour of `bench service-soak`.

    A call took 2 ms for a bundle of 26 MB, which took 270 ms to load. With 1 GB in holes of 8 KB it took 0.4 to 0.6 s,
    and with larger holes less. Other threads run meanwhile, because ctypes lets go of Python's lock, and allocate from
    heaps of their own. Only one that frees a piece of this heap waits until the end."""
    if _trim is not None:
        _trim(0)


_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # a function of glibc only
