"""Random programs with functions: a seed always gives the same program, every step is drawn, and results are right."""

import numpy as np
import pytest

import latticino as lt
from latticino.measure.fuzz import ckks_programs, functions, missed

STEPS = {"approximate tanh", "approximate exp", "approximate sin", "inverse", "inverse_sqrt", "sqrt", "quotient", "abs", "relu", "clip", "maximum",
         "real", "imag", "cumsum", "times variance", "diagonal map", "convolve", "to_level", "file", "encrypted matmul", "times product",
         "mean of an outer product", "times tiny", "times large integer"}


@pytest.fixture(scope="module")
def deep():
    return lt.make_params(N=2**10, levels=18, scale=2.0**40, security=None)


def drawn(context, seed, mode="functions"):
    return ckks_programs.drawn_program(np.random.default_rng(seed), context, mode)


def test_every_step_is_drawn_and_a_seed_names_a_program(deep):
    context = lt.Context(deep, "not-encrypted")
    names = set()
    for seed in range(500):
        program, several, _ = drawn(context, seed)
        names |= set(program.names)
        assert all(np.isfinite(program(*operands)).all() for operands in several)
    assert names >= STEPS and not {name for seed in range(100) for name in drawn(context, seed, "eager")[0].names} & STEPS
    again, same, _ = drawn(context, 7)
    assert again.names == drawn(context, 7)[0].names and np.array_equal(again(*same[0]), drawn(context, 7)[0](*same[0]))


@pytest.mark.slow
def test_programs_with_functions_are_right_and_claim_what_they_keep(deep):
    world, found = ckks_programs.World(deep, "cpu", 1), []
    for seed in range(12):
        found += [ckks_programs.run(world, seed, kind, "functions") for kind in ("calibrated", "declared")]
    claims = [c for r in found for c in r.claims]
    assert [r for r in found if r.wrong] == [] and len(claims) > 12 and {c.kind for c in claims} <= {"fitted", "declared"}
    assert all(c.claimed_mean - c.mean <= 3 for c in claims if c.slots >= 256)


def test_a_wrong_function_is_found(deep, monkeypatch):
    world = ckks_programs.World(deep, "not-encrypted", 1)
    monkeypatch.setattr(functions, "convolve", lambda x, w, mode: lt.convolve(x, w[::-1], mode))
    found = [ckks_programs.run(world, seed, "declared", "functions") for seed in range(40)]
    wrong = [r for r in found if r.wrong]
    assert wrong and all("convolve" in r.program for r in wrong)


def test_claims_of_fits_may_be_pessimistic_but_not_optimistic():
    def of(mean):
        return {"fitted": {"results": 10, "mean_bits": [-30.0, mean], "worst_bits": [-30.0, 0.0], "within_1_mean": 0.1, "within_2_worst": 0.1}}

    assert missed(of(2.9)) == [] and missed(of(3.1)) == ["fitted: a result lies 3.1 bits below its claim, more than 3"]
