"""Arguments of steps as JSON and arrays, and back.

Numbers, texts, None and lists are themselves. Everything else is an object with one field that says what it is:
``{"of": 3}`` an earlier result, ``{"array": ..}`` an array of the file, ``{"tuple": [..]}``, ``{"slice": [..]}``,
``{"ellipsis": true}``, ``{"complex": [re, im]}``, ``{"range": {..}}``, ``{"fit": {..}}``, ``{"table": {..}}``,
``{"map": {..}}``. There is no object that names code.
"""

from __future__ import annotations

import hashlib
import json
import math
import numbers
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import _native, arrays, errors
from ..common.layout import Layout, from_runs
from ..files.containers import Container
from ..files.notes import Note
from ..functions.chebyshev import MAX_DEGREE, Fit, Series
from ..linear.convolution import Multiplexed
from ..linear.maps import LinearMap

PROGRAM = Container(b"LTPROGRM", 1, "a program", "lt.save_program")
_MAX_LIST = 256  # numbers of a list; longer lists are stored as arrays
_MAX_VALUES = 1 << 24
_LARGEST = 1 << 64
_DEEPEST = 8  # depth of nested lists
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128")
_CLAIMS = ("assumed", "declared")


@dataclass(frozen=True)
class Ref:
    """An earlier result: an input, or the result of a step."""

    at: int


class Tabulated:
    """A function of real numbers whose values are known where a table needs them."""

    def __init__(self, arguments: np.ndarray, values: np.ndarray) -> None:
        self._values = dict(zip(arguments.tolist(), values.tolist()))

    def __call__(self, v: float) -> float:
        try:
            return float(self._values[v])
        except LookupError:
            raise errors.UnsupportedError.explain(
                "apply_lut", f"a saved table without a value at {v:.6g}", "the set of switching that it was saved with",
                "save the program again with this release") from None

    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """A function that is known by a list of arguments and values."""
        return np.array(list(self._values)), np.array(list(self._values.values()))


class Noted:
    """Notes the values of a function, of one number or of several integers, whenever they are computed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.arguments: list[Any] = []
        self.values: list[Any] = []

    def __call__(self, *arguments: Any) -> Any:
        value = self.function(*arguments)
        self.arguments.append(arguments[0])
        self.values.append(value)
        return value


# ---- to JSON ----


class Encoder:
    """Collects the arrays of a program, each once. ``arrays``: by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[bytes, str] = {}

    def argument(self, operation: str, value: Any, depth: int = 0) -> Any:
        """An argument as JSON. UnsupportedError, naming the operation, if it is no data."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, Ref):
            return {"of": value.at}
        if isinstance(value, np.ndarray) or (isinstance(value, np.generic) and not isinstance(value, numbers.Number)):
            return {"array": self.array(operation, value)}
        if isinstance(value, numbers.Number):
            return _number(operation, value)
        if isinstance(value, (list, tuple, range)):
            return self._sequence(operation, value, depth)
        if isinstance(value, dict):
            return {"options": {str(k): self.argument(operation, v, depth + 1) for k, v in value.items()}}
        if isinstance(value, slice):
            return {"slice": [self.argument(operation, v) for v in (value.start, value.stop, value.step)]}
        if value is ...:
            return {"ellipsis": True}
        return self._object(operation, value)

    def _sequence(self, operation: str, value: Any, depth: int) -> Any:
        if len(value) > _MAX_LIST and all(isinstance(v, numbers.Number) for v in value):
            return {"array": self.array(operation, np.asarray(value))}
        if depth > _DEEPEST:
            _refuse(operation, "lists in lists in lists")
        several = [self.argument(operation, v, depth + 1) for v in value]
        return {"tuple": several} if isinstance(value, tuple) else several

    def _object(self, operation: str, value: Any) -> Any:
        if isinstance(value, _native.Range):
            return {"range": range_fields(value)}
        if isinstance(value, Fit):
            return {"fit": self._fit(operation, value)}
        if isinstance(value, Tabulated):
            arguments, values = value.columns()
            return {"table": {"arguments": self.array(operation, arguments), "values": self.array(operation, values)}}
        if isinstance(value, LinearMap):
            return {"map": self._map(operation, value)}
        if isinstance(value, (type, np.dtype)):
            try:
                return str(np.dtype(value).name)
            except TypeError:
                _refuse(operation, f"the type {value!r}")
        if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
            return {"array": self.array(operation, arrays.as_numpy(value, operation))}
        kind = "a function" if callable(value) else f"a {type(value).__name__}"
        _refuse(operation, f"{kind} among the arguments")

    def array(self, operation: str, value: Any) -> dict[str, Any]:
        """An array, which the file contains once, however often it is used."""
        own = np.asarray(value)
        own = own.astype(np.complex128 if own.dtype.kind == "c" else np.float64) if own.dtype.itemsize > 8 and (
            own.dtype.name not in _TYPES) else own
        if own.dtype.name not in _TYPES:
            _refuse(operation, f"an array of dtype {own.dtype}")
        plain = np.ascontiguousarray(own).reshape(-1)
        digest = hashlib.sha256(f"{plain.dtype.name} ".encode() + plain.tobytes()).digest()
        name = self._names.setdefault(digest, str(len(self._names)))
        if name not in self.arrays:
            self.arrays[name] = _as_stored(plain)
        return {"name": name, "dtype": plain.dtype.name, "shape": list(own.shape)}

    def _fit(self, operation: str, fit: Fit) -> dict[str, Any]:
        return {"name": fit.name, "domain": list(fit.domain), "interval": list(fit.interval), "error": fit.error,
                "imag": fit.imag, "coefficients": self.array(operation, np.asarray(fit.coefficients))}

    def _map(self, operation: str, m: LinearMap) -> dict[str, Any]:
        layouts: Any = m._layouts
        if layouts is not None and not isinstance(layouts, Multiplexed):
            _refuse(operation, "a map with layouts of its own")
        entries = {"rows": m._rows, "columns": m._columns, "values": m._values}
        given = {name: layout_fields(where) for name, where in (("source", m._source), ("target", m._target))
                 if where is not None}
        return {"shape_in": list(m.shape_in), "shape_out": list(m.shape_out), "keep": m.keep, "memory": m.memory,
                "operation": m._operation, "shared": m._shared, **given,
                **({} if layouts is None else {"layouts": asdict(layouts)}),
                **{name: self.array(operation, entry) for name, entry in entries.items()}}


def _refuse(operation: str, had: str) -> Any:
    raise errors.UnsupportedError.explain(
        operation, f"{had} in a program to save", "numbers, arrays, texts, and what lt.fit and lt.linear_map give",
        "compute such data outside of the function, and use them in it")


def _number(operation: str, value: Any) -> Any:
    if isinstance(value, numbers.Integral):
        whole = int(value)
        return whole if abs(whole) < _LARGEST else _number(operation, float(whole))
    if isinstance(value, numbers.Real):
        if not math.isfinite(float(value)):
            _refuse(operation, "a number that is not finite")
        return float(value)
    both = complex(value)
    return {"complex": [_number(operation, both.real), _number(operation, both.imag)]}


def _as_stored(plain: np.ndarray) -> np.ndarray:
    """Integers of 64 bits, or doubles, of which complex numbers are two."""
    if plain.dtype.kind == "c":
        return plain.astype(np.complex128).view(np.float64)
    if plain.dtype.kind == "f":
        return plain.astype(np.float64)
    return plain.view(np.int64) if plain.dtype == np.uint64 else plain.astype(np.int64)


def range_fields(r: _native.Range) -> dict[str, Any]:
    """The range that a sample has shown is stated as a declared range."""
    return {"claim": r.claim if r.claim == "assumed" else "declared", "random": r.random,
            "numbers": [r.low, r.high, r.imag_low, r.imag_high, r.bound, r.rms]}


def layout_fields(where: Layout) -> dict[str, Any]:
    return {"shape": list(where.shape), "slots": where.slots, "count": where.count, "rest": where.rest,
            "bound": where.bound, "runs": where.runs()}


# ---- from JSON ----


class Decoder:
    """Reads arguments from an untrusted file. Arrays of the file are found by name. Each array is read once."""

    def __init__(self, found: dict[str, np.ndarray]) -> None:
        self._found = found
        # by the JSON that they are read from, so that equal maps share their encoded diagonals
        self._made: dict[str, Any] = {}

    def argument(self, value: Any, known: int, depth: int = 0) -> Any:
        """An argument of a step before which there are `known` results. FileError for anything else."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int) and abs(value) < _LARGEST:
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, list) and depth <= _DEEPEST:
            return [self.argument(v, known, depth + 1) for v in value]
        if not isinstance(value, dict) or len(value) != 1 or depth > _DEEPEST:
            PROGRAM.refuse("an argument that is none")
        (kind, inner), = value.items()
        if kind == "of":
            if type(inner) is not int or not 0 <= inner < known:
                PROGRAM.refuse("a result that does not exist yet")
            return Ref(inner)
        if kind == "tuple" and isinstance(inner, list):
            return tuple(self.argument(v, known, depth + 1) for v in inner)
        if kind == "options" and isinstance(inner, dict):
            return {k: self.argument(v, known, depth + 1) for k, v in inner.items()}
        return self._constant(kind, inner)

    def _constant(self, kind: str, inner: Any) -> Any:
        if kind == "ellipsis" and inner is True:
            return ...
        if kind == "slice" and isinstance(inner, list) and len(inner) == 3:
            return slice(*(None if v is None else _integer(v) for v in inner))
        if kind == "complex":
            return complex(*Note({"complex": inner}).numbers("complex", 2))
        if kind in ("range", "array", "fit", "table", "map") and isinstance(inner, dict):
            name = json.dumps([kind, inner], sort_keys=True)
            if name not in self._made:
                self._made[name] = getattr(self, f"_{kind}")(Note(inner))
            return self._made[name]
        PROGRAM.refuse("an argument of an unknown kind")

    def array(self, note: Note | None) -> np.ndarray:
        if note is None:
            PROGRAM.refuse("no array where one is needed")
        return self._array(note)

    def _array(self, note: Note) -> np.ndarray:
        name, kind = note.text("name"), note.text("dtype")
        shape = PROGRAM.integers(note, "shape", 0, _MAX_VALUES)
        stored = self._found.get(name)
        if stored is None or kind not in _TYPES or len(shape) > 32:
            PROGRAM.refuse("an array that is not there")
        dtype = np.dtype(kind)
        width = 2 if dtype.kind == "c" else 1
        whole = dtype.kind in "biu"
        if math.prod(shape) * width != stored.size or (stored.dtype.kind == "i") != whole:
            PROGRAM.refuse("an array of another size")
        if dtype.kind == "c":
            own = stored.view(np.complex128)
        else:
            own = stored.view(np.uint64) if kind == "uint64" else stored
        out = own.astype(dtype).reshape(shape)
        back = _as_stored(out.reshape(-1))
        if not np.array_equal(back, stored, equal_nan=dtype.kind in "fc"):
            PROGRAM.refuse("numbers that their type does not hold")
        out.flags.writeable = False
        return out

    def _range(self, note: Note) -> _native.Range:
        claim, values = note.text("claim"), note.numbers("numbers", 6)
        if claim not in _CLAIMS or min(values[4:]) < 0:
            PROGRAM.refuse("a range that is none")
        return _native.Range.rebuilt(_CLAIMS.index(claim), values, note.flag("random"))

    def _fit(self, note: Note) -> Fit:
        coefficients = self.array(note.part("coefficients"))
        (low, high), interval = note.numbers("domain", 2), note.numbers("interval", 2)
        error, imag = note.number("error"), note.number("imag")
        fits = coefficients.ndim == 1 and 1 <= coefficients.size <= MAX_DEGREE + 1 and coefficients.dtype.kind in "fc"
        if not fits or not np.isfinite(coefficients).all() or min(error, imag) < 0:
            PROGRAM.refuse("a polynomial that is none")
        if not interval[0] <= low < high <= interval[1]:
            PROGRAM.refuse("a domain that is none")
        series = Series([complex(c) for c in coefficients], True, *interval)
        function: Any = series
        return Fit(function, note.text("name")[:80], (low, high), (interval[0], interval[1]), coefficients, error, imag)

    def _table(self, note: Note) -> Tabulated:
        arguments, values = self.array(note.part("arguments")), self.array(note.part("values"))
        alike = arguments.ndim == values.ndim == 1 and arguments.size == values.size
        if not alike or not (np.isfinite(arguments).all() and np.isfinite(values).all()):
            PROGRAM.refuse("a table that is none")
        return Tabulated(arguments, values)

    def _map(self, note: Note) -> LinearMap:
        layouts, name = note.part("layouts"), note.text("operation")
        entries = [self.array(note.part(column)) for column in ("rows", "columns", "values")]
        shapes = [_shape(note, field) for field in ("shape_in", "shape_out")]
        given = {side: _layout(note.part(side)) for side in ("source", "target") if note.part(side) is not None}
        if len(name) > 40 or not name.isidentifier():
            PROGRAM.refuse("a map without a name")
        memory = PROGRAM.integer(note, "memory", 1, 1 << 53)
        made: Any = LinearMap(*entries, *shapes, keep=note.flag("keep"), memory=memory, operation=name,
                              layouts=None if layouts is None else _multiplexed(layouts), shared=note.flag("shared"),
                              **given)
        return made  # type: ignore[no-any-return]


def _integer(value: Any) -> int:
    if type(value) is not int or abs(value) >= _LARGEST:
        PROGRAM.refuse("a slice that is none")
    return value


def _shape(note: Note, name: str) -> tuple[int, ...]:
    shape = note.shape(name)
    if math.prod(shape) > _MAX_VALUES:
        PROGRAM.refuse("a shape that is too large")
    return shape


def _layout(note: Note | None) -> Layout:
    assert note is not None
    shape, rest, bound = _shape(note, "shape"), note.text("rest"), note.number("bound")
    slots, count = PROGRAM.integer(note, "slots", 1, 1 << 17), PROGRAM.integer(note, "count", 1, 1 << 20)
    if rest not in ("zero", "filler", "unknown") or bound < 0 or slots * count > _MAX_VALUES:
        PROGRAM.refuse("a layout that is none")
    try:
        return from_runs(note.runs("runs"), shape, slots, count, rest, bound)  # type: ignore[arg-type]
    except ValueError as why:
        raise PROGRAM.refusal("a layout that is none") from why


def _multiplexed(note: Note) -> Multiplexed:
    pairs = [PROGRAM.integers(note, name, 1, _MAX_VALUES) for name in ("image", "results", "stride")]
    channels, shape = PROGRAM.integer(note, "channels", 1, _MAX_VALUES), _shape(note, "shape")
    if any(len(p) != 2 for p in pairs) or math.prod(shape) != channels * math.prod(pairs[1]):
        PROGRAM.refuse("channels that are none")
    image, results, stride = ((p[0], p[1]) for p in pairs)
    return Multiplexed(image, results, stride, channels, shape)
