"""Files of JSON and arrays: compiled networks and saved programs. Numbers, no code.

A file is a head of JSON and arrays behind it, and at the end the SHA-256 of all that comes before:

    magic (8 bytes)  version (4)  length of the head (8)  head  arrays, deflated  digest (32)

Numbers are little-endian. Integers of arrays are stored as differences, which are small. The digest finds damage. A
hostile file can have a correct digest, so every field is checked, and nothing is larger than the head says. A deflated
array can be a thousand times as large as its bytes, so what all of them need is compared with the free memory first.
Files for clients have no arrays.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .. import _native, errors
from ..common import display
from . import regular
from .notes import Note

# The remedy for a file that names what this release does not know.
MAYBE_LATER = "use a later version of this package if it wrote the file; otherwise obtain the file again"
_HEAD = struct.Struct("<8sIQ")
_DIGEST = 32
_MAX_HEAD = 1 << 26
_MAX_ROWS = 1 << 20
_MAX_NUMBERS = 1 << 30  # the most numbers of an array
CLIENT = "client"  # the kind of file that has no arrays
_SMALL = 1 << 24  # so many bytes are allowed without a look at the free memory
_MAX_GROWTH = 1100  # the most bytes that one byte can inflate to: deflate allows 1,032
_KINDS: dict[str, np.dtype] = {"<i8": np.dtype("<i8"), "<f8": np.dtype("<f8")}


@dataclass(frozen=True)
class Container:
    """A kind of file: its first bytes, the version that is written, and for errors what it holds and what writes it."""

    magic: bytes
    version: int
    what: str
    maker: str

    def write(self, path: str, head: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Writes a file that appears only once all of it is on disk."""
        self.put(path, self.to_bytes(head, arrays))

    def put(self, path: str, data: bytes) -> None:
        """Writes the bytes of a file as `write` does. FileError for a name that is a link, a pipe or a device."""
        target = Path(path)
        regular.require_replaceable(target, "save")
        try:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.chmod(name, 0o644)
                regular.require_replaceable(target, "save")
                os.replace(name, target)
            except BaseException:
                os.unlink(name)
                raise
        except OSError as why:
            raise errors.FileError.explain("save", f"{path}: {why}", "a folder that can be written to",
                                           "save to another path") from why

    def to_bytes(self, head: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
        blobs, rows = [], []
        for name, array in arrays.items():
            kind = "<f8" if array.dtype.kind == "f" else "<i8"
            own = np.ascontiguousarray(array, kind).reshape(-1)
            blob = zlib.compress((own if kind == "<f8" else np.diff(own, prepend=0)).tobytes(), 1)
            rows.append({"name": name, "kind": kind, "length": int(own.size), "bytes": len(blob)})
            blobs.append(blob)
        text = json.dumps({**head, "arrays": rows}, allow_nan=False).encode()
        body = b"".join([_HEAD.pack(self.magic, self.version, len(text)), text, *blobs])
        return body + hashlib.sha256(body).digest()

    def read(self, path: str) -> tuple[Note, dict[str, np.ndarray]]:
        """The head and the arrays; FileError for anything but a file of `write`."""
        return self.from_bytes(self.bytes_of(path))

    def bytes_of(self, path: str) -> bytes:
        return regular.read(path, "load", f"a file of {self.what}")

    def from_bytes(self, data: bytes) -> tuple[Note, dict[str, np.ndarray]]:
        if len(data) < _HEAD.size + _DIGEST:
            self.refuse("too few bytes")
        magic, version, length = _HEAD.unpack_from(data)
        if magic != self.magic:
            self.refuse("another kind of file")
        if version != self.version:
            raise errors.FileError.explain("load", f"format version {version} of {self.what}",
                                           f"version {self.version} or earlier", "use a later version of this package")
        if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
            self.refuse("bytes that are not those that were written")
        start, end = _HEAD.size + length, len(data) - _DIGEST
        if length > _MAX_HEAD or start > end:
            self.refuse("a head that is too long")
        try:
            head = Note.read(data[_HEAD.size : start].decode())
        except (UnicodeDecodeError, errors.FileError) as why:
            raise self.refusal("a head that is no JSON object") from why
        return head, self._arrays(head, data, start, end)

    def _arrays(self, head: Note, data: bytes, start: int, end: int) -> dict[str, np.ndarray]:
        rows = self.parts(head, "arrays")
        if rows and head._fields.get("kind") == CLIENT:
            self.refuse("arrays in the part for clients")
        places: dict[str, tuple[slice, np.dtype, int]] = {}
        for row in rows:
            name, kind = row.text("name"), row.text("kind")
            count, size = (self.integer(row, field, 0, 1 << 53) for field in ("length", "bytes"))
            fits = kind in _KINDS and count <= _MAX_NUMBERS and size <= end - start and name not in places
            if not fits or 8 * count > _MAX_GROWTH * size:
                self.refuse("an array that does not fit")
            places[name] = slice(start, start + size), _KINDS[kind], count
            start += size
        if start != end:
            self.refuse("bytes behind the arrays")
        self.require_room(8 * sum(count for _, _, count in places.values()))
        return {name: self._array(data[where], kind, count) for name, (where, kind, count) in places.items()}

    def require_room(self, bytes_: int) -> None:
        """OutOfMemoryError for arrays that would take more than half of the free memory: they are copied once."""
        free = _native.available_memory()
        if 2 * bytes_ > free and bytes_ > _SMALL:
            raise errors.OutOfMemoryError.explain(
                "load", f"arrays of {display.size(bytes_)}, and {display.size(free)} of free memory",
                "twice as much free memory as arrays", "load it on a larger machine, or obtain the file again")

    def _array(self, blob: bytes, kind: np.dtype, count: int) -> np.ndarray:
        engine = zlib.decompressobj()
        try:
            raw = engine.decompress(blob, count * kind.itemsize + 1)
        except zlib.error as why:
            raise self.refusal("an array that cannot be inflated") from why
        except MemoryError as why:
            raise errors.OutOfMemoryError.explain("load", f"too little memory for a file of {self.what}", "more of it",
                                                  "load it on a larger machine, or obtain the file again") from why
        whole = len(raw) == count * kind.itemsize and (engine.eof or not blob)
        if not whole or engine.unconsumed_tail or engine.unused_data:
            self.refuse("an array of another length")
        out = np.frombuffer(raw, kind).astype(kind.newbyteorder("="))
        return np.cumsum(out) if kind.kind == "i" else out

    # ---- fields of untrusted files ----

    def refuse(self, had: str) -> NoReturn:
        raise self.refusal(had)

    def refusal(self, had: str) -> errors.Error:
        return errors.FileError.explain("load", f"a file of {self.what} with {had}", f"a file that {self.maker} wrote",
                                        "save it again, or obtain it again")

    def parts(self, note: Note, name: str) -> list[Note]:
        """The objects of a list."""
        value = note._fields.get(name)
        if not isinstance(value, list) or len(value) > _MAX_ROWS or not all(isinstance(v, dict) for v in value):
            self.refuse(f"no list {name}")
        return [Note(v) for v in value]

    def integer(self, note: Note, name: str, least: int, most: int) -> int:
        value = note._fields.get(name)
        if type(value) is not int or not least <= value <= most:
            self.refuse(f"{name} that is no count")
        return value

    def integers(self, note: Note, name: str, least: int, most: int) -> tuple[int, ...]:
        value = note._fields.get(name)
        if not isinstance(value, list) or len(value) > _MAX_ROWS or not all(
                type(v) is int and least <= v <= most for v in value):
            self.refuse(f"{name} that are no counts")
        return tuple(value)

    def texts(self, note: Note, name: str) -> tuple[str, ...]:
        value = note._fields.get(name)
        if not isinstance(value, list) or len(value) > _MAX_ROWS or not all(type(v) is str for v in value):
            self.refuse(f"{name} that are no texts")
        return tuple(value)
