"""Random programs on encrypted arrays against the same steps of numpy, on every device and arithmetic."""

import pytest

from conftest import DEVICES
from latticino.measure.fuzz.of_tfhe import ANY, BITS, GATES, INTEGERS, NUMBERS, WIDTHS, Machine, World, run

WORLDS = [*((d, a) for d in DEVICES for a in ("exact", "fft64")), ("not-encrypted", "exact")]


@pytest.fixture(scope="module", params=WORLDS, ids="-".join)
def where(request):
    return request.param


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_of_booleans(where, seed):
    machine = Machine(World(GATES, *where), seed)
    run(machine, [machine.fresh("bool") for _ in range(4)], BITS, 60)
    assert set(BITS) <= set(machine.done)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_of_integers(where, seed):
    machine = Machine(World(INTEGERS, *where), seed)
    pool = [machine.fresh(f"u{w}") for w in WIDTHS for _ in range(2)]
    run(machine, pool, (*BITS, *NUMBERS, *ANY), 150)
    assert {*BITS, *NUMBERS, *ANY} <= set(machine.done)
