"""The format in which a bundle of keys is uploaded: chunks that are named by their hashes, and a manifest that lists
them.

    {"size": 20000000, "chunks": ["9f86d0...", "60303a...", "fd61a0..."]}

Every chunk but the last has `CHUNK` bytes. The hash of the bundle is the SHA-256 of ``size`` as eight bytes
(little-endian) and of the chunks' hashes, 32 bytes each, in their order.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

from .. import errors

CHUNK = 8 << 20
MAX_CHUNKS = 1 << 13  # the most chunks of a bundle, which are 64 GiB
_HASH = re.compile(r"[0-9a-f]{64}")


def is_hash(text: object) -> bool:
    """Whether it is a SHA-256 in the form that the service writes: 64 lower-case hexadecimal digits."""
    return isinstance(text, str) and _HASH.fullmatch(text) is not None


def chunks_of(size: int) -> int:
    """The number of chunks of a bundle of so many bytes."""
    return -(-size // CHUNK)


@dataclass(frozen=True)
class Manifest:
    """``size`` in bytes; ``chunks``: their SHA-256 in hexadecimal."""

    size: int
    chunks: tuple[str, ...]

    @property
    def hash(self) -> str:
        """The name of the bundle."""
        return hashlib.sha256(struct.pack("<Q", self.size) + b"".join(map(bytes.fromhex, self.chunks))).hexdigest()

    def sizes(self) -> dict[str, int]:
        """The bytes of each chunk."""
        last = self.size - CHUNK * (len(self.chunks) - 1)
        return {hash_: last if i == len(self.chunks) - 1 else CHUNK for i, hash_ in enumerate(self.chunks)}

    def to_json(self) -> str:
        return json.dumps({"size": self.size, "chunks": list(self.chunks)})

    @classmethod
    def read(cls, fields: Any) -> Manifest:
        """The manifest in parsed JSON from an untrusted source; ValueError for anything else."""
        size = fields.get("size") if isinstance(fields, dict) else None
        chunks = fields.get("chunks") if isinstance(fields, dict) else None
        if type(size) is not int or not 1 <= size <= CHUNK * MAX_CHUNKS or not isinstance(chunks, list):
            _refuse("no manifest")
        if len(chunks) != chunks_of(size) or not all(map(is_hash, chunks)):
            _refuse(f"{len(chunks)} chunks for {size} bytes")
        out = cls(size, tuple(chunks))
        sizes = out.sizes()
        # Chunks of one hash cannot have two sizes.
        if len(chunks) > 1 and sizes[chunks[-1]] != CHUNK and chunks[-1] in chunks[:-1]:
            _refuse("one hash for chunks of two sizes")
        return out

    @classmethod
    def of(cls, file: BinaryIO, step: Callable[[int], None] | None = None) -> Manifest:
        """The manifest for the content of a file, which is read to its end."""
        hashes, size = [], 0
        while data := file.read(CHUNK):
            hashes.append(hashlib.sha256(data).hexdigest())
            size += len(data)
            if step is not None:
                step(len(data))
        return cls(size, tuple(hashes))


def _refuse(had: str) -> NoReturn:
    raise errors.ValueError.explain(
        "manifest", had, f'{{"size": bytes, "chunks": [SHA-256 of each {CHUNK} bytes]}}',
        "make it as docs/serving.md says")


class Joined(io.RawIOBase):
    """The chunks of a bundle as one file for reading. ``chunks`` gives the bytes of each, in their order."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._held = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            following = next(self._chunks, None)
            if following is None:
                return 0
            self._held = memoryview(following)
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count
