"""Progress of long steps: a bar on a terminal, silence elsewhere unless asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

from . import arrays

T = TypeVar("T")


def as_shown(show: Any) -> bool | None:
    """Whether to show a bar: True, False or None; ValueError for anything else."""
    return None if show is None else arrays.as_flag(show, "server_keys", "show")


def track(items: Iterable[T], title: str, show: bool | None = None) -> Iterator[T]:
    """Yields the items and shows how far they are. ``show=None``: only on a terminal."""
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield from items
        return
    total = len(items) if isinstance(items, Sized) else None
    try:
        from rich.console import Console
        from rich.progress import track as rich_track

        yield from rich_track(items, title, total=total, console=Console(stderr=True), transient=True)
    except ImportError:
        start = time.monotonic()
        for i, item in enumerate(items):
            print(f"\r{title}: {i}/{total or '?'} ({time.monotonic() - start:.0f} s)", end="", file=sys.stderr)
            yield item
        print("\r\033[K", end="", file=sys.stderr)
