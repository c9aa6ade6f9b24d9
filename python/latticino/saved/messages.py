"""Requests and results of saved programs as bytes: what clients and services send each other.

A request is the files of all inputs, one after the other in their order, and then `NUMBER` bytes for each number that
a run brings: its real and its imaginary part, as doubles (little-endian).

The result of a function that returns one array is the file of that array. The result of a function that returns a list
is 8 bytes `LTRESULT`, the version and the number of arrays (32 bits each), the length of each file (64 bits, all
little-endian), and then the files, one after the other.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from .. import errors
from ..ckks.ciphertext import Ciphertext
from ..files import saving
from ..ops.scalar import Scalar, taken

MAGIC, VERSION = b"LTRESULT", 1
_HEAD, _LENGTH, _NUMBER = struct.Struct("<8sII"), struct.Struct("<Q"), struct.Struct("<dd")
NUMBER = _NUMBER.size  # bytes per number of a request


# ---- numbers ----


def numbers_to_bytes(declared: Mapping[str, Scalar], numbers: Mapping[str, Any]) -> bytes:
    """The numbers of a run in their order. ValueError for one that is missing, unknown, or out of its range."""
    values = taken(declared, numbers)
    return b"".join(_NUMBER.pack(complex(values[name]).real, complex(values[name]).imag) for name in declared)


def numbers_of(declared: Mapping[str, Scalar], parts: Sequence[bytes]) -> dict[str, float | complex]:
    """The numbers, in `NUMBER` bytes each. The bytes may come from anybody. FileError if they are no numbers."""
    if len(parts) != len(declared) or any(len(part) != NUMBER for part in parts):
        _refuse("run", f"{sum(map(len, parts))} bytes of numbers", f"{NUMBER} for each of {len(declared)}",
                "write each number as two doubles")
    out: dict[str, float | complex] = {}
    for name, part in zip(declared, parts):
        real, imag = _NUMBER.unpack(part)
        if not (math.isfinite(real) and math.isfinite(imag)):
            _refuse("run", f"{name}, which is not finite", "a finite number", "correct it")
        out[name] = complex(real, imag) if imag else real
    return out


# ---- results ----


def most_around(count: int) -> int:
    """Bytes of a result of so many arrays, in addition to their files."""
    return _HEAD.size + count * _LENGTH.size


def result_to_bytes(result: Any, final: bool = False) -> bytes:
    """The result of a run, as bytes. ``final``: each array of CKKS as of `lt.to_bytes`. One of TFHE is as it is."""
    if not isinstance(result, (list, tuple)):
        return saving.to_bytes(result, final=final and isinstance(result, Ciphertext))
    files = [result_to_bytes(y, final) for y in result]
    return b"".join([_HEAD.pack(MAGIC, VERSION, len(files)), *(_LENGTH.pack(len(f)) for f in files), *files])


def result_of(data: bytes, context: Any, count: int) -> Any:
    """The array in the bytes of a result, or the tuple of arrays, from anybody. ``count``: of the program's results.
    FileError for bytes that are no such result; other errors as of `lt.from_bytes`."""
    read = [saving.from_bytes(file, context) for file in files_of(data, count)]
    return tuple(read) if data[: len(MAGIC)] == MAGIC else read[0]


def files_of(data: bytes, count: int) -> list[bytes]:
    """The file of each array in the bytes of a result. The bytes may come from anybody. FileError as of `result_of`."""
    if data[: len(MAGIC)] != MAGIC:
        if count != 1:
            _refuse("load", "one array", f"{count} results", "ask for the result of a job of this program")
        return [data]
    if len(data) < _HEAD.size:
        _refuse_result("too few bytes")
    _, version, stated = _HEAD.unpack_from(data)
    if version != VERSION:
        _refuse("load", f"format version {version} of a result", f"version {VERSION}",
                "use a later version of this package")
    at = most_around(count)
    if stated != count or len(data) < at:
        _refuse_result(f"{stated} arrays where the program gives {count}")
    lengths = [_LENGTH.unpack_from(data, _HEAD.size + i * _LENGTH.size)[0] for i in range(count)]
    if at + sum(lengths) != len(data):
        _refuse_result(f"{len(data)} bytes for files of {sum(lengths)}")
    out = []
    for length in lengths:
        out.append(data[at : at + length])
        at += length
    return out


def _refuse_result(had: str) -> NoReturn:
    _refuse("load", f"a result with {had}", "what a service gives for this program", "ask for it again")


def _refuse(operation: str, had: str, needs: str, remedy: str) -> NoReturn:
    raise errors.FileError.explain(operation, had, needs, remedy)
