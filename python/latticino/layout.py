"""Where values lie in slots: rotations of vectors that do not fill them, and repetition.

A vector of n values lies in slots 0..n-1 of a ciphertext with the next power of two slots, zeros
behind; a longer one lies in several ciphertexts of N/2 slots, in order. Arrays of more dimensions
are laid out row by row. A ciphertext with fewer slots than N/2 repeats periodically.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=64)
def rotation_groups(size: int, slots: int, k: int) -> list[list[tuple[int, int, np.ndarray | None]]]:
    """How a cyclic shift of `size` values by k to the left is made of rotations of ciphertexts.

    For each resulting ciphertext: (source ciphertext, rotation, mask), the mask None where the
    source alone fills the result. Value i of the result is value (i + k) mod size of the source.
    """
    if size == slots:
        return [[(0, k % slots, None)]]
    count = -(-size // slots)
    groups = []
    for c in range(count):
        index = np.arange(c * slots, min((c + 1) * slots, size))
        source = (index + k) % size
        turn = (source % slots - index % slots) % slots
        keys = source // slots * slots + turn
        group = []
        for key in np.unique(keys):
            mask = np.zeros(slots)
            mask[index[keys == key] % slots] = 1
            whole = mask.all()
            group.append((int(key) // slots, int(key) % slots, None if whole else mask))
        groups.append(group)
    return groups


def repeats_over(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    """Whether an array of shape `inner` broadcasts over `outer` by plain repetition."""
    size = int(np.prod(inner))
    return (len(inner) <= len(outer) and tuple(outer[len(outer) - len(inner):]) == tuple(inner)
            and size & (size - 1) == 0)
