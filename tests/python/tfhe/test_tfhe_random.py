"""Random programs on encrypted arrays against the same steps of numpy, on every device and arithmetic."""

import pytest

from conftest import DEVICES
from latticino.measure.fuzz.tfhe_programs import ANY, BITS, GATES, INTEGERS, NUMBERS, WIDTHS, Machine, World, run


@pytest.fixture(scope="module", params=["exact", "fft64"])
def arithmetic(request):
    return request.param


@pytest.fixture(scope="module", params=[*DEVICES, "not-encrypted"])
def where(request, arithmetic):
    if (request.param, arithmetic) == ("not-encrypted", "fft64"):
        pytest.skip("one arithmetic")
    return request.param, arithmetic


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
