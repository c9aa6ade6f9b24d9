"""Images and reviews for demos of networks: those of LATTICINO_DATA, or generated ones of the same shape."""

from __future__ import annotations

import contextlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import arrays, errors

CALIBRATION = 1000  # inputs of the training data that calibrate a network
GENERATED = 200  # inputs to test with if there are no real ones
# Mean and deviation of CIFAR-10's red, green and blue, from 0 to 1. The recipes normalise by these.
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
# CIFAR-10's amplitudes decrease with about this power of the frequency. With rougher images, the values of networks of
# squares grow without limit.
_SMOOTH = 1.6
_FREQUENT = 1.1  # the frequency of words decreases with this power of their rank


@dataclass(frozen=True)
class Inputs:
    """Data in the form of their files: bytes of images, or token ids.

    ``labels``: None for generated data. ``wanted``: the files of LATTICINO_DATA that they replace.
    """

    name: str
    calibration: np.ndarray
    test: np.ndarray
    labels: np.ndarray | None
    wanted: tuple[str, ...] = ()


def found(*names: str) -> Path | None:
    """The folder LATTICINO_DATA, if it has these files."""
    folder = os.environ.get("LATTICINO_DATA")
    return Path(folder) if folder and all((Path(folder) / name).exists() for name in names) else None


def read(path: Path, names: tuple[str, ...] = (), doubles: bool = False,
         remedy: str = "obtain the file again") -> dict[str, np.ndarray]:
    """Arrays of a NumPy file; all of them if no names are given. FileError if a name is missing, or if arrays are no
    numbers although ``doubles`` are required."""
    try:
        with np.load(path, allow_pickle=False) as f:
            found = {name: np.asarray(f[name]) for name in names or f.files}
        return {name: x.astype(np.float64, casting="same_kind") for name, x in found.items()} if doubles else found
    except (OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, RuntimeError, NotImplementedError,
            struct.error, zipfile.BadZipFile, zlib.error) as why:
        raise errors.FileError.explain("demo", f"{arrays.printable(str(path))}, which cannot be read "
                                       f"({type(why).__name__}: {why})",
                                       f"the arrays {', '.join(names) or 'of a network'}", remedy) from why


@contextlib.contextmanager
def wrong_arrays_as_file_errors(demo: str, needs: str, remedy: str) -> Iterator[None]:
    """Turns errors about arrays with a missing name or another shape into a FileError."""
    try:
        yield
    except errors.FileError:
        raise
    except (LookupError, TypeError, ValueError) as why:  # this includes ShapeErrors of the builder
        raise errors.FileError.explain(demo, f"arrays of another network ({type(why).__name__}: {why})", needs,
                                       remedy) from why


def images(size: int = 32) -> Inputs:
    """CIFAR-10: 1,000 images of the training set and the 1,000 of the test set, as bytes (n, 32, 32, 3)."""
    files = "cifar10_train_1.npz", "cifar10_test_1k.npz"
    folder = found(*files)
    if folder is None or size != 32:
        both = scenes(CALIBRATION + GENERATED, size)
        return Inputs(f"generated images of {size} x {size} pixels", both[:CALIBRATION], both[CALIBRATION:], None,
                      files if size == 32 else ())
    train, test = (read(folder / name, ("x", "y")) for name in files)
    for name, part in zip(files, (train, test)):
        if part["x"].ndim != 4 or part["x"].shape[1:] != (32, 32, 3) or not _labels(part["y"], len(part["x"])):
            raise errors.FileError.explain("demo", f"{name} with images of shape {part['x'].shape}",
                                           "(n, 32, 32, 3), and n labels", "obtain the file again")
    return Inputs("CIFAR-10", train["x"][:CALIBRATION], test["x"], test["y"].astype(np.int64))


def _labels(y: np.ndarray, count: int) -> bool:
    return y.shape == (count,) and y.dtype.kind in "iu"


def scenes(count: int, size: int) -> np.ndarray:
    """Random smooth images in colour, (count, size, size, 3) bytes, with brightness and contrast of CIFAR-10's."""
    r = np.random.default_rng(7)
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)) * size
    wave = np.fft.rfft2(r.normal(size=(count, 3, size, size))) / np.maximum(frequency, 1.0) ** _SMOOTH
    x = np.fft.irfft2(wave, s=(size, size))
    x = x + x.mean(axis=1, keepdims=True)  # colours are correlated
    x /= x.std(axis=(1, 2, 3), keepdims=True)
    x = x.transpose(0, 2, 3, 1) * (r.uniform(0.5, 1.3, (count, 1, 1, 1)) * DEVIATION) + MEAN
    return np.clip(np.rint(255 * x), 0, 255).astype(np.uint8)


def normalised(x: np.ndarray) -> np.ndarray:
    """Bytes (n, height, width, 3) as a network of the recipes reads them: (n, 3, height, width)."""
    return np.asarray(((x / 255.0 - MEAN) / DEVIATION).transpose(0, 3, 1, 2))


def reviews(steps: int = 200, words: int = 8192) -> Inputs:
    """IMDB: token ids of 1,000 reviews to train on and of the 2,000 to test with, (n, steps): the last of each."""
    folder = found("imdb_small.npz")
    if folder is None:
        both = texts(CALIBRATION + GENERATED, steps, words)
        return Inputs(f"generated reviews of {steps} words", both[:CALIBRATION], both[CALIBRATION:], None,
                      ("imdb_small.npz",))
    names = "x_train", "x_test", "y_test"
    train, test, labels = (read(folder / "imdb_small.npz", names)[name] for name in names)
    ids = all(part.ndim == 2 and part.dtype.kind in "iu" and part.size and part.min() >= 0 for part in (train, test))
    if not ids or test.shape[1] != train.shape[1] or train.shape[1] < steps or not _labels(labels, len(test)):
        raise errors.FileError.explain(
            "demo", f"imdb_small.npz with reviews of shapes {train.shape} and {test.shape}",
            f"(n, {steps}) or longer, of ids from 0 up, and labels", "obtain the file again")
    return Inputs("IMDB", train[:CALIBRATION, -steps:], test[:, -steps:], labels.astype(np.int64))


def looked_up(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Rows of a table of words for token ids; ids that it does not have count as unknown, which is 1."""
    return np.asarray(table[np.where(ids < len(table), ids, 1)])


def texts(count: int, steps: int, words: int) -> np.ndarray:
    """Random token ids from 2 to ``words``, frequent ones first, (count, steps); 0 before short texts."""
    r = np.random.default_rng(8)
    weight = 1 / np.arange(1, words - 1) ** _FREQUENT
    ids = r.choice(np.arange(2, words), (count, steps), p=weight / weight.sum())
    return np.asarray(np.where(np.arange(steps) >= r.integers(0, steps // 2 + 1, (count, 1)), ids, 0))
