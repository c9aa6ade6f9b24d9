"""Captures functions of arrays as steps: by a dry run on stand-ins, which note the operations on them.

A stand-in is a `Ciphertext` or an `EncryptedArray` (or a `Scalar`) to the function. Its shape, level and range are
those of an array without data, on which every step runs as it does in a plan. So a function that cannot run is refused
here. A stand-in has no ciphertexts, because code that uses them directly does something that no step describes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import errors
from ..ckks.ciphertext import Ciphertext
from ..common.captured import Captured
from ..functions import evaluate
from ..functions.chebyshev import Fit, as_bits, as_domain
from ..ops.scalar import Scalar
from ..tfhe.array import EncryptedArray
from . import operations
from .arguments import Encoder, Noted, Ref, Tabulated
from .operations import CKKS_METHODS, SCALAR_METHODS, TFHE_METHODS, step_name

MAX_STEPS = 1 << 17
_DATA = "arguments of the function, arrays that it computes, and data in the clear"


class Log:
    """The steps of one function. ``scheme``: ``"ckks"`` or ``"tfhe"``."""

    def __init__(self, scheme: str) -> None:
        self.scheme, self.encoder = scheme, Encoder()
        self.steps: list[dict[str, Any]] = []
        self.inputs, self.scalars, self.outputs = 0, 0, []  # type: ignore[var-annotated]
        self.single = True
        self._count, self._open = 0, False

    def capturing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function for a dry run, which notes the steps."""
        def run(*inputs: Any, **numbers: Scalar) -> Any:
            self._open, self.inputs, self.scalars = True, len(inputs), len(numbers)
            try:
                arrays = [self._stand_in(x) for x in inputs]
                given = {name: self._stand_in(s) for name, s in numbers.items()}
                return self._ended(function(*arrays, **given))
            finally:
                self._open = False
        return run

    def _ended(self, result: Any) -> Any:
        self.single = isinstance(result, (Ciphertext, EncryptedArray))
        several = [result] if self.single else result
        if not isinstance(several, (list, tuple)) or not several or not all(
                isinstance(y, (_Ciphertext, _EncryptedArray)) for y in several):
            self._require_own(several if isinstance(several, (list, tuple)) else [several], "save_program")
            raise errors.ShapeError.explain(
                "save_program", f"a function that returns a {type(result).__name__}",
                "one encrypted array, or a list of them", "return what it computes")
        self._require_own(several, "save_program")
        self.outputs = [y._place for y in several]
        return [y._inner for y in several] if len(several) > 1 else several[0]._inner

    # ---- steps ----

    def step(self, name: str, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        """Runs a step on arrays without data, and notes it."""
        found = operations.operation(self.scheme, name)
        if found is None:
            raise errors.UnsupportedError.explain(
                name, f"an operation that programs of {self.scheme.upper()} cannot have", "operations of their arrays",
                "use one scheme in a program")
        if not self._open:
            raise errors.ContextError.explain(
                name, "an array that was kept from inside a captured function", "arrays of a context",
                "run the loaded program, and use what it gives")
        named = found.bound(tuple(arguments), options)
        _PREPARED.get((self.scheme, name), _as_is)(named)
        inner = {key: self._unwrapped(name, value) for key, value in named.items()}
        operations.require_room(name, inner)
        result = found.call(inner)
        if result is NotImplemented:
            return result
        own = arguments[0] if arguments else None
        if isinstance(own, Captured) and result is own._inner:  # type: ignore[attr-defined]
            return own
        self._note(name, {key: self._noted(value) for key, value in named.items()},
                   result if isinstance(result, (list, tuple)) else [result])
        if isinstance(result, (list, tuple)):
            return type(result)(map(self._stand_in, result))
        return self._stand_in(result)

    def _note(self, name: str, named: dict[str, Any], results: Sequence[Any]) -> None:
        if len(self.steps) >= MAX_STEPS:
            raise errors.UnsupportedError.explain(
                name, f"more than {MAX_STEPS:,} steps in a program", "fewer", "save parts of it as programs")
        _PINNED.get((self.scheme, name), _as_is)(named)
        encoded = {key: self.encoder.argument(name, value) for key, value in named.items()}
        self.steps.append({"op": name, "arguments": encoded, "results": [facts_of(y) for y in results]})

    def _stand_in(self, value: Any) -> Any:
        kinds: tuple[tuple[type, Any], ...] = (
            (Ciphertext, _Ciphertext), (EncryptedArray, _EncryptedArray), (Scalar, _Scalar))
        kind = next(kind for of, kind in kinds if isinstance(value, of))
        self._count += 1
        return kind(self, self._count - 1, value)

    def _unwrapped(self, name: str, value: Any) -> Any:
        """An argument for the run without data."""
        if isinstance(value, Captured):
            self._require_own([value], name)
            return value._inner  # type: ignore[attr-defined]
        self._require_own([value], name)
        if isinstance(value, (list, tuple)):
            return type(value)(self._unwrapped(name, v) for v in value)
        return value

    def _noted(self, value: Any) -> Any:
        """An argument in the form in which it is written down: results by their numbers."""
        if isinstance(value, Captured):
            return Ref(value._place)  # type: ignore[attr-defined]
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._noted, value))
        return value

    def _require_own(self, values: Sequence[Any], name: str) -> None:
        for v in values:
            if isinstance(v, (Ciphertext, EncryptedArray)) and getattr(v, "_log", None) is not self:
                raise errors.ContextError.explain(
                    name, "an encrypted array from outside of the function", _DATA, "make it an argument")
            if isinstance(v, Scalar) and getattr(v, "_log", None) is not self:
                raise errors.ContextError.explain(
                    name, "a Scalar from outside of the function", "the function's own",
                    "declare it: lt.save_program(..., eta=lt.Scalar(low, high))")

    def used(self) -> tuple[list[dict[str, Any]], list[int]]:
        """The steps that the results need, and the numbers of the results. Results are numbered anew."""
        first = self.inputs + self.scalars
        starts = []
        for step in self.steps:
            starts.append(first)
            first += len(step["results"])
        needed = set(self.outputs)
        kept = []
        for step, start in zip(reversed(self.steps), reversed(starts)):
            if needed.intersection(range(start, start + len(step["results"]))):
                kept.append((step, start))
                needed.update(_references(step["arguments"]))
        kept.reverse()
        numbers = {i: i for i in range(self.inputs + self.scalars)}
        for step, start in kept:
            for k in range(len(step["results"])):
                numbers[start + k] = len(numbers)
        steps = [{**step, "arguments": _renumbered(step["arguments"], numbers)} for step, _ in kept]
        return steps, [numbers[i] for i in self.outputs]


def facts_of(value: Any) -> dict[str, Any]:
    """The facts that a program states about a result."""
    if isinstance(value, Scalar):
        return {}
    if isinstance(value, EncryptedArray):
        return {"shape": list(value.shape), "dtype": value.dtype}
    return {"shape": list(value.shape), "level": value.level}


def _references(value: Any) -> set[int]:
    if isinstance(value, dict):
        if type(value.get("of")) is int:
            return {value["of"]}
        return set().union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def _renumbered(value: Any, numbers: dict[int, int]) -> Any:
    if isinstance(value, dict):
        if type(value.get("of")) is int:
            return {"of": numbers[value["of"]]}
        return {key: _renumbered(v, numbers) for key, v in value.items()}
    return [_renumbered(v, numbers) for v in value] if isinstance(value, list) else value


# ---- functions as arguments: their values become data ----


def _as_is(_: dict[str, Any]) -> None:
    pass


def _fitted(named: dict[str, Any]) -> None:
    """The polynomial that approximates a function, as it is chosen for this array."""
    f, x = named["f"], named["self"]
    if isinstance(f, Fit) or not callable(f):
        return
    inner, domain, bits = x._inner, named["domain"], named["bits"]
    ends = evaluate.declared_domain("approximate", inner) if domain is None else as_domain("approximate", domain)
    wanted = as_bits("approximate", 20 if bits is None else bits)
    fit = evaluate.chosen("approximate", inner, f, ends, wanted, named["max_degree"])
    named.update(f=fit, domain=None, bits=None)


def _noting(named: dict[str, Any]) -> None:
    """Notes the values of a table's function, and fixes the set of switching, which determines where the function is
    evaluated."""
    if callable(named["f"]) and not isinstance(named["f"], Tabulated):
        named["f"] = Noted(named["f"])
    _with_set(named)


def _tabulated(named: dict[str, Any]) -> None:
    if isinstance(named["f"], Noted):
        noted = named["f"]
        named["f"] = Tabulated(np.array(noted.arguments, float), np.array([float(v) for v in noted.values]))


def _with_set(named: dict[str, Any]) -> None:
    """Writes down the set of switching, because another machine may have another default, and then other keys."""
    options = named if "switching" in named else named.get("options")
    x = next(v for v in named.values() if isinstance(v, Captured))
    if options is not None and options.get("switching") is None:
        options["switching"] = x._inner.context.switch_set()  # type: ignore[attr-defined]


def _with_set_if_tables(named: dict[str, Any]) -> None:
    if named.get("method", "rounds") != "polynomial":
        named.setdefault("options", {})
        _with_set(named)


def _noting_several(named: dict[str, Any]) -> None:
    if isinstance(named["functions"], (list, tuple)):
        named["functions"] = [Noted(f) if callable(f) else f for f in named["functions"]]


def _tabulated_several(named: dict[str, Any]) -> None:
    if isinstance(named["functions"], list):
        named["functions"] = [np.array([operator.index(_item(v)) for v in f.values], np.uint64)
                              if isinstance(f, Noted) else f for f in named["functions"]]


def _item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


Change = Callable[[dict[str, Any]], None]  # of the arguments of a step
# Called before a step runs, and before it is noted; by scheme and name.
_PREPARED: dict[tuple[str, str], Change] = {
    ("ckks", "approximate"): _fitted, ("ckks", "apply_lut"): _noting, ("tfhe", "apply_many"): _noting_several,
    **{("ckks", name): _with_set_if_tables for name in ("compare", "max", "argmax", "min", "argmin", "lt.top_k")}}
_PINNED: dict[tuple[str, str], Change] = {
    ("ckks", "apply_lut"): _tabulated, ("tfhe", "apply_many"): _tabulated_several}


# ---- stand-ins ----


def _refuse(operation: str, had: str, remedy: str) -> NoReturn:
    raise errors.UnsupportedError.explain(operation, f"{had} of a function that is being saved", _DATA, remedy)


def _no_ciphertexts() -> NoReturn:
    _refuse("save_program", "the ciphertexts of an array",
            "use methods of arrays and functions of latticino; encrypt, decrypt and save outside of the function")


class _Ciphertext(Captured, Ciphertext):
    """Stands for an array of CKKS."""

    __slots__ = ("_log", "_place", "_inner")

    def __init__(self, log: Log, at: int, inner: Ciphertext) -> None:
        super().__init__(inner.context, [], inner.layout, inner._known)
        self._log, self._place, self._inner = log, at, inner

    @property
    def _parts(self) -> Any:
        _no_ciphertexts()

    @property
    def _to_decrypt(self) -> Any:
        _refuse("decrypt", "an array", "return the array, and decrypt what the program gives; a branch on values "
                "becomes products with compare() or sign()")

    @property
    def level(self) -> int:
        return self._inner.level

    @property
    def scale(self) -> float:
        return self._inner.scale

    @property
    def slots(self) -> int:
        return self._inner.slots

    @property
    def nbytes(self) -> int:
        return self._inner.nbytes

    def __repr__(self) -> str:
        return f"Captured{self._inner!r}"

    def _repr_html_(self) -> str:
        return self._inner._repr_html_()

    def __reduce__(self) -> NoReturn:
        _refuse("pickle", "an array", "pickle what the program gives")


class _EncryptedArray(Captured, EncryptedArray):
    """Stands for an array of TFHE."""

    __slots__ = ("_log", "_place", "_inner")

    def __init__(self, log: Log, at: int, inner: EncryptedArray) -> None:
        super().__init__(inner.context, [], inner.shape, inner.bits)
        self._log, self._place, self._inner = log, at, inner

    @property
    def _parts(self) -> Any:
        _no_ciphertexts()

    @property
    def nbytes(self) -> int:
        return self._inner.nbytes

    @property
    def log_failure(self) -> float:
        return self._inner.log_failure

    def rerandomize(self) -> EncryptedArray:
        _refuse("rerandomize", "fresh randomness, which a program cannot have, for an array",
                "make the service's context with rerandomize=True")

    def __repr__(self) -> str:
        return f"Captured{self._inner!r}"

    def _repr_html_(self) -> str:
        return self._inner._repr_html_()

    def __reduce__(self) -> NoReturn:
        _refuse("pickle", "an array", "pickle what the program gives")


class _Scalar(Captured, Scalar):
    """Stands for a number that each run gets anew."""

    __slots__ = ("_log", "_place", "_inner")

    def __init__(self, log: Log, at: int, inner: Scalar) -> None:
        self._set(inner._box, inner._of, inner._program)
        self._log, self._place, self._inner = log, at, inner

    def mapped(self, *_: Any, **__: Any) -> Scalar:
        _refuse("mapped", "a function of a number that each run brings",
                "pass the result of the function as a declared number of its own")


def _method(attribute: str, of_scalars: bool) -> Callable[..., Any]:
    name = step_name(attribute, of_scalars)

    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        return self._log.step(name, (self, *arguments), options)

    called.__name__ = attribute
    return called


def _operator_of_scalars(attribute: str) -> Callable[..., Any]:
    own, noted = getattr(Scalar, attribute), _method(attribute, True)

    def called(self: Any, *arguments: Any) -> Any:
        # Operands that are no numbers use their own operators, or are refused like any Scalar.
        others = [v._inner if isinstance(v, Captured) else v for v in arguments]  # type: ignore[attr-defined]
        return NotImplemented if own(self._inner, *others) is NotImplemented else noted(self, *arguments)

    return called


for _name in CKKS_METHODS:
    setattr(_Ciphertext, _name, _method(_name, False))
for _name in TFHE_METHODS:
    setattr(_EncryptedArray, _name, _method(_name, False))
for _name in SCALAR_METHODS:
    _own = _method(_name, True) if _name in ("real", "imag", "conjugate", "__neg__", "__pow__") else (
        _operator_of_scalars(_name))
    setattr(_Scalar, _name, property(_own) if _name in ("real", "imag") else _own)
