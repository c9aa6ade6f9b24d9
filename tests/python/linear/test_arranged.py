"""Products of batches of matrices whose values lie as rotations need them: in the clear, and encrypted with the precision
that they state."""

import math

import numpy as np
import pytest

import latticino as lt
from latticino import _native
from latticino.ckks.ciphertext import Ciphertext
from latticino.linear.arranged import FORMS, SIDES, Arrangement, arrangements, best, product


def found(limit, seeds):
    """Arrangements of random products, of all forms and numbers of ciphertexts."""
    for seed in range(seeds):
        r = np.random.default_rng(seed)
        yield from arrangements(*(int(n) for n in r.integers(1, 9, 4)), limit)


def evaluated(how, a, b):
    """The result of `product` on plain values, on the values in the slots of one image: shape (batch, r, m)."""
    held = {}
    for side, values in (("left", a), ("right", b)):
        where, index = how.places(side)
        held[side] = np.zeros(how.blocks * how.parts[side] * how.slots)
        held[side][where] = values.reshape(-1)[index]
    out = []
    for block in range(how.blocks):
        left, right = (v.reshape(how.blocks, -1, how.slots)[block] for v in held.values())
        for e in range(how.count):
            total = sum(np.roll(left[p], -s) * np.roll(right[q], -t) for (p, s), (q, t) in how.turns(e))
            step = how.terms // how.count * how.row
            out.append(sum(np.roll(total, -g * step) for g in range(how.groups)))
    where, index = how.places("result")
    result = np.zeros(how.batch * how.r * how.m)
    result[index] = np.concatenate(out)[where]
    return result.reshape(how.batch, how.r, how.m)


@pytest.mark.slow
def test_every_arrangement_gives_the_product():
    """On plain values: the values in the slots are rotated, multiplied and added up."""
    kinds, rng = set(), np.random.default_rng(1)
    for limit, seeds in ((1 << 8, 30), (1 << 10, 20), (1 << 13, 6)):
        for how in found(limit, seeds):
            a, b = (rng.normal(size=how.shape_of(side)) for side in ("left", "right"))
            np.testing.assert_allclose(evaluated(how, a, b), a @ b, atol=1e-12, err_msg=str(how))
            kinds.add((how.form, how.count > 1, how.blocks > 1, how.groups > 1))
    assert len(kinds) >= 8, kinds


def test_sides_hold_every_value_and_no_slot_two():
    for how in found(1 << 10, 30):
        for side in SIDES:
            if side == "before right" and not how.spaced:
                continue
            where, index = how.places(side)
            assert np.unique(where).size == where.size, (how, side)
            assert np.array_equal(np.unique(index), np.arange(math.prod(how.shape_of(side)))), (how, side)
            layout, entries = how.layout(side)
            assert layout.count == how.blocks * how.parts[side] and layout.slots == how.slots
            assert (entries is None) == (index.size == np.unique(index).size)


def test_the_scores_of_an_attention_lie_as_its_second_product_needs_them():
    """4 heads of 128 tokens and width 32: four ciphertexts, in between no map and no level."""
    scores, mix = best(4, 128, 32, 128, 1 << 15)[0], best(4, 128, 128, 32, 1 << 15)[1]
    assert (scores.form, mix.form) == FORMS and scores.layout("result")[0].same(mix.layout("left")[0])
    assert scores.slots == mix.slots == 1 << 15 and scores.count == mix.count == 4
    assert scores.rotations == 31 + 127 and mix.rotations == 34 + 4 * 31 + 4 * 2


@pytest.mark.parametrize("given", [
    {"form": "other"}, {"rows": 3}, {"width": 4}, {"heads": 0}, {"count": 128}, {"batch": 1 << 25}, {"rows": 1}, {"m": 64}])
def test_numbers_that_do_not_fit(given):
    numbers = {"form": "outer", "batch": 2, "r": 4, "n": 4, "m": 4, "count": 1, "rows": 4, "width": 8, "heads": 2}
    Arrangement(**numbers)
    with pytest.raises(lt.ShapeError, match="matmul: had an arrangement"):
        Arrangement(**{**numbers, **given})


def arranged(client, how, side, values, level):
    """Values encrypted in the arrangement that a side needs, of shape (images, ...)."""
    layout, index = how.layout(side)
    flat = values.reshape(how.images, -1)
    entries = flat if index is None else flat[:, index]
    size = float(np.abs(values).max()) or 1.0
    rows = [client.encrypt(row, level, range=(-size, size)) for row in layout.rows(entries.reshape(layout.shape))]
    known = _native.Known.fresh(lt.Range(-size, size, rms=float(np.sqrt((values**2).mean())) or None), rows[0]._known.error)
    return Ciphertext(rows[0].context, [part for row in rows for part in row._parts], layout, known)


PRODUCTS = [(1, 4, 5, 4, 1), (2, 8, 4, 8, 1), (2, 8, 8, 4, 1), (3, 5, 3, 6, 1), (4, 8, 4, 8, 2), (3, 9, 4, 2, 3), (1, 1, 7, 3, 1),
            (5, 2, 1, 3, 1), (1, 16, 16, 8, 1)]
VALUES = {"random": lambda rng, shape: rng.normal(size=shape), "constant": lambda rng, shape: np.full(shape, 0.7),
          "one-sided": lambda rng, shape: rng.uniform(0.5, 1, shape), "small": lambda rng, shape: 1e-3 * rng.normal(size=shape),
          "large": lambda rng, shape: 6 * rng.normal(size=shape)}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("sizes", PRODUCTS, ids=str)
def test_encrypted_products(ctx, client, rng, sizes, values):
    *shape, images = sizes
    for how in best(*shape, ctx.slots, images):
        a, b = (VALUES[values](rng, (images, *how.shape_of(side))) for side in ("left", "right"))
        want = a @ b

        def run(x, y, how=how):
            return product(x, y, how)

        x, y = arranged(client, how, "left", a, 3), arranged(client, how, "right", b, 3)
        ctx.use(client.server_keys(ctx.plan(run, x, y)))
        z = run(x, y)
        assert z.level == 2 and z.shape == want.shape
        got = client.decrypt(z).unmarked()
        error = np.sqrt(((got - want) ** 2).mean())
        claimed = z._known.error / math.sqrt(2)  # deviation of the real part
        # With k = 8 or more normal errors, their root mean square exceeds twice the deviation in fewer than 1e-6 runs.
        # Fewer results get a larger factor. All factors leave some room for what a key adds. Equal values do not make
        # errors larger.
        room = 1.5 + 8 / math.sqrt(want.size)
        assert error < room * claimed, (how, error / claimed)
        assert want.size < 64 or error > claimed / 4, (how, error / claimed)


def test_matrices_at_the_lowest_level(ctx, client, rng):
    how = best(1, 4, 4, 4, ctx.slots)[0]
    x, y = (arranged(client, how, side, rng.normal(size=(1, *how.shape_of(side))), 0) for side in ("left", "right"))
    with pytest.raises(lt.LevelError, match="level 1 or more"):
        product(x, y, how)


@pytest.mark.parametrize("form, count, blocks", [("outer", 2, 1), ("outer", 4, 2), ("inner", 2, 2), ("inner", 4, 1)])
def test_encrypted_products_in_several_ciphertexts(ctx, client, rng, form, count, blocks):
    """Results of a block in several ciphertexts, as at full size, and matrices in several blocks."""
    how = next(a for sizes in ((4, 8, 4, 8), (3, 7, 8, 4), (8, 8, 4, 8), (4, 16, 16, 8)) for a in arrangements(*sizes, ctx.slots)
               if (a.form, a.count, a.blocks) == (form, count, blocks))
    a, b = (rng.normal(size=(1, *how.shape_of(side))) for side in ("left", "right"))
    x, y = arranged(client, how, "left", a, 3), arranged(client, how, "right", b, 3)
    ctx.use(client.server_keys(ctx.plan(lambda x, y: product(x, y, how), x, y)))
    z = product(x, y, how)
    assert len(z._parts) == blocks * count and z.level == 2
    error = np.sqrt(((client.decrypt(z).unmarked() - a @ b) ** 2).mean()) * math.sqrt(2)
    assert z._known.error / 4 < error < (1.5 + 8 / math.sqrt(z.size)) * z._known.error
