"""Parts of a numpy computation side by side: numpy lets other threads run while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

_MOST = 16  # threads: more wait for memory


def each(f: Callable[[int], None], parts: Sequence[int]) -> None:
    """Calls f for each part, in any order. What it raises first is raised here."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if min(cores, len(parts)) < 2:
        for part in parts:
            f(part)
        return
    with ThreadPoolExecutor(min(cores, len(parts), _MOST)) as pool:
        for done in [pool.submit(f, part) for part in parts]:
            done.result()
