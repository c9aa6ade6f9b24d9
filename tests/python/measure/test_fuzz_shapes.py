"""Random programs with values of several shapes: the same for a seed, with every step, right, and counted by their errors."""

import numpy as np
import pytest

import latticino as lt
from latticino.measure.fuzz import ckks_programs, shapes

STEPS = {"slice", "gather", "flip", "transpose", "reshape", "sum along", "mean along", "stack", "concatenate",
         "add broadcast", "subtract broadcast", "multiply broadcast", "times row", "plus row", "matmul of rows"}


@pytest.fixture(scope="module")
def leveled():
    return lt.Context(ckks_programs.LEVELED, "not-encrypted")


def drawn(context, seed, mode):
    return ckks_programs.drawn_program(np.random.default_rng(seed), context, mode)


@pytest.mark.parametrize("seed, mode, names", [
    (1, "eager", ["conjugate", "times number", "times integer", "plus number"]),
    (2, "numbers", ["plus scalar", "plus number", "times scalar", "plus array"]),
    (1, "shapes", ["spread_sum", "reshape", "stack", "slice", "transpose", "times array", "plus row"]),
    (2, "shapes", ["sum along (0,)", "times row", "subtract broadcast", "slice"])])
def test_a_seed_names_a_program(leveled, seed, mode, names):
    """A program that once gave a wrong result is found again by its seed."""
    first, operands, levels = drawn(leveled, seed, mode)
    again, same, _ = drawn(leveled, seed, mode)
    assert first.names == again.names == names and len(levels) == len(operands[0])
    assert all(np.array_equal(a, b) for several, others in zip(operands, same) for a, b in zip(several, others))
    assert np.array_equal(first(*operands[0], **first.numbers), again(*same[0], **again.numbers))


def test_every_step_of_shapes_is_drawn(leveled):
    names, kinds = set(), set()
    for seed in range(400):
        program, (operands, *_), _ = drawn(leveled, seed, "shapes")
        names |= {" ".join(name.split()[:2]) if " along" in name else name for name in program.names}
        result = np.asarray(program(*operands))
        kinds.add(result.ndim)
        assert 0 < program.apart <= result.size
    assert names >= STEPS and kinds >= {0, 1, 2, 3}
    plain = {name for seed in range(200) for name in drawn(leveled, seed, "eager")[0].names}
    assert not plain & STEPS


def test_programs_of_shapes_are_those_of_numpy():
    world = ckks_programs.World(ckks_programs.LEVELED, "not-encrypted", 1)
    results = [ckks_programs.run(world, seed, "declared", "shapes") for seed in range(80)]
    assert [r for r in results if r.wrong] == [] and sum(bool(r.refused) for r in results) < 8


@pytest.mark.parametrize("name", ckks_programs.CHAINS)
def test_programs_run_on_every_chain(name):
    world = ckks_programs.World(name, "cpu", 1)
    results = [ckks_programs.run(world, seed, "declared", "eager") for seed in (1, 2)]
    assert [r for r in results if r.wrong] == [] and all(name in r.program for r in results)


@pytest.mark.slow
def test_sets_of_ones_own_are_packed_and_compute():
    sets = [ckks_programs.own_set(seed) for seed in range(12)]
    assert [x.hash for x in sets] == [ckks_programs.own_set(seed).hash for seed in range(12)]  # it is found again by the seed
    assert len({x.hash for x in sets}) == 12 and {x.n for x in sets} == {1024} and not any(x.secure for x in sets)
    assert any(":" in x.canonical_text().split("\nlevels ")[1].split("\n")[0] for x in sets)  # free terminals
    assert ckks_programs.run(ckks_programs.World(sets[0], "cpu", 1), 0, "declared", "numbers").wrong == ""


def test_domains_of_polynomials_hold_all_data(monkeypatch):
    """The domain was that of one set of data. Values of another set lay at -1.25 times its end, where the polynomial is
    steep: an error was 3.1 bits larger than claimed."""
    found, evaluate = [], ckks_programs._polynomial

    def watched(x, c, basis, domain):
        found.append((np.abs(2 * x - sum(domain)) / (domain[1] - domain[0])).max())
        return evaluate(x, c, basis, domain)

    monkeypatch.setattr(ckks_programs, "_polyval_outside", lambda *_: None)  # its values are outside on purpose
    boot = lt.Context(ckks_programs.BOOTSTRAPPED, "not-encrypted")
    for seed in (397, *range(200)):
        program, several, _ = drawn(boot, seed, "recorded")
        with monkeypatch.context() as m:
            m.setattr(ckks_programs, "_polynomial", watched)
            for operands in several:
                program(*operands)
    assert len(found) > 40 and max(found) <= 1


def test_a_wrong_order_is_found(monkeypatch):
    """The fuzz notices a flip that always reverses the first axis, because it is wrong for some arrays."""
    world = ckks_programs.World(ckks_programs.LEVELED, "not-encrypted", 1)
    monkeypatch.setattr(shapes.np, "flip", lambda x, axis: np.asarray(x)[::-1] if isinstance(x, np.ndarray) else x)
    found = [ckks_programs.run(world, seed, "declared", "shapes") for seed in range(60)]
    assert any("flip" in r.program for r in found if r.wrong) and all("flip" in r.program for r in found if r.wrong)


def test_values_of_one_error_count_as_one():
    """A mean that is added to 512 values may have the largest error of all, which is then the same in all of them."""
    x = np.arange(512.0)
    d = ckks_programs.Drawing(np.random.default_rng(1), [x], [5], 5, False, "shapes")
    d.add("mean", lambda v: v[0].mean(), 1, 0, apart=1)
    d.add("add", lambda v: v[0] + v[1], 1, 0, 1)
    d.add("every second", lambda v: v[0][::2], 0, 0)
    d.add("both", lambda v: np.concatenate([v[3], v[3]]), 0, 3)
    assert d.apart == [512, 1, 1, 256, 256]
