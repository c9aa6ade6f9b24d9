"""Parts of a numpy computation side by side: numpy lets other threads run while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

_MOST = 16  # threads: more wait for memory


def each(f: Callable[[int], None], parts: Sequence[int]) -> None:
    """Calls f for each part, in any order. What it raises is raised here; parts that were not begun are left out."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if min(cores, len(parts)) < 2:
        for part in parts:
            f(part)
        return
    # Each part in a copy of the caller's context: it holds what np.errstate set.
    contexts = [copy_context() for _ in parts]
    with ThreadPoolExecutor(min(cores, len(parts), _MOST)) as pool:
        for _ in pool.map(lambda context, part: context.run(f, part), contexts, parts):
            pass
