"""Files that are named by their SHA-256, in a folder. A file gets its name when all its bytes are on the disk. It
replaces an older file of the same name.

Paths are text here, not `pathlib.Path`: `Path` interns each part of a path, and Python 3.12 never frees interned text.
A service that handles a new name for each job would grow by some 200 bytes per job."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from .. import errors
from .manifest import Joined, Manifest, is_hash

AREAS = ("models", "chunks", "inputs", "results")
OPERATOR = "operator"  # the name under which models are stored
_OWNER = re.compile(r"[0-9a-z]{1,32}")
_PIECE = 1 << 20  # bytes that are read at once of a file that is not needed as a whole


class Away(errors.FileError):
    """The folder of blobs does not answer, as if its disk is not mounted. No blob is lost by that."""


class Blobs:
    """Content-addressed files of several owners below a folder. Each owner has a folder of its own, so that nobody
    learns from an upload whether another owner has the same bytes.

    ``reserve``: bytes that stay free on the disk; `require_room` refuses what would take them. ``make``: the folder is
    made where it is not there. A process of a running service does not make it: if the disk is not mounted, an empty
    folder would look as if all blobs were lost.
    """

    def __init__(self, folder: str | os.PathLike[str], reserve: int = 0, make: bool = True) -> None:
        self.folder, self.reserve = Path(folder), reserve
        self._root = os.fspath(folder)
        self._held: BinaryIO | None = None
        try:
            folders = [os.path.join(self._root, name) for name in (*AREAS, "tmp")]
            if make:
                os.makedirs(self._root, mode=0o700, exist_ok=True)
                for each in folders:
                    os.makedirs(each, exist_ok=True)
            _sync(self._root)
            with self.writer(AREAS[0], OPERATOR):  # tests whether a file can be made, and removes it
                pass
            disks = {os.stat(each).st_dev for each in folders}
        except OSError as why:
            raise errors.FileError.explain("blobs", f"{folder}: {why}", "a folder on a disk with room, that can be "
                                           "written to", "make room or change its permissions, mount its disk, or "
                                           "name another one with --blobs") from why
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

    def path(self, area: str, owner: str, hash_: str) -> str:
        """The path of a blob, whether it exists or not."""
        if area not in AREAS or not _OWNER.fullmatch(owner) or not is_hash(hash_):
            raise errors.ValueError.explain("blobs", "a name that no blob has", "an area, an owner and a SHA-256",
                                            "check the name")
        return os.path.join(self._root, area, owner, hash_[:2], hash_)

    def answers(self) -> bool:
        """Whether the folder has what it had when it was opened: a disk that is not mounted leaves an empty one."""
        return all(os.path.isdir(os.path.join(self._root, area)) for area in AREAS)

    def has(self, area: str, owner: str, hash_: str) -> bool:
        """Whether a blob is there. Away if the folder does not answer."""
        if os.path.isfile(self.path(area, owner, hash_)):
            return True
        self._require_here(area)
        return False

    def read(self, area: str, owner: str, hash_: str) -> bytes:
        """All bytes of a blob, compared with its name. FileError where they differ, or where there is none; Away if the
        folder does not answer."""
        try:
            with open(self.path(area, owner, hash_), "rb") as file:
                data = file.read()
        except OSError as why:
            self._require_lost(area, why)
            raise errors.FileError.explain("blobs", f"no blob {hash_[:16]} in {area}", "one that was stored",
                                           "restore the folder of blobs from its backup") from why
        if _hash_of(data) != hash_:
            raise errors.FileError.explain("blobs", f"other bytes in {area} than {hash_[:16]} names",
                                           "those that were stored", "restore the folder of blobs from its backup")
        return data

    def intact(self, area: str, owner: str, hash_: str) -> bool:
        """Whether a blob is there and has the bytes that its name states. Away if the folder does not answer."""
        found = hashlib.sha256()
        try:
            with open(self.path(area, owner, hash_), "rb") as file:
                while piece := file.read(_PIECE):
                    found.update(piece)
        except OSError as why:
            self._require_lost(area, why)
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
        try:
            return shutil.disk_usage(self.folder).free
        except OSError as why:
            raise self._away(why) from why

    def _require_here(self, area: str) -> None:
        """Away if the folder of an area is gone."""
        try:
            os.stat(os.path.join(self._root, area))
        except OSError as why:
            raise self._away(why) from why

    def _require_lost(self, area: str, why: OSError) -> None:
        """Away unless an error of reading means that this one blob is lost."""
        if why.errno not in (errno.ENOENT, errno.EIO):
            raise self._away(why) from why
        self._require_here(area)

    def _away(self, why: OSError) -> errors.Error:
        return Away.explain("blobs", f"{self._root}, which does not answer ({why.strerror})",
                            "the folder that the service has used", "mount its disk, or make it readable")

    def discard(self, area: str, owner: str, hash_: str) -> None:
        """Removes a blob, if it is there."""
        path = self.path(area, owner, hash_)
        with self._locked(area, fcntl.LOCK_EX):
            _remove(path)

    def sweep(self, area: str, kept: Callable[[], set[tuple[str, str]]], age: float) -> int:
        """Removes blobs that are older than ``age`` seconds and that ``kept`` does not name as (owner, hash). Returns
        how many."""
        before = time.time() - age
        old = [(owner, name, path) for owner, name, path in self._all(area) if _modified(path) < before]
        if not old:
            return 0
        names, removed = kept(), 0  # read after the files were listed, so blobs that are named later are younger
        for owner, name, path in old:
            if (owner, name) in names:
                continue
            with self._locked(area, fcntl.LOCK_EX):
                if _modified(path) < before:  # nobody has stored it again in the meantime
                    _remove(path)
                    removed += 1
        return removed

    def sweep_unfinished(self, age: float) -> None:
        """Removes files of writers that were killed, after ``age`` seconds."""
        for _, path in _within(os.path.join(self._root, "tmp")):
            if _modified(path) < time.time() - age:
                _remove(path)

    def _all(self, area: str) -> Iterator[tuple[str, str, str]]:
        """The owner, the name and the path of each blob."""
        for owner, of_owner in _within(os.path.join(self._root, area)):
            for _, group in _within(of_owner):
                for name, path in _within(group):
                    yield owner, name, path

    @contextmanager
    def _locked(self, area: str, kind: int) -> Iterator[None]:
        """Holds a lock of all processes on the folder. Writers hold it together; the sweeper holds it alone."""
        handle = os.open(os.path.join(self._root, area, ".lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)

    def _place(self, area: str, owner: str, temporary: str, hash_: str) -> None:
        target = self.path(area, owner, hash_)
        folder, fresh = os.path.dirname(target), []
        if not os.path.exists(folder):  # this is rare: an owner has at most 256 folders
            fresh = [made for made in (folder, os.path.dirname(folder)) if not os.path.exists(made)]
            os.makedirs(folder, exist_ok=True)
        with self._locked(area, fcntl.LOCK_SH):
            os.replace(temporary, target)  # also if a file exists, because its bytes may have been damaged since
        _sync(folder)
        for made in fresh:
            _sync(os.path.dirname(made))


class Writer:
    """A blob that is being written. Without `commit` it is removed."""

    def __init__(self, blobs: Blobs, area: str, owner: str) -> None:
        self._blobs, self._area, self._owner = blobs, area, owner
        self._path = os.path.join(blobs._root, "tmp", secrets.token_hex(16))
        self._file = open(self._path, "xb")  # noqa: SIM115 (closed by __exit__)
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
            _remove(self._path)


def _hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _within(folder: str) -> Iterator[tuple[str, str]]:
    """The name and the path of each file and folder in a folder; nothing for one that is gone, or for a file. Names
    that begin with a dot are left out."""
    try:
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in found if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        yield name, os.path.join(folder, name)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _modified(path: str) -> float:
    """When a file was changed, in seconds since 1970. Infinite for a file that is gone, so that it never counts as old.
    """
    try:
        return os.stat(path).st_mtime
    except OSError:
        return float("inf")


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
