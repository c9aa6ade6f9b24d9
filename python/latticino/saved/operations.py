"""The operations that a saved program may call: methods of arrays, functions of the package, and arithmetic of numbers.

`operation` finds the callable that a step names. No other callables are ever found. Before a step runs, `require_room`
refuses one whose result would be larger than a program's arrays may be.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .. import array_functions, errors, linear  # noqa: F401 - the modules put their functions into FUNCTIONS
from ..ckks import dot  # noqa: F401
from ..ckks.ciphertext import Ciphertext
from ..common.captured import FUNCTIONS, methods_of
from ..ops.matrix import result_shape
from ..ops.scalar import Scalar
from ..tfhe.array import EncryptedArray

MAX_VALUES = 1 << 24  # values of an array: the host stores the address of each one
_MAX_TAPS = 1 << 27  # places of windows times results

# Names of methods, marked by the decorator `program_step`.
CKKS_METHODS = methods_of(Ciphertext)
TFHE_METHODS = methods_of(EncryptedArray)
SCALAR_METHODS = methods_of(Scalar)
OF_BOTH = ("lt.concatenate", "lt.stack", "lt.minimum", "lt.maximum")
OF_TFHE = ("lt.where",)

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """The callable of a step: ``function`` with arguments of this ``signature``."""

    name: str
    function: Callable[..., Any]
    signature: inspect.Signature

    def bound(self, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name, with their defaults, because later releases may have other defaults."""
        bound = self.signature.bind(*arguments, **options)
        bound.apply_defaults()
        return dict(bound.arguments)

    def bound_by_name(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The same for arguments from a file. TypeError if one is missing or has an invalid type."""
        kinds = {name: p.kind for name, p in self.signature.parameters.items()}
        for name, value in arguments.items():
            if isinstance(value, dict) != (kinds[name] is inspect.Parameter.VAR_KEYWORD):
                raise TypeError(name)
            if kinds[name] is inspect.Parameter.VAR_POSITIONAL and not isinstance(value, (list, tuple)):
                raise TypeError(name)
        given = inspect.BoundArguments(self.signature, dict(arguments))
        return self.bound(given.args, given.kwargs)

    def call(self, arguments: Arguments) -> Any:
        """The result for arguments by name."""
        bound = inspect.BoundArguments(self.signature, dict(arguments))
        return self.function(*bound.args, **bound.kwargs)


def step_name(method: str, of_scalars: bool = False) -> str:
    """The name of a step that calls a method: ``add`` for ``__add__``."""
    return ("scalar." if of_scalars else "") + method.strip("_")


def names(scheme: str) -> tuple[str, ...]:
    """The names of all steps that programs of a scheme may have."""
    methods = TFHE_METHODS if scheme == "tfhe" else CKKS_METHODS
    functions = [name for name in FUNCTIONS if name in OF_BOTH or (name in OF_TFHE) == (scheme == "tfhe")]
    scalars = SCALAR_METHODS if scheme == "ckks" else ()
    return (*map(step_name, methods), *functions, *(step_name(name, True) for name in scalars))


@lru_cache(maxsize=256)
def operation(scheme: str, name: str) -> Operation | None:
    """The operation that a step of that name calls; None if there is none."""
    if name not in names(scheme):
        return None
    if name.startswith("scalar."):
        return _scalar_operation(name)
    if name in FUNCTIONS:
        return Operation(name, FUNCTIONS[name], inspect.signature(FUNCTIONS[name]))
    of: type = EncryptedArray if scheme == "tfhe" else Ciphertext
    method = next(m for m in (TFHE_METHODS if scheme == "tfhe" else CKKS_METHODS) if step_name(m) == name)

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(self, of):
            raise errors.ShapeError.explain(name, f"a {type(self).__name__}", "an encrypted array", "check the steps")
        return getattr(self, method)(*arguments, **options)

    return Operation(name, call, inspect.signature(getattr(of, method)))


def _scalar_operation(name: str) -> Operation:
    """Arithmetic of Scalars, and of the numbers that replace them in a run."""
    function = _OF_SCALARS[name.removeprefix("scalar.")]

    def call(*arguments: Any) -> Any:
        if not all(isinstance(v, (int, float, complex, Scalar)) for v in arguments):
            raise errors.ShapeError.explain(name, "operands that are no numbers", "numbers", "check the steps")
        return function(*arguments)

    return Operation(name, call, inspect.signature(function))


_OF_SCALARS: dict[str, Callable[..., Any]] = {
    "add": lambda self, other: self + other, "radd": lambda self, other: other + self,
    "sub": lambda self, other: self - other, "rsub": lambda self, other: other - self,
    "mul": lambda self, other: self * other, "rmul": lambda self, other: other * self,
    "truediv": lambda self, other: self / other, "rtruediv": lambda self, other: other / self,
    "neg": lambda self: -self, "pow": lambda self, n: self**n, "conjugate": lambda self: self.conjugate(),
    "real": lambda self: self.real, "imag": lambda self: self.imag}


# ---- size limits of results ----


def require_room(name: str, arguments: Arguments) -> None:
    """ShapeError for a step whose result, or whose work on the host, would be larger than a program may have."""
    most = _most_of(name, arguments)
    if most > MAX_VALUES:
        raise errors.ShapeError.explain(
            name, f"a result of {most:,} values", f"at most {MAX_VALUES:,}", "compute it in parts")


def _most_of(name: str, arguments: Arguments) -> int:
    """A bound on the number of values of a result, from the shapes of operands alone; 0 if it cannot grow."""
    of: Any = arguments.get("self")
    own: tuple[int, ...] = getattr(of, "shape", ())
    if name in ("matmul", "rmatmul"):
        pair = (_shape(arguments["w"]) or (), own) if name == "rmatmul" else (own, _shape(arguments["w"]) or ())
        return math.prod(result_shape(*pair))
    if name == "broadcast_to":
        wanted = arguments["shape"]
        sizes = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        return math.prod(n for n in sizes if isinstance(n, int)) if len(sizes) <= 64 else MAX_VALUES + 1
    if name == "getitem":
        return _indexed(own, next(v for k, v in arguments.items() if k != "self"))
    if name in ("lt.concatenate", "lt.stack"):
        several = arguments["arrays"]
        several = several if isinstance(several, (list, tuple)) else [several]
        return sum(math.prod(_shape(v) or ()) for v in several)
    if name in ("lt.cov", "lt.corrcoef"):
        shape = getattr(arguments["x"], "shape", None) or (1,)
        return (shape[0 if arguments["rowvar"] else -1] if len(shape) > 1 else 1) ** 2
    if name in ("conv", "average_pool"):
        return _windows(name, own, arguments)
    if name == "lt.linear_map":
        rows = max((math.prod(x.shape) // of.size_in for x in arguments["xs"] if hasattr(x, "shape")), default=0)
        return rows * int(of.size_out)
    try:
        return math.prod(np.broadcast_shapes(*_shapes(arguments.values())))
    except ValueError:  # the operation itself refuses such shapes
        return 0


def _shapes(values: Iterable[Any]) -> list[tuple[int, ...]]:
    """The shapes of all operands, and of those in lists."""
    several = [w for v in values for w in (v if isinstance(v, (list, tuple)) and any(map(_is_array, v)) else [v])]
    return [shape for shape in map(_shape, several) if shape is not None]


def _is_array(value: Any) -> bool:
    return isinstance(value, (Ciphertext, EncryptedArray, np.ndarray))


def _shape(value: Any) -> tuple[int, ...] | None:
    if _is_array(value):
        return tuple(value.shape)
    try:
        return np.shape(value) if isinstance(value, (list, tuple)) else None
    except (ValueError, errors.Error):
        return None


def _indexed(shape: tuple[int, ...], index: Any) -> int:
    """A bound on the size of ``x[index]``."""
    items = index if isinstance(index, tuple) else (index,)
    lists = [np.asarray(v) if isinstance(v, list) else v for v in items]
    used = sum(0 if v is None or v is ... else v.ndim if isinstance(v, np.ndarray) and v.dtype == bool else 1
               for v in lists)
    sizes = list(shape)
    free, chosen, at = 1, [], 0
    for v in lists:
        if v is None:
            continue
        if v is ...:
            rest = max(0, len(sizes) - used)
            free, at = free * math.prod(sizes[at : at + rest]), at + rest
        elif isinstance(v, np.ndarray):
            chosen.append((int(v.sum()),) if v.dtype == bool else v.shape)
            at += v.ndim if v.dtype == bool else 1
        else:
            free *= sizes[at] if isinstance(v, slice) and at < len(sizes) else 1
            at += 1
    try:
        return free * math.prod(sizes[at:]) * math.prod(np.broadcast_shapes(*chosen))
    except ValueError:  # numpy refuses such an index
        return 0


def _windows(name: str, shape: tuple[int, ...], arguments: Arguments) -> int:
    """The number of values of a result of windows over an image, or of places that its windows read, whichever is
    larger."""
    def numbers(value: Any) -> list[int]:
        several = value if isinstance(value, (list, tuple)) else [value]
        return [n for n in several if isinstance(n, int) and n > 0]

    size = list(np.shape(arguments["weight"])) if name == "conv" else numbers(arguments["size"])
    several = isinstance(arguments.get("size"), (list, tuple))
    axes = len(size) - 2 if name == "conv" else len(size) if several else 1 if len(shape) == 2 else 2
    windows = size[2:] if name == "conv" else size * (1 if several else axes)
    padding = max(numbers(arguments["padding"]), default=0)
    area = math.prod(n + 2 * padding for n in shape[-axes:]) if axes > 0 else 0
    taps = math.prod(windows)
    channels = size[0] if name == "conv" and size else max(shape[:1] or (1,))
    return max(channels * area, taps, area * taps if area * taps > _MAX_TAPS else 0)
