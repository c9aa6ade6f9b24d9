"""The interface of an engine: it takes shards, lets workers compute them, and reports how each of them ended."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .shards import Outcome, Shard


class Engine(ABC):
    """Runs the shards of an `Executor`: `Local` or `Dask`. Shards name their data by hashes."""

    taken = False  # whether an executor has opened it

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of worker processes."""

    @abstractmethod
    def open(self, blobs: str) -> None:
        """Starts workers that read blobs from this folder. An executor calls it once."""

    @abstractmethod
    def submit(self, ticket: int, shard: Shard) -> None:
        """Accepts a shard. Its outcome will carry the number ``ticket``."""

    @abstractmethod
    def ended(self) -> list[tuple[int, Outcome]]:
        """The shards that have ended since the last call, with their numbers. It may wait for up to a second, and may
        return nothing. ClusterError if there are no workers."""

    @abstractmethod
    def forget(self) -> None:
        """Drops the shards that are waiting. Outcomes of those that run may still arrive."""

    @abstractmethod
    def close(self) -> None:
        """Stops everything that `open` has started."""


def slots(share: tuple[float, float], workers: int) -> range:
    """Which of the workers a share stands for: at least one.

    >>> slots((0.0, 0.5), 4), slots((0.5, 1.0), 4), slots((0.9, 1.0), 4)
    (range(0, 2), range(2, 4), range(3, 4))
    """
    first = min(round(share[0] * workers), workers - 1)
    return range(first, max(round(share[1] * workers), first + 1))
