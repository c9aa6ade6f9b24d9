"""Progress of long steps, shown in one way for the whole library.

A step that takes over a second shows how far it is: as a bar on a terminal (where `rich` is installed), as a bar in
the output of a notebook's cell, and as a line every few seconds otherwise. If standard error is no terminal, nothing is
written, so logs and pipes stay clean. ``lt.progress`` and LATTICINO_PROGRESS change this.
"""

from __future__ import annotations

import contextvars
import html
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from types import TracebackType
from typing import Any, Protocol, TypeVar

from .. import arrays, errors

T = TypeVar("T")

DELAY = 1.0  # seconds that a step takes before it is shown
VARIABLE = "LATTICINO_PROGRESS"
_ON, _OFF = ("1", "on", "yes", "true"), ("0", "off", "no", "false")


class _State:
    """The setting of this process, and the step that is shown now. One step is shown at a time."""

    asked: bool | None = None
    shown: Task | None = None
    lock = threading.Lock()


class Setting:
    """The result of ``lt.progress``. As a context manager it restores the previous setting at the end."""

    def __init__(self, before: bool | None) -> None:
        self._before = before

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _State.asked = self._before


def progress(show: bool | None) -> Setting:
    """Turns progress bars of long steps on or off, in the whole process: ``lt.progress(False)``.

    True: everywhere; if standard error is no terminal, as lines. False: nowhere. None, the default: on terminals and in
    notebooks. ``with lt.progress(False): ...`` holds for the block. The environment variable LATTICINO_PROGRESS (``0``
    or ``1``) does the same for programs that do not call this. Steps: keys, their files, encrypting, plans, matrices,
    conformance, fuzzing. ``server_keys(show=...)`` decides for one call.
    """
    setting = Setting(_State.asked)
    _State.asked = as_shown(show, "progress")
    return setting


def as_shown(show: Any, operation: str = "server_keys") -> bool | None:
    """Whether to show a step: True, False or None; ValueError for anything else."""
    return None if show is None else arrays.as_flag(show, operation, "show")


def _wanted(show: bool | None) -> bool | None:
    """The setting of the call, of the process, or of the environment, in this order."""
    for said in (show, _State.asked):
        if said is not None:
            return said
    text = os.environ.get(VARIABLE, "").strip().lower()
    if not text:
        return None
    if text not in _ON + _OFF:
        raise errors.ValueError.explain(
            "progress", f"the environment variable {VARIABLE}={arrays.shown(text)}", "0 or 1", "correct or unset it")
    return text in _ON


class Display(Protocol):
    """An output for progress. ``every``: seconds between two updates."""

    every: float

    def update(self, task: Task) -> None: ...

    def end(self, task: Task) -> None: ...


class _Lines:
    """Lines on standard error."""

    every = 5.0

    def __init__(self, task: Task) -> None:
        self.update(task)

    def update(self, task: Task) -> None:
        print(f"{task.title}: {task.amount} ({task.seconds:.0f} s)", file=sys.stderr, flush=True)

    def end(self, task: Task) -> None:
        print(f"{task.title}: {task.amount}, {task.seconds:.1f} s in all", file=sys.stderr, flush=True)


class _Notebook:
    """HTML that the cell's output shows, updated in place."""

    every = 0.5

    def __init__(self, task: Task) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        self._html = HTML
        self._handle = display(HTML(self._text(task)), display_id=True)

    def _text(self, task: Task) -> str:
        of = "" if not task.total else f' value="{task.done}" max="{task.total}"'
        return (f'<div>{html.escape(task.title)} <progress{of}></progress> '
                f"{html.escape(task.amount)} ({task.seconds:.0f} s)</div>")

    def update(self, task: Task) -> None:
        self._handle.update(self._html(self._text(task)))

    def end(self, task: Task) -> None:
        self._handle.update(self._html(
            f"<div>{html.escape(task.title)}: {html.escape(task.amount)}, {task.seconds:.1f} s</div>"))


class _Bar:
    """A bar of `rich` on a terminal, which goes when the step ends."""

    every = 0.1

    def __init__(self, task: Task) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"),
            console=Console(stderr=True), transient=True, auto_refresh=False)
        self._bar.start()
        self._id = self._bar.add_task(task.title, total=task.total, amount="")
        self.update(task)

    def update(self, task: Task) -> None:
        self._bar.update(self._id, completed=task.done, amount=f"{task.amount} ({task.seconds:.0f} s)", refresh=True)

    def end(self, task: Task) -> None:
        self._bar.stop()


def _in_notebook() -> bool:
    """Whether this runs in a notebook's kernel, whose cells show HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _display(wanted: bool | None) -> Callable[[Task], Display] | None:
    """The output for progress; None if it is not shown."""
    if wanted is False:
        return None
    if _in_notebook():
        return _Notebook
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            import rich.progress  # noqa: F401

            return _Bar
        except ImportError:
            return _Lines
    return _Lines if wanted else None


class Task:
    """A step under way: ``with Task("generating keys", 57) as step: ... step.advance()``.

    ``total`` None: unknown, only the time is shown. ``unit``: ``""`` for pieces, ``"bytes"``, ``"s"``. Nothing is
    shown of a step inside of another one that is shown, nor of one that ends within a second; where ``show`` is True
    it is shown at once.
    """

    def __init__(self, title: str, total: int | None = None, show: bool | None = None, unit: str = "") -> None:
        self.title, self.total, self.done, self._unit = title, total, 0, unit
        self._show = _wanted(show)
        self._delay = 0.0 if show else DELAY
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    @property
    def amount(self) -> str:
        """The progress, as text."""
        if self._unit == "bytes":
            of = "" if self.total is None else f" of {self.total / 2**20:,.0f}"
            return f"{self.done / 2**20:,.0f}{of} MiB"
        if self.total is None:
            return f"{self.done:,}" if self.done else "under way"
        return f"{self.done:,} of {self.total:,}" + (f" {self._unit}" if self._unit else "")

    def advance(self, count: int = 1) -> None:
        """Counts so many more pieces as done."""
        self.done += count

    def __enter__(self) -> Task:
        make = _display(self._show)
        if make is not None and _State.shown is None:
            # The context of the caller tells a notebook which cell the output belongs to.
            run = contextvars.copy_context().run
            self._thread = threading.Thread(target=run, args=(self._watch, make), daemon=True, name="progress")
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, make: Callable[[Task], Display]) -> None:
        if self._ended.wait(self._delay) and self._delay:
            return
        with _State.lock:
            if _State.shown is not None:
                return
            _State.shown = self
        try:
            display = make(self)
            while not self._ended.wait(display.every):
                display.update(self)
            display.end(self)
        except Exception:  # a terminal or notebook that was closed must not end the work
            pass
        finally:
            _State.shown = None


def track(items: Iterable[T], title: str, show: bool | None = None) -> Iterator[T]:
    """Yields the items and shows how far they are."""
    with Task(title, len(items) if isinstance(items, Sized) else None, show) as task:
        for item in items:
            yield item
            task.advance()


def _renew() -> None:
    """Makes the state anew in a forked child, where the threads of the parent, and the locks that they held, are of no
    use."""
    _State.lock, _State.shown = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
