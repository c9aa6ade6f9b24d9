"""Files that are named by their SHA-256, in a folder. A file gets its name when all its bytes are on the disk. It
replaces an older file of the same name."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from .. import errors
from .manifest import Joined, Manifest, is_hash

AREAS = ("models", "chunks", "inputs", "results")
OPERATOR = "operator"  # the name under which models are stored
_OWNER = re.compile(r"[0-9a-z]{1,32}")
_PIECE = 1 << 20  # bytes that are read at once of a file that is not needed as a whole


class Blobs:
    """Content-addressed files of several owners below a folder, which is made. Each owner has a folder of its own, so
    that nobody learns from an upload whether another owner has the same bytes.

    ``reserve``: bytes that stay free on the disk; `require_room` refuses what would take them.
    """

    def __init__(self, folder: str | os.PathLike[str], reserve: int = 0) -> None:
        self.folder, self.reserve = Path(folder), reserve
        self._held: BinaryIO | None = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in (*AREAS, "tmp"):
                (self.folder / name).mkdir(exist_ok=True)
            _sync(self.folder)
            with self.writer(AREAS[0], OPERATOR):  # tests whether a file can be made, and removes it
                pass
            disks = {(self.folder / name).stat().st_dev for name in (*AREAS, "tmp")}
        except OSError as why:
            raise errors.FileError.explain("blobs", f"{folder}: {why}", "a folder on a disk with room, that can be "
                                           "written to", "make room or change its permissions, or name another one "
                                           "with --blobs") from why
        if len(disks) > 1:  # files could not be renamed from one file system to the other
            raise errors.FileError.explain("blobs", f"{folder}, whose folders lie on {len(disks)} disks", "one disk",
                                           "move the whole folder, and name it with --blobs, in place of links in it")

    def hold(self) -> None:
        """Keeps the folder for one service, until this process ends. FileError if another one has it."""
        file = (self.folder / ".service").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as why:
            file.close()
            raise errors.FileError.explain(
                "serve", f"{self.folder}, which another service uses", "a folder that no running service has",
                "stop that service first, or pass another --folder; one service takes several models") from why
        self._held = file

    def path(self, area: str, owner: str, hash_: str) -> Path:
        """The path of a blob, whether it exists or not."""
        if area not in AREAS or not _OWNER.fullmatch(owner) or not is_hash(hash_):
            raise errors.ValueError.explain("blobs", "a name that no blob has", "an area, an owner and a SHA-256",
                                            "check the name")
        return self.folder / area / owner / hash_[:2] / hash_

    def has(self, area: str, owner: str, hash_: str) -> bool:
        return self.path(area, owner, hash_).is_file()

    def open(self, area: str, owner: str, hash_: str) -> BinaryIO:
        """The blob, opened for reading. FileError if it does not exist."""
        try:
            return self.path(area, owner, hash_).open("rb")
        except OSError as why:
            raise errors.FileError.explain("blobs", f"no blob {hash_[:16]} in {area}", "one that was stored",
                                           "restore the folder of blobs from its backup") from why

    def read(self, area: str, owner: str, hash_: str) -> bytes:
        """All bytes of a blob, compared with its name. FileError where they differ."""
        with self.open(area, owner, hash_) as file:
            data = file.read()
        if _hash_of(data) != hash_:
            raise errors.FileError.explain("blobs", f"other bytes in {area} than {hash_[:16]} names",
                                           "those that were stored", "restore the folder of blobs from its backup")
        return data

    def intact(self, area: str, owner: str, hash_: str) -> bool:
        """Whether a blob is there and has the bytes that its name states. OSError if the folder cannot be read."""
        found = hashlib.sha256()
        try:
            with self.path(area, owner, hash_).open("rb") as file:
                while piece := file.read(_PIECE):
                    found.update(piece)
        except FileNotFoundError:
            (self.folder / area).stat()  # if a disk is not mounted, no blob is lost
            return False
        return found.hexdigest() == hash_

    def joined(self, owner: str, manifest: Manifest) -> Joined:
        """All bytes of a bundle of keys, in order; each chunk is compared with its hash as it is read."""
        return Joined(self.read("chunks", owner, chunk) for chunk in manifest.chunks)

    def put(self, area: str, owner: str, data: bytes) -> str:
        """Stores bytes, and returns their SHA-256."""
        with self.writer(area, owner) as writer:
            writer.write(data)
            return writer.commit()

    def writer(self, area: str, owner: str) -> Writer:
        """A new blob, whose bytes come in pieces."""
        return Writer(self, area, owner)

    def holds(self, size: int) -> bool:
        """Whether the disk has so many bytes free, including the reserve."""
        return self._free() >= size

    def room(self) -> int:
        """Bytes that are free on the disk in addition to the reserve; negative if less than the reserve is free."""
        return self._free() - self.reserve

    def require_room(self, size: int) -> bool:
        """Whether so many bytes leave the reserve on the disk free."""
        return size <= self.room()

    def _free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def discard(self, area: str, owner: str, hash_: str) -> None:
        """Removes a blob, if it is there."""
        path = self.path(area, owner, hash_)
        with self._locked(area, fcntl.LOCK_EX):
            path.unlink(missing_ok=True)

    def sweep(self, area: str, kept: Callable[[], set[tuple[str, str]]], age: float) -> int:
        """Removes blobs that are older than ``age`` seconds and that ``kept`` does not name as (owner, hash). Returns
        how many."""
        before = time.time() - age
        old = [path for path in (self.folder / area).glob("*/??/*") if _modified(path) < before]
        if not old:
            return 0
        names, removed = kept(), 0  # read after the files were listed, so blobs that are named later are younger
        for path in old:
            if (path.parts[-3], path.name) in names:
                continue
            with self._locked(area, fcntl.LOCK_EX):
                if _modified(path) < before:  # nobody has stored it again in the meantime
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    def sweep_unfinished(self, age: float) -> None:
        """Removes files of writers that were killed, after ``age`` seconds."""
        for path in (self.folder / "tmp").glob("*"):
            if _modified(path) < time.time() - age:
                path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self, area: str, kind: int) -> Iterator[None]:
        """Holds a lock of all processes on the folder. Writers hold it together; the sweeper holds it alone."""
        handle = os.open(self.folder / area / ".lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)

    def _place(self, area: str, owner: str, temporary: Path, hash_: str) -> None:
        target = self.path(area, owner, hash_)
        folder, fresh = target.parent, []
        if not folder.exists():  # this is rare: an owner has at most 256 folders
            fresh = [made for made in (folder, folder.parent) if not made.exists()]
            folder.mkdir(parents=True, exist_ok=True)
        with self._locked(area, fcntl.LOCK_SH):
            os.replace(temporary, target)  # also if a file exists, because its bytes may have been damaged since
        _sync(folder)
        for made in fresh:
            _sync(made.parent)


class Writer:
    """A blob that is being written. Without `commit` it is removed."""

    def __init__(self, blobs: Blobs, area: str, owner: str) -> None:
        self._blobs, self._area, self._owner = blobs, area, owner
        self._path = blobs.folder / "tmp" / secrets.token_hex(16)
        self._file = self._path.open("xb")
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | bytearray) -> None:
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)

    @property
    def hash(self) -> str:
        """The SHA-256 of what was written so far."""
        return self._hash.hexdigest()

    def commit(self) -> str:
        """Puts the blob on disk under its SHA-256, which it returns."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._blobs._place(self._area, self._owner, self._path, self.hash)
        return self.hash

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self._file.close()  # writes the rest, for which the disk may have no room
        finally:
            self._path.unlink(missing_ok=True)


def _hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _modified(path: Path) -> float:
    """When a file was changed, in seconds since 1970. Infinite for a file that is gone, so that it never counts as old.
    """
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
