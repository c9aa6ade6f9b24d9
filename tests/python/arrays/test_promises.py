"""A domain, or a bound, that is narrower than the values may be. If nothing was stated about the values, the domain is
an assumption, which a plan names. If a range was declared, the domain is a mistake, after which nothing is claimed. In
the past, neither was reported."""

import math

import numpy as np
import pytest

import latticino as lt

NARROW = {
    "approximate": lambda a: (a * 8).approximate(np.exp, (-1, 1), 15),
    "sign": lambda a: a.sign(bound=0.1, gap=0.02, bits=8),
    "inverse": lambda a: (a + 1).inverse((0.5, 1.5), 10, method="iterations"),
    "apply_lut": lambda a: a.apply_lut(lambda v: v * v, bound=0.25),
    "max": lambda a: a[:4].max(bound=0.25),
}
WIDE = {
    "approximate": lambda a: (a * 8).approximate(np.exp, (-8, 8), 5),
    "sign": lambda a: a.sign(bound=1, gap=0.1, bits=8),
    "apply_lut": lambda a: a.apply_lut(lambda v: v * v, bound=1),
}


@pytest.fixture(scope="module")
def clear():
    ctx = lt.Context("test-n12-boot-insecure", "not-encrypted", auto_bootstrap=True)
    return ctx, lt.keygen(ctx)


@pytest.mark.parametrize("name", NARROW)
def test_a_plan_names_the_promise(clear, name):
    ctx, client = clear
    x = client.encrypt(np.linspace(-0.05, 0.05, 512))

    def promises(f):
        return [n for n in ctx.plan(f, x).notes if "is your promise" in n]

    note, = promises(NARROW[name])
    assert note.startswith(f"{name}: values outside of ") and "only assumed to lie from" in note
    assert name not in WIDE or promises(WIDE[name]) == []


@pytest.mark.parametrize("name", NARROW)
def test_nothing_is_claimed_after_a_warning(clear, name):
    ctx, client = clear
    x = client.encrypt(np.linspace(-0.05, 0.05, 512), range=(-1, 1))
    with pytest.raises(lt.ScaleError, match=f"^{name}: "):
        ctx.plan(NARROW[name], x)
    with pytest.warns(lt.RangeWarning, match=f"^{name}: "):
        y = NARROW[name](x)
    assert y.expected_bits < 1 and y.expected_worst_bits < 1
    assert math.isfinite(y.expected_bits)


def test_a_note_of_a_bootstrapping_says_of_which_values_its_bits_are(clear):
    ctx, client = clear
    notes = {bound: ctx.plan(lambda a: a.bootstrap(), client.encrypt(np.zeros(512), 3, range=(-bound, bound))).notes[0]
             for bound in (1, 2)}
    assert "bits are of values" not in notes[1]
    assert "these bits are of values up to 1 in size, and values here may reach 2" in notes[2]
