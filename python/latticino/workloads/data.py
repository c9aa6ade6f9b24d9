"""Handwritten digits, 3 against 8: the task of Han et al. (AAAI 2019)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import errors
from . import inputs


class Dataset(NamedTuple):
    """Features in [0, 1] with a constant 1 in column 0; labels +1 (an 8) and -1 (a 3)."""

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def columns(self) -> int:
        """Features padded to a power of two: the columns of the packed matrix."""
        return 1 << (self.x_train.shape[1] - 1).bit_length()


def digits() -> Dataset:
    """scikit-learn's bundled 8x8 digits: 256 rows to train on, 101 to test.

    The first pixel is dark in every image, so its column is used for the constant: 64 columns in all.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as why:
        raise errors.UnsupportedError.explain(
            "demo", "no scikit-learn", "its bundled digits", errors.install("demo")) from why
    data = load_digits()
    chosen = np.isin(data.target, (3, 8))
    x = data.data[chosen] / 16.0
    y = np.where(data.target[chosen] == 8, 1.0, -1.0)
    x[:, 0] = 1.0
    order = np.random.default_rng(1).permutation(len(x))
    x, y = x[order], y[order]
    return Dataset("digits 8x8, 3 against 8", x[:256], y[:256], x[256:], y[256:])


def mnist_path() -> Path | None:
    """The path of MNIST 3 against 8, if LATTICINO_DATA names a folder that has it."""
    folder = inputs.found("helr_mnist38.npz")
    return folder / "helr_mnist38.npz" if folder else None


def _loaded(path: Path) -> list[np.ndarray]:
    """Pixels and labels, of training and test; FileError for a file without them."""
    found = inputs.read(path, ("q_train", "q_test", "y_train", "y_test"), doubles=True,
                        remedy="obtain the file again, or use --data digits")
    q_train, q_test, y_train, y_test = found.values()
    good = all(q.ndim == 2 and y.shape == q.shape[:1] and q.size and np.isfinite(q).all() and np.isin(y, (-1, 1)).all()
               for q, y in ((q_train, y_train), (q_test, y_test)))
    if not good or q_train.shape[1] != q_test.shape[1]:
        raise errors.FileError.explain(
            "demo", f"{path}, whose arrays do not belong together", "rows of pixels, and a label of 1 or -1 each",
            "obtain the file again, or use --data digits")
    return [q_train, q_test, y_train, y_test]


def mnist() -> Dataset:
    """MNIST pooled to 14x14: 11,982 rows to train on, 1,984 to test, 196 features and a constant."""
    path = mnist_path()
    if path is None:
        raise errors.FileError.explain(
            "demo", f"LATTICINO_DATA={os.environ.get('LATTICINO_DATA')!r}",
            "a folder with helr_mnist38.npz", "set it, or use --data digits")
    q_train, q_test, y_train, y_test = _loaded(path)
    most = np.maximum(q_train.max(axis=0), 1).astype(float)
    parts = [np.hstack([np.ones((len(q), 1)), q / most]) for q in (q_train, q_test)]
    order = np.random.default_rng(1).permutation(len(y_train))
    return Dataset("MNIST 14x14, 3 against 8", parts[0][order], y_train[order], parts[1], y_test)


def batches(data: Dataset, rows: int) -> list[np.ndarray]:
    """The training set as full mini-batches z = y * x, each (rows, columns) with zeros after the data."""
    z = data.y_train[:, None] * data.x_train
    z = np.pad(z, ((0, 0), (0, data.columns - z.shape[1])))
    count = len(z) // rows
    if count == 0:
        raise errors.ShapeError.explain(
            "demo", f"{len(z)} training rows", f"at least one batch of {rows}", "choose a smaller batch")
    return [np.ascontiguousarray(z[i * rows : (i + 1) * rows]) for i in range(count)]


def accuracy(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The fraction of rows on the right side of the plane."""
    return float(np.mean(np.sign(x @ weights[: x.shape[1]]) == y))
