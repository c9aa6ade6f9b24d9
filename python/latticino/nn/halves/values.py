"""Two images in each slot: one in the real part, one in the imaginary part.

A ciphertext holds complex numbers. With 16 images, slot s holds ``u + i v``: u of image 0, v of image 8. Weights are
real, so an affine map computes both halves with the work of one. Functions need the halves in ciphertexts of their own:

    2 u = z + conj(z)        2 v = -i (z - conj(z))

This *split* takes one conjugation. A *join*, ``u + i v``, costs nothing. Squares and a join are one step, the sum of
two products, ``u^2 + (i v) v``, which takes one relinearisation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import _native
from ... import array_functions as joining
from ...ckks.dot import dot
from ...claims.known import Range

if TYPE_CHECKING:
    from ...ckks.ciphertext import Ciphertext


def across(images: int, filled: bool) -> int:
    """The number of images of a run that have slots of their own."""
    return -(-images // 2) if filled else images


def packed(values: np.ndarray, filled: bool) -> np.ndarray:
    """Values of shape (images, ...) in the form in which slots hold them. If the number is odd, the last image is also
    its own partner."""
    if not filled:
        return values
    each = across(len(values), True)
    return np.asarray(values[:each] + 1j * np.concatenate([values[each:], values[-1:]])[:each])


def unpacked(values: np.ndarray, images: int) -> np.ndarray:
    """The values of all images, of shape (images, ...), from what slots hold: complex numbers of two images each, or
    numbers of one."""
    both = np.concatenate([values.real, values.imag]) if values.dtype.kind == "c" else values
    return both[:images]


def as_range(bound: float, both: bool) -> _native.Range:
    """The range of values within a bound, in both halves or in real parts alone."""
    return Range(-bound, bound, (-bound, bound) if both else (0.0, 0.0))


def split(x: Ciphertext) -> Ciphertext:
    """2 u, then 2 v, along the first axis."""
    other = x.conj()
    reach = 2 * x.range.high
    return joining.concatenate([(x + other).declare(-reach, reach), ((x - other) * -1j).declare(-reach, reach)])


def joined(x: Ciphertext) -> Ciphertext:
    """u + i v from u, then v, along the first axis."""
    each = len(x) // 2
    return x[:each] + x[each:] * 1j


def squared(x: Ciphertext) -> Ciphertext:
    """u^2 + i v^2 from u, then v, along the first axis: one level."""
    u, v = x[: len(x) // 2], x[len(x) // 2 :]
    return dot([u, v], [u, v * 1j])
