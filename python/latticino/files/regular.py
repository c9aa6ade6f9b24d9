"""Opens regular files only, as the readers and writers in C++ do: a pipe would make its reader wait, a device has no
end, and a rename would replace a link."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from .. import errors

_NAMES = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder",
          stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def opened(path: str | os.PathLike[str], operation: str, what: str) -> BinaryIO:
    """The file for reading. ``what``: what it should hold, for the FileError of a path that cannot be read, or that
    names something else than a regular file."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer; regular files ignore it.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        mode = os.fstat(handle).st_mode
        if stat.S_ISREG(mode):
            return os.fdopen(handle, "rb")
        os.close(handle)
        why: object = _kind(mode)
    except OSError as error:
        raise _unreadable(operation, path, error, what) from error
    raise _unreadable(operation, path, why, what)


def read(path: str | os.PathLike[str], operation: str, what: str) -> bytes:
    """All bytes of the file. FileError as of `opened`."""
    with opened(path, operation, what) as file:
        try:
            return file.read()
        except OSError as why:
            raise _unreadable(operation, path, why, what) from why


def require_replaceable(path: str | os.PathLike[str], operation: str) -> None:
    """FileError if the name exists and is not a regular file. A name that does not exist is accepted."""
    try:
        mode = Path(path).lstat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        link = stat.S_ISLNK(mode)
        raise errors.FileError.explain(
            operation, f"{path}: {_kind(mode)}", "a name that is free, or of a regular file",
            "save to the path that the link leads to, or remove it" if link else "save to another path")


def _kind(mode: int) -> str:
    return _NAMES.get(stat.S_IFMT(mode), "no regular file")


def _unreadable(operation: str, path: object, why: object, what: str) -> errors.Error:
    return errors.FileError.explain(operation, f"{path}: {why}", what, "check the path")
