"""Reads the notes of ciphertext files, which are JSON from untrusted sources. All notes are read here.

A note is an object. Its fields are read by name and kind. Everything else is refused: other JSON, names that occur
twice, NaN and infinities, numbers out of range, and deeper nesting than any writer makes.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from .. import errors

MAX_DIMENSIONS = 64  # number of dimensions, as in numpy
LARGEST = 1 << 53  # largest length, up to which all readers of JSON agree on integers


class Note:
    """The fields of one object. FileError for a field that is missing, or not of the requested kind."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    @classmethod
    def read(cls, text: str) -> Note:
        try:
            fields = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        except (ValueError, RecursionError) as why:
            raise _refusal() from why
        if not isinstance(fields, dict):
            refuse()
        return cls(fields)

    def shape(self, name: str) -> tuple[int, ...]:
        """Positive lengths. Their product is at most 2^53 as well."""
        lengths = self._get(name, list)
        if len(lengths) > MAX_DIMENSIONS or not all(type(n) is int and 1 <= n <= LARGEST for n in lengths):
            refuse()
        if math.prod(lengths) > LARGEST:
            refuse()
        return tuple(lengths)

    def number(self, name: str) -> float:
        return _number(self._get(name, (int, float)))

    def numbers(self, name: str, count: int) -> list[float]:
        values = self._get(name, list)
        if len(values) != count:
            refuse()
        return [_number(v) for v in values]

    def runs(self, name: str) -> list[list[int]]:
        """Triples of integers up to 2^53 in size."""
        runs: list[list[int]] = self._get(name, list)
        if not runs or not all(isinstance(run, list) and len(run) == 3 and all(
                type(n) is int and abs(n) <= LARGEST for n in run) for run in runs):
            refuse()
        return runs

    def flag(self, name: str) -> bool:
        return bool(self._get(name, bool))

    def text(self, name: str) -> str:
        return str(self._get(name, str))

    def part(self, name: str) -> Note | None:
        """The object in a field; None if there is no such field."""
        return Note(self._get(name, dict)) if name in self._fields else None

    def _get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        value = self._fields.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            refuse()
        return value


def refuse() -> NoReturn:
    raise _refusal()


def _refusal() -> errors.Error:
    return errors.FileError.explain("load", "a note that is no array description", "a file written by save_ciphertext",
                                    "use files of this package")


def _number(value: Any) -> float:
    try:
        if type(value) in (int, float) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    refuse()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name twice")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
