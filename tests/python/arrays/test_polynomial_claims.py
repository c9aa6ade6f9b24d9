"""What a polynomial loses outside of its domain is claimed. The claims were up to 23 bits too high there: they left out
how coefficients are rounded, and what large powers multiply."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.polynomial import Polynomial, chebyshev, polynomial

import latticino as lt

UNIT = (-1.0, 1.0)


class Case(NamedTuple):
    coefficients: list[float]
    values: tuple[float, float]
    basis: str = "monomial"
    domain: tuple[float, float] = UNIT


CASES = {
    "ages": Case([0.1, 0.01, -1e-4, 1e-6], (18, 90)),
    "ages of degree 5": Case([0.1, 0.01, -1e-4, 1e-6, -1e-9, 1e-11], (18, 90)),
    "sigmoid": Case([0.5, 0.15012, 0, -0.001593], (-8, 8)),
    "sigmoid of degree 5": Case([0.5, 0.19131, 0, -0.0045963, 0, 0.0000412332], (-8, 8)),
    "exp on 0 to 4": Case([1 / math.factorial(k) for k in range(8)], (0, 4)),
    "exp on 0 to 10": Case([1 / math.factorial(k) for k in range(8)], (0, 10)),
    "one small power": Case([0.0] * 7 + [1e-6], (8, 10)),
    "Chebyshev without its domain": Case([0.3, -0.2, 0.1, 0.05, 0.02], (-20, 20), "chebyshev"),
    "beyond a domain": Case([0.1, 0.2, -0.3, 0.1], (0, 100), "monomial", (0, 10)),
    "large coefficients": Case([1000.0, -300.0, 50.0, 700.0], (-3, 3)),
    "within its domain": Case([0.1, 0.2, -0.3, 0.1, 0.2, 0.1, -0.3, 0.2], (-1, 1)),
    # 1e-11 x^5 is far from small at 90, although its coefficient is beside the largest one.
    "a coefficient that is left out": Case([1e5, 1, 0, 0, 0, 1e-11], (18, 90)),
    "all but a constant left out": Case([1e5, 0, 0, 0, 0, 1e-11], (18, 90)),
}


def clear(case, x):
    y = (2 * x - sum(case.domain)) / (case.domain[1] - case.domain[0])
    return (chebyshev.chebval if case.basis == "chebyshev" else polynomial.polyval)(y, case.coefficients)


def evaluated(case, x):
    return x.polyval(case.coefficients, case.basis, case.domain)


@pytest.mark.parametrize("kind", ["calibrated", "declared", "complex"])
@pytest.mark.parametrize("name", CASES)
def test_polynomials_claim_what_they_lose_outside_of_their_domain(ctx, client, rng, name, kind):
    case = CASES[name]
    values, sample = rng.uniform(*case.values, (2, ctx.slots))
    known = {"like": sample} if kind == "calibrated" else {"range": case.values}
    if kind == "complex":
        values = values * np.exp(0.3j)
        most = max(map(abs, case.values))
        known = {"range": lt.Range(-most, most, (-most, most))}
    x = client.encrypt(values, **known)
    ctx.use(client.server_keys(lambda v: evaluated(case, v), x))
    y = evaluated(case, x)
    found = lt.precision(client.decrypt(y).unmarked(), clear(case, values))
    mean, worst = y.expected_bits - found.mean, y.expected_worst_bits - found.worst
    print(name, kind, f"claimed {y.expected_bits:.1f} ({y.expected_worst_bits:.1f}), measured {found}")
    assert mean < 1 and worst < 1
    if kind == "calibrated":
        assert mean > -1 and worst > -2


@pytest.mark.parametrize("name", ["ages", "exp on 0 to 10", "beyond a domain"])
def test_rounded_coefficients_of_few_values_and_their_sums_are_claimed(ctx, client, rng, name):
    """What is lost follows the values. It is the same for equal values, so sums of them do not average it."""
    case = CASES[name]
    values = np.full(ctx.slots, case.values[1])
    x = client.encrypt(values, range=case.values)

    def mean(v):
        return evaluated(case, v).mean()

    ctx.use(client.server_keys(mean, x))
    y = mean(x)
    found = lt.precision(client.decrypt(y).unmarked(), clear(case, values).mean())
    assert y.expected_bits < found.mean + 2  # one value


def test_a_plan_names_the_domain_that_keeps_more(ctx, client, rng):
    case = CASES["ages"]
    ages = rng.uniform(*case.values, ctx.slots)
    plan = ctx.plan(lambda v: evaluated(case, v), lt.Shape(ctx.slots, None, case.values))
    note = next(n for n in plan.notes if n.startswith("polyval: "))
    assert "domain=(18, 90)" in note and "numpy.polynomial.Polynomial(c).convert(domain=(18, 90)).coef" in note
    moved = Polynomial(case.coefficients).convert(domain=case.values).coef

    def remedied(v):
        return v.polyval(moved, domain=case.values)

    x = client.encrypt(ages, range=case.values)
    assert not ctx.plan(remedied, x).notes
    ctx.use(client.server_keys(remedied, x))
    y = remedied(x)
    found = lt.precision(client.decrypt(y).unmarked(), clear(case, ages))
    more = float(note.partition("about ")[2].partition(" bits")[0])
    ctx.use(client.server_keys(lambda v: evaluated(case, v), x))
    before = evaluated(case, x)
    assert more > 3 and abs(y.expected_bits - before.expected_bits - more) < 1
    assert abs(found.mean - y.expected_bits) < 3
    # Nothing is said where the domain holds the values, and where they are only assumed to lie in the unit box.
    for shape in (lt.Shape(ctx.slots, None, (-1, 1)), lt.Shape(ctx.slots)):
        assert not ctx.plan(lambda v: evaluated(case, v), shape).notes


def test_levels_whose_rescale_factor_has_more_than_64_bits():
    """A power that comes to such a level is multiplied by an integer near the factor. Its conversion to 64 bits wrapped, so
    that values were wrong by as much as their size."""
    params = lt.make_params(N=2**10, levels=[2.0**b for b in (42, 33, 42.5, 49.3, 39.6, 34.3, 49.7)], word=29, security=None)
    assert max(math.log2(params.rescale_factor(level)) for level in range(1, params.top_level + 1)) > 64
    context = lt.Context(params, threads=1)
    client, x = lt.keygen(context), np.random.default_rng(0).uniform(-0.05, 0.05, 256)
    for coefficients in ([0, 1, 1], [1, 0, 1, 1e-4, 1e-4]):
        context.use(client.server_keys(lambda a, c=coefficients: a.polyval(c, basis="chebyshev"), lt.Shape(x.shape)))
        y = client.decrypt(client.encrypt(x, like=x).polyval(coefficients, basis="chebyshev"))
        assert np.abs(np.array(y) - np.polynomial.chebyshev.chebval(x, coefficients)).max() < 2.0**-18
