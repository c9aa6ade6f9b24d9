"""Weights of the project's own training, which ship with the package, and their records.

A file is safetensors: eight bytes with the length of a header, the header, JSON that gives type, shape and place of
each array, and the arrays. Whoever trains a network with a recipe of examples/networks names the recipe's file instead.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, errors

FOLDER = Path(__file__).parent / "trained_weights"
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
_MOST_HEADER = 1 << 24  # bytes
_HALF = 1 << 18  # numbers of an array, from which 16 bits hold each


def shipped(name: str) -> Path:
    """The file of a network; FileError where it does not ship yet."""
    path = FOLDER / f"{name}.safetensors"
    if not path.exists():
        raise errors.FileError.explain(
            f"demo {name}", f"no {path.name} beside the package", "trained weights",
            f"train them with examples/networks/{name}.py, and name the file with --weights")
    return path


def record(path: Path) -> dict[str, Any]:
    """How the weights of a file were trained, as the recipe wrote it; empty where it is not beside them."""
    beside = path.with_suffix(".json")
    try:
        found = json.loads(beside.read_text()) if beside.exists() else {}
    except (OSError, ValueError) as why:
        raise _damaged(beside, why) from why
    return found if isinstance(found, dict) else {}


def read(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors or a NumPy file by name, in doubles. FileError for anything else."""
    try:
        found = _of_numpy(path) if path.suffix == ".npz" else parsed(path.read_bytes())
        if not found or not all(np.isfinite(x).all() for x in found.values()):
            raise ValueError("no finite numbers")
        return found
    except (OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, RuntimeError, NotImplementedError,
            RecursionError, struct.error, zipfile.BadZipFile, zlib.error) as why:
        raise _damaged(path, why) from why


def parsed(data: bytes) -> dict[str, np.ndarray]:
    """Arrays of the bytes of a safetensors file."""
    (length,) = struct.unpack_from("<Q", data)
    if length > min(_MOST_HEADER, len(data) - 8):
        raise ValueError("a header longer than the file")
    header, body = json.loads(data[8 : 8 + length].decode()), memoryview(data)[8 + length :]
    out = {}
    if not isinstance(header, dict):
        raise TypeError("a header that is no table")
    for name, row in header.items():
        if name == "__metadata__":
            continue
        kind, shape = np.dtype(_TYPES[row["dtype"]]), tuple(int(n) for n in row["shape"])
        begin, end = (int(n) for n in row["data_offsets"])
        if not 0 <= begin <= end <= len(body) or min(shape, default=1) < 0 or end - begin != (
                math.prod(shape) * kind.itemsize):
            raise ValueError(f"{name} does not lie within the file")
        out[name] = np.frombuffer(body[begin:end], kind).reshape(shape).astype(np.float64)
    return out


def write(path: Path, given: Mapping[str, np.ndarray]) -> None:
    """A safetensors file: large arrays, such as tables of words, in half precision, others in single precision."""
    header: dict[str, Any] = {}
    parts, at = [], 0
    for name, x in sorted(given.items()):
        kind = "F16" if x.size >= _HALF else "F32"
        parts.append(np.ascontiguousarray(x, _TYPES[kind]).tobytes())
        header[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # arrays begin at a multiple of eight bytes
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def _of_numpy(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as f:
        return {name: np.asarray(f[name], np.float64) for name in f.files}


def _damaged(path: Path, why: Exception) -> errors.Error:
    return errors.FileError.explain(
        "weights", f"{arrays.printable(str(path))}, which cannot be read ({type(why).__name__}: {why})",
        "a .safetensors or .npz file of a recipe", "obtain the file again")
