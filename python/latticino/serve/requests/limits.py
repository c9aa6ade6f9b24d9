"""Rate limits: how often a token may be used. Each token has a bucket in the memory of the front, which all of its
threads share."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from ..refusals import Refused

_MAX_BUCKETS = 100_000  # the most buckets


class Rate:
    """``per_second`` requests of a token, and ``burst`` of them at once."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second, self._burst = per_second, burst
        self._lock = threading.Lock()
        # what is left in the bucket, and when that was computed
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, token: str) -> None:
        """Counts a request. Refused (429) if it exceeds the limit."""
        now = time.monotonic()
        with self._lock:
            left, then = self._buckets.pop(token, (self._burst, now))
            left = min(self._burst, left + (now - then) * self._per_second)
            self._buckets[token] = (left - 1 if left >= 1 else left), now
            while len(self._buckets) > _MAX_BUCKETS:
                self._buckets.popitem(last=False)
        if left < 1:
            raise Refused.of(429, "service", "too many requests of one token", f"{self._per_second:g} per second",
                             "send fewer", retry_after=(1 - left) / self._per_second)
