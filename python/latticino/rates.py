"""Predicted times: bytes that a dry run counted, divided by measured rates, and a cost a record.

``rates.json`` holds, for each kind of device, the bytes a second that every record reached on the
machine named there, and the seconds that submitting one takes (`latticino bench rates` writes it). A CPU of this process is compared with that
machine by timing one small product, once; a GPU is taken to be like the measured one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import Context

PROBE = "n13-d40-leveled-v1"


@lru_cache
def table() -> dict[str, Any]:
    """By kind of device: where it was measured, and bytes a second by record."""
    return json.loads(resources.files(__package__).joinpath("rates.json").read_text())


def predict(bytes_by_name: Mapping[str, int], operations: int, context: Context) -> float:
    """Seconds that a program with these counts takes on the context's device."""
    if context.device.startswith("cuda"):
        return _by_table("cuda", bytes_by_name, operations)
    return _by_table("cpu", bytes_by_name, operations) * _slower(context.threads)


def _by_table(kind: str, bytes_by_name: Mapping[str, int], operations: int) -> float:
    known = table()[kind]["rates"]
    slowest = min(known.values())
    moving = sum(count / known.get(name, slowest) for name, count in bytes_by_name.items())
    return moving + operations * table()[kind]["operation_seconds"]


@lru_cache
def _slower(threads: int) -> float:
    """How many times longer this machine takes than the table says, by one small product."""
    import numpy as np

    from .client import keygen
    from .context import Context
    from .plan import dry_run

    def program(a):
        return a * a

    context = Context(PROBE, "cpu", threads=threads)
    client = keygen(context)
    x = client.encrypt(np.full(context.slots, 0.5))
    plan = dry_run(context, program, [x], predict=False)
    context.use(client.server_keys(plan))
    program(x)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        program(x)
        times.append(time.perf_counter() - start)
    return min(times) / _by_table("cpu", plan.bytes_by_name, plan.operations)
