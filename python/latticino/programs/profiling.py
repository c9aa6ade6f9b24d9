"""Measures how long each operation takes: ``with lt.profile(ctx) as p:``."""

from __future__ import annotations

import functools
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from .. import _native, errors, tfhe
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.context import Context
from ..common import display, roles
from .program import Program

_PACKAGE = str(Path(__file__).parents[1])
_OPERATORS = {
    "add": "add", "radd": "add", "sub": "subtract", "rsub": "subtract", "neg": "negate", "mul": "multiply",
    "rmul": "multiply", "truediv": "divide", "rtruediv": "divide", "pow": "power", "matmul": "matmul",
    "rmatmul": "matmul", "and": "and", "or": "or", "xor": "xor", "rand": "and", "ror": "or", "rxor": "xor",
    "invert": "invert", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal", "lshift": "shift", "rshift": "shift", "rlshift": "shift", "rrshift": "shift",
    "mod": "remainder", "floordiv": "floor_divide", "getitem": "index", "abs": "abs",
}
# Functions of the package that a profile measures.
_FUNCTIONS = ("dot", "where", "minimum", "maximum", "stack", "concatenate", "exp", "log", "sin", "cos", "tanh",
              "sigmoid", "sqrt")


@dataclass
class ProfileRow:
    """Calls of one operation from one line.

    ``name`` of the operation; ``where``: file and line outside of the package; ``count`` of calls; ``seconds`` of all
    calls, measured with the device idle before and after each; ``levels`` that they took together (negative: gained);
    ``key_switches``;
    ``lookups``: bootstrappings of TFHE; ``bytes``: device memory that results kept; ``bytes_moved`` on the device, at
    least; ``parts``: seconds of operations and stages inside, such as a bootstrapping that a product needed. A stage of
    a bootstrapping is also part of the time of ``"bootstrap"``.
    """

    name: str
    where: str
    count: int = 0
    seconds: float = 0.0
    levels: int = 0
    key_switches: int = 0
    lookups: int = 0
    bytes: int = 0
    bytes_moved: int = 0
    parts: dict[str, float] = field(default_factory=dict)


@dataclass
class _Call:
    """An operation under way. Others inside of it are its parts."""

    profile: Profile
    row: ProfileRow
    inside: int = 0


class _Running(threading.local):
    call: _Call | None = None


_running = _Running()


class Profile:
    """What `profile` measured: ``print`` it for a table, or let a notebook show it.

    ``rows``: a `ProfileRow` per operation and line, the slowest first; ``seconds`` of the whole block. The last row,
    ``"(outside)"``, is what the block took outside of operations, waiting for the device included.
    """

    def __init__(self, context: Context | tfhe.Context) -> None:
        roles.require_kind("profile", context, (Context, tfhe.Context), "pass a context or a session")
        self._root = context._root
        self._rows: dict[tuple[str, str], ProfileRow] = {}
        self._lock = threading.Lock()
        self._gpu = context.device.startswith("cuda")
        self._start, self._seconds = 0.0, 0.0
        self._total: dict[str, Any] = {}
        self.device = context.device

    @property
    def seconds(self) -> float:
        return self._seconds or time.perf_counter() - self._start

    @property
    def rows(self) -> list[ProfileRow]:
        rows = sorted(self._rows.values(), key=lambda row: -row.seconds)
        total = self._total or self._root._native.observed
        outside = ProfileRow("(outside)", "", 1, max(0.0, self.seconds - sum(r.seconds for r in rows)))
        outside.key_switches = total["key_switches"] - sum(r.key_switches for r in rows)
        outside.lookups = total["blind_rotations"] - sum(r.lookups for r in rows)
        outside.bytes_moved = total["bytes_moved"] - sum(r.bytes_moved for r in rows)
        return [*rows, outside]

    # ---- during the profile ----

    def _begin(self) -> None:
        native = self._root._native
        native.synchronize()
        native.observe(True)
        self._start = time.perf_counter()

    def _end(self) -> None:
        native = self._root._native
        try:
            native.synchronize()
            self._seconds = time.perf_counter() - self._start
            self._total = native.observed
        finally:
            native.observe(False)

    def _call(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...],
              options: dict[str, Any]) -> Any:
        """Counts an operation by itself, or as a part of the operation that it is inside of."""
        outer = _running.call
        if outer is not None and outer.profile is not self:
            return function(*arguments, **options)
        if outer is not None:
            return self._part(outer, name, function, arguments, options)
        native = self._root._native
        key = (name, _line())
        with self._lock:
            row = self._rows.setdefault(key, ProfileRow(*key))
        native.synchronize()
        before, live = native.observed, native.live_bytes
        _running.call = _Call(self, row)
        start = time.perf_counter()
        self._push(name)
        try:
            result = function(*arguments, **options)
            native.synchronize()
        finally:
            took = time.perf_counter() - start
            self._pop()
            _running.call = None
            self._count(row, took, before, native.live_bytes - live)
        row.levels += _levels(arguments, result)
        return result

    def _part(self, outer: _Call, name: str, function: Callable[..., Any], arguments: tuple[Any, ...],
              options: dict[str, Any]) -> Any:
        if outer.inside:  # only the outermost of the operations inside
            return function(*arguments, **options)
        native = self._root._native
        native.synchronize()
        outer.inside += 1
        start = time.perf_counter()
        self._push(name)
        try:
            result = function(*arguments, **options)
            native.synchronize()
            return result
        finally:
            self._pop()
            outer.inside -= 1
            parts = outer.row.parts
            parts[name] = parts.get(name, 0.0) + time.perf_counter() - start

    def _count(self, row: ProfileRow, took: float, before: dict[str, Any], kept: int) -> None:
        after = self._root._native.observed
        with self._lock:
            row.count += 1
            row.seconds += took
            row.bytes += kept
            row.key_switches += after["key_switches"] - before["key_switches"]
            row.lookups += after["blind_rotations"] - before["blind_rotations"]
            row.bytes_moved += after["bytes_moved"] - before["bytes_moved"]
            for stage, (_, seconds) in after["stages"].items():
                more = seconds - before["stages"].get(stage, (0, 0.0))[1]
                if more > 0:
                    row.parts[stage] = row.parts.get(stage, 0.0) + more

    def _push(self, name: str) -> None:
        if self._gpu:
            _native.push_range(name)

    def _pop(self) -> None:
        if self._gpu:
            _native.pop_range()

    # ---- output ----

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        tfhe_too = any(r.lookups for r in self.rows)
        columns = ["operation", "where", "calls", "seconds", "share", "levels", "key switches",
                   *(["lookups"] if tfhe_too else []), "memory", "moved"]
        lines: list[list[Any]] = []
        for r in self.rows:
            lines.append([r.name, r.where, r.count, f"{r.seconds:.4f}", f"{r.seconds / max(self.seconds, 1e-12):.0%}",
                          r.levels, r.key_switches, *([r.lookups] if tfhe_too else []), display.size(r.bytes),
                          display.size(r.bytes_moved)])
            for part, seconds in sorted(r.parts.items(), key=lambda item: -item[1]):
                lines.append(["  " + part, "", "", f"{seconds:.4f}", "", "", "", *([""] if tfhe_too else []), "", ""])
        return columns, lines

    def __str__(self) -> str:
        columns, lines = self._table()
        texts = [columns] + [[f"{v:,}" if type(v) is int else str(v) for v in line] for line in lines]
        widths = [max(len(line[i]) for line in texts) for i in range(len(columns))]
        rows = ["  ".join(t.ljust(w) if i < 2 else t.rjust(w) for i, (t, w) in enumerate(zip(line, widths))).rstrip()
                for line in texts]
        return "\n".join([f"{self.seconds:.4f} s on {self.device}", *rows])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns, lines = self._table()
        return display.table(f"Profile: {display.seconds(self.seconds)} on {self.device}", columns, lines,
                             ["Each operation was waited for: without a profile, devices work ahead and take less."])

    def plot(self, ax: Any = None) -> Any:
        """Bars of seconds by operation and line, with matplotlib; returns its axes. UnsupportedError without it."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as why:
            raise errors.UnsupportedError.explain(
                "plot", "a Python without matplotlib", "matplotlib", "install it, or print the profile") from why
        if ax is None:
            ax = plt.subplots(figsize=(8, 0.4 * len(self.rows) + 1))[1]
        rows = self.rows[::-1]
        ax.barh([f"{r.name} {r.where}".strip() for r in rows], [r.seconds for r in rows])
        ax.set_xlabel("seconds")
        return ax


def _line() -> str:
    """The line outside of the package that called the operation."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "unknown line" if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _levels(arguments: tuple[Any, ...], result: Any) -> int:
    """Levels between the lowest ciphertext that goes in and the lowest one that comes out."""
    had, left = ([x.level for x in _arrays(v) if isinstance(x, Ciphertext)] for v in (arguments, result))
    return min(had) - min(left) if had and left else 0


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, (Ciphertext, tfhe.EncryptedArray)):
        yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from _arrays(v)


def _root_of(arguments: tuple[Any, ...]) -> Any:
    """The context that a call belongs to, if any."""
    first = arguments[0] if arguments else None
    if isinstance(first, (Context, tfhe.Context)):
        return first._root
    if isinstance(first, (Client, tfhe.Client)):
        return first.context._root
    array = next(_arrays(arguments), None)
    return None if array is None else array.context._root


class _Wrapped:
    """The package's operations. They are replaced only while there is a profile, so they cost nothing otherwise."""

    lock = threading.RLock()
    profiles: ClassVar[dict[int, Profile]] = {}  # by the id of the context
    originals: ClassVar[list[tuple[Any, str, Any]]] = []

    @classmethod
    def add(cls, profile: Profile) -> None:
        with cls.lock:
            if id(profile._root) in cls.profiles:
                raise errors.UnsupportedError.explain(
                    "profile", "a context that is being profiled", "another one", "leave the outer block first")
            if not cls.profiles:
                cls._install()
            cls.profiles[id(profile._root)] = profile

    @classmethod
    def remove(cls, profile: Profile) -> None:
        with cls.lock:
            del cls.profiles[id(profile._root)]
            if not cls.profiles:
                for owner, name, function in reversed(cls.originals):
                    setattr(owner, name, function)
                cls.originals.clear()

    @classmethod
    def _install(cls) -> None:
        for kind in (Ciphertext, tfhe.EncryptedArray):
            for name, function in list(vars(kind).items()):
                shown = _operation(name)
                if shown and isinstance(function, types.FunctionType):
                    cls._replace(kind, name, shown, function)
        clients = ("encrypt", "decrypt", "decrypt_for_sharing")
        for owner, names in ((Context, ("encrypt",)), (tfhe.Context, ("encrypt",)), (Client, clients),
                             (tfhe.Client, clients)):
            for name in names:
                if name in vars(owner):
                    cls._replace(owner, name, name, vars(owner)[name])
        cls._replace(Program, "__call__", "program", Program.__call__)
        package = sys.modules["latticino"]
        for name in _FUNCTIONS:
            cls._replace(package, name, name, getattr(package, name))

    @classmethod
    def _replace(cls, owner: Any, name: str, shown: str, function: Any) -> None:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            profile = cls.profiles.get(id(_root_of(arguments)))
            if profile is None:
                return function(*arguments, **options)
            return profile._call(shown, function, arguments, options)

        cls.originals.append((owner, name, function))
        setattr(owner, name, call)


def _operation(name: str) -> str:
    """The name of an operation; empty for methods that are no operations."""
    if name.startswith("__"):
        return _OPERATORS.get(name.strip("_"), "")
    return "" if name.startswith("_") else name


class profile:
    """Measures every operation on a context: ``with lt.profile(ctx) as p: ...``, then ``print(p)``.

    Time, levels, key switches, device memory and bytes moved, by operation and by the line that asked for it. Devices
    work asynchronously. A profile waits for each operation to end, so that its time is measured alone; the whole
    takes longer than without a
    profile. Operations inside of others, such as a bootstrapping that a product needs, count with the outermost
    one and are listed below it. On a GPU operations are ranges for NVIDIA's profilers (NVTX). ``ctx`` may be a session.
    Everything that happens on its context is counted, in other threads too, so threads that work at the same time
    appear in each other's counts.

    ContextError in a forked child. UnsupportedError for contexts that do not encrypt, and for one that is being
    profiled.
    """

    def __init__(self, context: Context | tfhe.Context) -> None:
        roles.require_kind("profile", context, (Context, tfhe.Context), "pass the context that computes")
        if not context.encrypted or context.device == "dry":
            raise errors.UnsupportedError.explain(
                "profile", "a context that computes nothing on ciphertexts", "one with a device, which encrypts",
                'take the device "cpu" or "cuda"; ctx.plan(program, x) predicts times without one')
        self._profile = Profile(context)

    def __enter__(self) -> Profile:
        _Wrapped.add(self._profile)
        try:
            self._profile._begin()
        except BaseException:
            _Wrapped.remove(self._profile)
            raise
        return self._profile

    def __exit__(self, *_: object) -> None:
        try:
            self._profile._end()
        finally:
            _Wrapped.remove(self._profile)
