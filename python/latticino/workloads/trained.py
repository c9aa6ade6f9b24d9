"""Weights of the project's own training, which ship with the package, and their records.

Files are safetensors. For a network that you trained with a recipe of examples/networks, name the recipe's file
instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, errors
from . import inputs

FOLDER = Path(__file__).parent / "trained_weights"
_HALF = 1 << 18  # arrays with at least so many numbers are stored in 16 bits each


def shipped(name: str) -> Path:
    """The file of a network; FileError if it does not ship yet."""
    path = FOLDER / f"{name}.safetensors"
    if not path.exists():
        raise errors.FileError.explain(
            f"demo {name}", f"no {path.name} beside the package", "trained weights",
            f"train them with examples/networks/{name}.py, and name the file with --weights")
    return path


def record(path: Path) -> dict[str, Any]:
    """How the weights of a file were trained, as the recipe wrote it; empty if the record is not next to them."""
    beside = path.with_suffix(".json")
    try:
        found = json.loads(beside.read_text()) if beside.exists() else {}
    except (OSError, ValueError) as why:
        raise _damaged(beside, f"{type(why).__name__}: {why}") from why
    return found if isinstance(found, dict) else {}


def read(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors or a NumPy file by name, in doubles. FileError for anything else."""
    found = inputs.read(path, doubles=True) if path.suffix == ".npz" else _of_safetensors(path)
    if not found or not all(np.isfinite(x).all() for x in found.values()):
        raise _damaged(path, "no finite numbers")
    return found


def _of_safetensors(path: Path) -> dict[str, np.ndarray]:
    library = _library()
    try:
        found = library.numpy.load(path.read_bytes())
    except (OSError, ValueError, KeyError, MemoryError, library.SafetensorError) as why:
        raise _damaged(path, f"{type(why).__name__}: {why}") from why
    if not all(x.dtype.kind == "f" for x in found.values()):
        raise _damaged(path, "integers")
    return {name: x.astype(np.float64) for name, x in found.items()}


def write(path: Path, given: Mapping[str, np.ndarray]) -> None:
    """A safetensors file: large arrays, such as tables of words, in half precision, others in single precision."""
    _library().numpy.save_file({name: np.asarray(x, np.float16 if x.size >= _HALF else np.float32, order="C")
                                for name, x in given.items()}, path)


def _library() -> Any:
    try:
        import safetensors.numpy
    except ImportError as why:
        raise errors.UnsupportedError.explain("weights", "no safetensors", "it for files of weights",
                                              errors.install("demo")) from why
    return safetensors


def _damaged(path: Path, why: str) -> errors.Error:
    return errors.FileError.explain(
        "weights", f"{arrays.printable(str(path))}, which cannot be read ({why})",
        "a .safetensors or .npz file of a recipe", "obtain the file again")
