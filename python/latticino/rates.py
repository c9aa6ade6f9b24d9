"""Predicted times: bytes that a dry run counted, divided by measured rates.

``rates.json`` holds, for each device kind it was measured on, the bytes a second that every record
reaches (written by ``latticino bench rates``). On a CPU, rates are for one core and scale with the
threads that memory bandwidth can feed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context


@lru_cache
def table() -> dict[str, dict[str, float]]:
    """Bytes a second by device kind and record."""
    return json.loads(resources.files(__package__).joinpath("rates.json").read_text())["rates"]


def predict(bytes_by_name: Mapping[str, int], context: Context) -> float:
    """Seconds that a program with these counts takes on the context's device."""
    kind = "cuda" if context.device.startswith("cuda") else "cpu"
    known = table()[kind]
    slowest = min(known.values())
    return sum(count / known.get(name, slowest) for name, count in bytes_by_name.items())
