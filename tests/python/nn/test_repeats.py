"""Steps of a loop share ranges, and so their polynomials, units, weights and costs."""

import numpy as np
import pytest

import latticino as lt
from latticino.nn import reference
from latticino.nn.builder import Builder
from latticino.nn.compiling import compiled
from latticino.nn.maps.transforms import Transform
from latticino.nn.placement import Rates
from latticino.nn.ranges import measure
from latticino.nn.reading import read
from latticino.nn.repeats import common, groups
from latticino.nn.rewrites import simplified
from latticino.nn.run import Machine
from latticino.nn.units import scaled

WIDTH = 8


def loop(steps, function="tanh", seed=0):
    """A recurrent network that is written step by step, and inputs whose size grows with the steps."""
    r = np.random.default_rng(seed)
    build = Builder((steps, WIDTH))
    w = r.normal(size=(WIDTH, WIDTH)) / WIDTH
    h = -1
    for t in range(steps):
        x = build.reshape(build.slice(build.input, 0, t, t + 1, 1, "words"), (WIDTH,), "words")
        total = x if h < 0 else build.add(build.linear(h, w, None, "state"), x, "words")
        h = build.polynomial(total, [0, 1, 0, -4 / 27], "act") if function == "cubic" else build.activation(total, function, "act")
    graph = build.graph(build.linear(h, r.normal(size=(2, WIDTH)), None, "last"))
    return graph, r.normal(size=(40, steps, WIDTH)) * np.linspace(0.1, 0.5, steps)[:, None]


def recurrent(steps, kind="rnn", seed=0):
    r = np.random.default_rng(seed)
    build = Builder((steps, 3))
    parts = {"rnn": 1, "lstm": 4, "gru": 3}[kind]
    w = [r.normal(size=s) / 3 for s in ((parts * WIDTH, 3), (parts * WIDTH, WIDTH), (parts * WIDTH,), (parts * WIDTH,))]
    x = build.recurrent(kind, build.input, *w, reverse=False, function="tanh", layer="rnn")
    return build.graph(build.linear(build.flatten(x), r.normal(size=(2, steps * WIDTH)), None, "last")), r.normal(size=(40, steps, 3))


@pytest.mark.parametrize("function", ["tanh", "cubic"])
def test_steps_of_a_loop_are_found(function):
    graph, x = loop(7, function)
    small = simplified(graph)
    found = groups(small)
    assert sorted({small.nodes[g[0]].op for g in found}) == sorted(["linear", "add", "activation" if function == "tanh" else "polynomial"])
    assert all(len(g) == 6 for g in found)  # the first step has no state yet
    before = measure(small, x)
    after = common(small, before)
    for g in found:
        assert len({id(after.nodes[i]) for i in g}) == 1
        joined = after.nodes[g[0]]
        assert joined.low == min(before.nodes[i].low for i in g) and joined.high == max(before.nodes[i].high for i in g)
        assert (np.diff(joined.sample) >= 0).all() and joined.low <= joined.sample[0]
    inside = {i for g in found for i in g}
    assert all(after.nodes[i] is before.nodes[i] for i in range(len(small.nodes)) if i not in inside)
    assert common(small, after) == after


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_recurrent_layers_are_loops_and_keep_their_results(kind):
    graph, x = recurrent(4, kind)
    small = simplified(graph)
    assert {small.nodes[g[0]].op for g in groups(small)} >= {"linear", "activation"}
    reading = read(graph, calibration=x, bits=5)
    wanted = reference.run(graph, x)
    assert np.abs(reading.lowered.evaluate(x) - wanted).max() < 0.2 * np.abs(wanted).max()
    assert len({id(fit) for fit in reading.fits.values()}) < len(reading.fits)


def test_layers_with_weights_of_their_own_are_no_loop():
    r = np.random.default_rng(0)
    build = Builder((WIDTH,))
    x = build.input
    for _ in range(6):
        x = build.activation(build.linear(x, r.normal(size=(WIDTH, WIDTH)), None, "same name"), "relu", "act")
    assert groups(build.graph(x)) == []
    build = Builder((WIDTH,))
    w = r.normal(size=(WIDTH, WIDTH))
    x = build.linear(build.activation(build.linear(build.input, w, None, "a"), "tanh", "b"), w, None, "a")
    assert groups(build.graph(x)) == []  # a layer that occurs twice is no loop


def test_weights_and_costs_do_not_grow_with_the_steps():
    counts = []
    for steps in (6, 12):
        graph, x = loop(steps, "cubic")
        machine = Machine(scaled(read(graph, calibration=x).lowered).graph, 512)
        names = {t.name for several in machine.transforms for t in several if t.affine.nnz == WIDTH * WIDTH}
        counts.append(len(names))
        rates = Rates(machine, lt.Context._for_plans("test-n10-boot-insecure", "cpu", False))
        assert len({rates._signature(i) for i, n in enumerate(machine.graph.nodes) if n.op == "polynomial"}) == 2
    # One for the second step, whose input has a range of its own, and one for all others.
    assert counts == [2, 2]


def test_a_loop_runs_encrypted_as_its_shadow():
    graph, x = loop(6, "cubic")
    reading = read(graph, calibration=x)
    enc = compiled(reading.lowered, x[:16], "test-n10-boot-insecure", "cpu")
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    shadow = enc.shadow(x[:1])[0]
    assert np.abs(shadow - reference.run(graph, x[:1])[0]).max() < 1e-9
    error = np.abs(enc.decrypt(client, enc(enc.encrypt(client, x[0]))) - shadow).max()
    assert error < 64 * 2.0**-enc.plan.bits * np.abs(x).max() * WIDTH


def test_which_ciphertext_of_the_input_is_read_does_not_change_the_cost():
    graph, _ = loop(64, "cubic")
    reading = read(graph, calibration=loop(64, "cubic")[1])
    machine = Machine(scaled(reading.lowered).graph, 64)  # eight steps in each ciphertext
    several = [t for node in machine.transforms for t in node if t.source.count > 1]
    assert len(several) >= 64 and isinstance(several[0], Transform)
    assert len({t.signature for t in several}) <= 2 * 8
