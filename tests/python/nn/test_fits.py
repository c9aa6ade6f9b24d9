"""Ranges of calibration data, and polynomials for activations."""

import numpy as np
import pytest

import latticino as lt
from latticino.nn import formulas, reference
from latticino.nn.activations import fit_activations
from latticino.nn.builder import Builder
from latticino.nn.ranges import measure
from latticino.nn.reading import read


def rng(seed=0):
    return np.random.default_rng(seed)


def activation(function, data, bits=10.0, choices=None, margin=1.25, **parameters):
    build = Builder(data.shape[1:])
    graph = build.graph(build.activation(0, function, "act", **parameters))
    ranges = measure(graph, data, margin)
    return fit_activations(graph, ranges, bits, choices)[1], formulas.formula("", function, parameters), ranges.bound(0)


def test_ranges_are_those_of_the_values():
    build = Builder((7,))
    graph = build.graph(build.shift(build.scale(0, 3.0), 1e6))
    data = rng().normal(size=(500, 7))
    for given in (data, [data[:100], data[100:]], [data[:250], data[250:]], iter([data[:499], data[499:]]), list(data)):
        ranges = measure(graph, given)
        y = reference.run(graph, data)
        r = ranges.nodes[graph.output]
        assert (r.low, r.high) == (y.min(), y.max()) and ranges.inputs == 500
        assert np.isclose(r.mean, y.mean()) and np.isclose(r.deviation, y.std())
        assert np.array_equal(r.sample, np.sort(r.sample)) and set(r.sample) <= set(y.reshape(-1))
        assert np.isclose(ranges.bound(graph.output), 1.25 * y.max())
    assert any("500 inputs are few" in note for note in ranges.notes)
    assert len(measure(graph, np.repeat(data, 2, axis=0)).notes) == 1


def test_samples_of_long_data_are_of_all_of_it():
    build = Builder((1000,))
    graph = build.graph(0)
    batches = [np.full((100, 1000), float(k)) for k in range(10)]
    sample = measure(graph, iter(batches)).nodes[0].sample
    shares = [np.mean(sample == k) for k in range(10)]
    assert len(sample) <= 1 << 14 and min(shares) > 0.07 and max(shares) < 0.13


def test_calibration_that_cannot_be_used():
    build = Builder((3,))
    graph = build.graph(build.activation(0, "exp", "grow"))
    with pytest.raises(lt.ValueError, match="layer grow: had NaN or infinity"), np.errstate(all="ignore"):
        measure(graph, np.full((2, 3), 1e5))
    with pytest.raises(lt.ShapeError, match="no inputs"):
        measure(graph, np.zeros((0, 3)))
    loader = [[np.ones((4, 3)), np.zeros(4)]]  # with labels
    with pytest.raises(lt.ShapeError, match=r"calibrate: had batches that are a list; .*for x, _ in loader"):
        measure(graph, iter(loader))
    for wrong in (np.ones((5, 4)), np.ones(3), np.ones((5, 3), complex), np.ones((5, 3, 1)), 7):
        with pytest.raises(lt.ShapeError, match="calibrate: had data of shape"):
            measure(graph, wrong)
    with pytest.raises(lt.ValueError, match="margin=0.5"):
        measure(graph, np.ones((1, 3)), 0.5)


@pytest.mark.parametrize("function", [f for f in formulas.FUNCTIONS if f not in ("prelu", "step", "first")])
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_errors_are_as_asked_for(function, spread):
    data = spread * rng().normal(size=(400, 8))
    if function in ("log", "sqrt", "rsqrt", "reciprocal"):
        data = spread * (0.2 + rng().random((400, 8)))
    fit, f, bound = activation(function, data)
    scale = np.abs(f(data)) if function in ("exp", "rsqrt", "reciprocal") else fit.scale
    error = np.sqrt(np.mean(((fit(data) - f(data)) / scale) ** 2))
    assert error < 1.1 * 2.0**-10 and np.isclose(fit.rms, error, rtol=0.2)
    x = np.linspace(*fit.domain, 10001)
    scale = np.abs(f(x)) if np.ndim(scale) else scale
    assert np.abs((fit(x) - f(x)) / scale).max() < 9 * 2.0**-10
    assert fit.domain[1] == bound


@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_steps_are_as_near_as_asked_for_beyond_their_gap(spread):
    data = spread * rng().normal(size=(400, 8))
    fit, f, bound = activation("step", data, gap=0.01 * spread)
    assert fit.gap == 0.01 * spread and fit.domain == (-bound, bound)
    for x in (data, np.linspace(-bound, bound, 10001), np.geomspace(fit.gap, bound, 1000), -np.geomspace(fit.gap, bound, 1000)):
        far = x[np.abs(x) >= fit.gap]
        assert np.abs(fit(far) - f(far)).max() < 2.0**-10
    near = fit(np.linspace(-fit.gap, fit.gap, 1000))
    assert -(2.0**-10) < near.min() < 0.01 and 0.99 < near.max() < 1 + 2.0**-10


@pytest.mark.parametrize("shape", [np.ones, np.zeros, lambda n: np.full(n, -3.0), lambda n: np.arange(400 * 8.0).reshape(n) / 100])
def test_constant_and_one_sided_data(shape):
    data = shape((400, 8))
    for function in ("relu", "gelu", "tanh"):
        fit, f, _ = activation(function, data, 6)
        assert np.abs(fit(data) - f(data)).max() < 8 * 2.0**-6 * fit.scale


def test_the_cheapest_is_taken():
    data = rng().normal(size=(500, 8))
    fits = {choice: activation("relu", data, 8, {"act": choice})[0] for choice in ("auto", "polynomial", "composite")}
    assert fits["auto"].cost == min(fits["polynomial"].cost, fits["composite"].cost)
    assert len(fits["polynomial"].terms[0].chain) == 1 and fits["composite"].terms[0].gated
    assert activation("abs", data, 14)[0].terms[0].gated  # a polynomial alone would need a degree over 255
    assert "levels" in repr(fits["auto"])


def test_choices_of_the_user():
    data = rng().normal(size=(300, 8))
    fit, _, _ = activation("relu", data, 8, {"act": [0.1, 0.5, 0.25]})
    assert np.allclose(fit(data), 0.1 + 0.5 * data + 0.25 * data**2)
    assert activation("silu", data, 8, {"act": 3})[0].terms[0].chain[0].degree == 3
    for choice, message in [("best", "layer act"), ([1.0], "layer act"), (0, "layer act"), ([0, np.nan], "layer act")]:
        with pytest.raises(lt.ValueError, match=message):
            activation("relu", data, 8, {"act": choice})
    with pytest.raises(lt.ValueError, match="a choice for the activation 'other'; needs one of the model's: act"):
        activation("relu", data, 8, {"other": 3})
    with pytest.raises(lt.ValueError, match=r"fits=\['act'\]; needs a dictionary by names of layers"):
        activation("silu", data, choices=["act"])
    with pytest.raises(lt.PrecisionError, match="layer act: had no composite for silu"):
        activation("silu", data, 8, {"act": "composite"})


def test_what_cannot_be_fitted_names_the_layer():
    with pytest.raises(lt.PrecisionError, match="layer act: had .* bits at degree 255 .*; ask for fewer bits"):
        activation("tanh", 1000 * rng().normal(size=(100, 8)), 12)
    with pytest.raises(lt.ValueError, match="layer act: had sqrt of values from 0; needs values above 0"):
        activation("sqrt", np.arange(800.0).reshape(100, 8), 12)
    with pytest.raises(lt.ValueError, match="bits=99"):
        activation("tanh", rng().normal(size=(100, 8)), 99)


def test_polynomials_do_not_lead_each_other_out_of_their_domains():
    """A rough reciprocal of a rough exp: ranges are those of the polynomials, not of the functions."""
    build = Builder((5,))
    graph = build.graph(build.softmax(0, 0, "soft"))
    data = 3 * rng().normal(size=(300, 5))
    reading = read(graph, calibration=data, bits=5)
    out = reading.lowered.evaluate(data)  # raises if a domain is left
    assert np.abs(out - reference.run(graph, data)).max() < 0.1


def test_data_that_can_be_read_once():
    build = Builder((5,))
    graph = build.graph(build.activation(build.linear(0, rng().normal(size=(3, 5)), layer="fc"), "tanh", "act"))
    data = rng(1).normal(size=(90, 5))
    once, whole = (read(graph, calibration=given) for given in ((x for x in (data[:50], data[50:])), data))
    assert np.array_equal(once.lowered.evaluate(data), whole.lowered.evaluate(data))
    assert np.array_equal(once.samples, data[:32]) and once.ranges.inputs == 90
    enc = lt.nn.compile(graph, calibration=(x for x in (data[:50], data[50:])), preset="test-n10-boot-insecure", device="cpu")
    assert np.allclose(enc.shadow(data), whole.lowered.evaluate(data), atol=1e-9)


def test_layers_whose_values_have_a_long_tail_are_named():
    """If sizes grow exponentially, values exceed the bound when there are more inputs; with even sizes they do not."""
    build = Builder((4,))
    graph = build.graph(build.activation(build.activation(0, "silu", "first"), "tanh", "second"))
    for data, named in ((0.02 * rng().standard_exponential((2000, 4)) ** 3, True), (rng().random((2000, 4)), False)):
        notes = " ".join(read(graph, calibration=data, bits=5).notes)
        assert ("before first, second" in notes) == ("larger margin" in notes) == named
    wide = read(graph, calibration=0.02 * rng().standard_exponential((2000, 4)) ** 3, bits=5, margin=4.0)
    assert len(wide.notes) == 1
