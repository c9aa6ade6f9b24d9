"""Weights in runs without data: they are counted like encoded ones, and their values are not computed."""

from __future__ import annotations

import numpy as np
import pytest

from latticino import _native
from latticino.ckks.context import Context

SLOTS = [256, 2048]  # in a subring, and in the whole ring
PRESET = "test-n12-boot-insecure"


def counted(made) -> dict:
    twin, _ = Context._for_plans(PRESET, "cpu", False)._dry()
    transform = made(twin._native)
    return {**twin._native.report, "bytes": transform.bytes, "rotations": sorted(transform.rotations),
            "seconds": twin._native.predicted_seconds("cuda", 1)}


def rows(count: int, slots: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(count, slots)).astype(complex)


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("distances", [[0], [0, 1, 5, 17, 40], list(range(3, 90, 3))])
def test_one_ciphertext(slots, distances):
    known = counted(lambda ctx: _native.LinearTransform(ctx, distances, rows(len(distances), slots), 3))
    assert known["operations"] > 0
    assert known == counted(lambda ctx: _native.LinearTransform.unknown(ctx, distances, slots, 3))


@pytest.mark.parametrize("slots", SLOTS)
def test_several_ciphertexts(slots):
    blocks = [(0, 0, [0, 3, 6, 40]), (0, 1, [5]), (1, 1, list(range(70)))]

    def encoded(ctx, known):
        out = _native.BlockTransform(ctx, blocks, 2, 2, slots, 3)
        for block, (_, _, distances) in enumerate(blocks):
            for first in range(0, len(distances), 30):
                some = len(distances[first : first + 30])
                if known:
                    out.encode(block, first, rows(some, slots))
                else:
                    out.encode_unknown(block, first, some)
        return out

    assert counted(lambda ctx: encoded(ctx, True)) == counted(lambda ctx: encoded(ctx, False))


def test_devices_need_the_values():
    ctx = Context(PRESET, "cpu")
    with pytest.raises(Exception, match="only dry runs do without"):
        _native.LinearTransform.unknown(ctx._native, [0, 1], 256, 3)
    transform = _native.BlockTransform(ctx._native, [(0, 0, [0, 1])], 1, 1, 256, 3)
    with pytest.raises(Exception, match="those of the block"):
        transform.encode_unknown(0, 1, 2)
    with pytest.raises(Exception, match="had -1 diagonals"):
        transform.encode_unknown(0, 0, -1)
