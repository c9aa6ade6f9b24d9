"""Networks end to end, built by hand as lowered graphs: encrypted against the shadow, node by node."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from test_lowered import conv_entries, rng
from test_units import gate, residual, squares

import latticino as lt
from claimed import LUCK
from latticino.ckks.context import Context
from latticino.nn.builder import Builder
from latticino.nn.compiling import compiled
from latticino.nn.halves.values import unpacked
from latticino.nn.lowered import Affine, Grid, Lowered, Node, Series
from latticino.nn.placement import stand_in

BOOT = "test-n10-boot-insecure"


def silu(bound, degree=7):
    """A series near x * sigmoid(x)."""
    t = np.cos((np.arange(64) + 0.5) * np.pi / 64) * bound
    c = np.polynomial.chebyshev.chebfit(t / bound, t / (1 + np.exp(-t)), degree)
    return Series(tuple(c), (-bound, bound))


def calibrated(nodes, x, output=None):
    """The graph with bounds from data: 1.25 times the largest value."""
    graph = Lowered(tuple(nodes), len(nodes) - 1 if output is None else output)
    bounds = [1.25 * float(np.abs(v).max()) for v in graph.values(x)]
    return Lowered(tuple(Node(**{**n.__dict__, "bound": b}) for n, b in zip(graph.nodes, bounds)), graph.output)


def mlp():
    x = rng(9).uniform(-1, 1, (40, 16))
    w = [rng(k).normal(size=s) / 3 for k, s in enumerate([(12, 16), (8, 12), (3, 8)])]
    return calibrated([
        Node("x", "input", (), (16,)),
        Node("fc1", "affine", (0,), (12,), maps=(Affine.dense(w[0]),), bias=rng(4).normal(size=12) / 4),
        Node("act1", "polynomial", (1,), (12,), series=silu(8.0)),
        Node("fc2", "affine", (2,), (8,), maps=(Affine.dense(w[1]),), bias=rng(5).normal(size=8) / 4),
        Node("act2", "polynomial", (3,), (8,), series=silu(8.0)),
        Node("fc3", "affine", (4,), (3,), maps=(Affine.dense(w[2]),)),
    ], x), x


def lenet():
    """Convolutions of strides 1 and 2 on 8x8 images, a dense layer."""
    x = rng(9).uniform(0, 1, (40, 1, 8, 8))
    a = conv_entries(rng().normal(size=(4, 1, 3, 3)) / 3, 8, 8, (2, 2))
    b = conv_entries(rng(1).normal(size=(8, 4, 3, 3)) / 6, 4, 4, (2, 2))
    head = Affine.dense(rng(2).normal(size=(10, 32)) / 6)
    return calibrated([
        Node("x", "input", (), (1, 8, 8)),
        Node("conv1", "affine", (0,), (4, 4, 4), maps=(a,), bias=rng(3).normal(size=64) / 4),
        Node("square", "mul", (1, 1), (4, 4, 4)),
        Node("conv2", "affine", (2,), (8, 2, 2), maps=(b,)),
        Node("act", "polynomial", (3,), (8, 2, 2), series=silu(8.0, 3)),
        Node("fc", "affine", (4,), (10,), maps=(head,), bias=np.linspace(-1, 1, 10)),
    ], x), x


def sequence():
    """A convolution over time, and a mean."""
    x = rng(9).uniform(-1, 1, (40, 2, 1, 20))
    a = conv_entries(rng().normal(size=(3, 2, 1, 5)) / 3, 1, 20, (1, 2), (0, 2))
    b = Affine.dense(np.kron(rng(1).normal(size=(4, 3)), np.ones((1, 10)) / 10))
    return calibrated([
        Node("x", "input", (), (2, 1, 20)), Node("conv", "affine", (0,), (3, 1, 10), maps=(a,)),
        Node("act", "polynomial", (1,), (3, 1, 10), series=silu(4.0, 3)),
        Node("mean", "affine", (2,), (4,), maps=(b,)),
    ], x), x


def relu(nodes, at, size, bound):
    """x (1 + s(x)) / 2 with a rough sign of two cubics; the result's index."""
    shape = nodes[at].shape
    first = len(nodes)
    nodes += [
        Node(f"{first}.p", "polynomial", (at,), shape, series=Series((0, 1.6, 0, -0.35), (-bound, bound))),
        Node(f"{first}.q", "polynomial", (first,), shape, series=Series((0.5, 0.62, 0, -0.12), (-2.0, 2.0))),
        Node(f"{first}.y", "mul", (at, first + 1), shape)]
    return first + 2


def residual_block():
    """conv, ReLU, conv, sum with the input through a strided convolution, ReLU, dense: needs bootstrapping."""
    x = rng(9).uniform(-1, 1, (40, 2, 4, 4))
    grids = (Grid(2, 4, 4), Grid(4, 2, 2))
    short = conv_entries(rng(5).normal(size=(4, 2, 1, 1)) / 2, 4, 4, (2, 2), (0, 0))
    assert short.grids == grids
    nodes = [Node("x", "input", (), (2, 4, 4)),
             Node("conv1", "affine", (0,), (4, 2, 2),
                  maps=(conv_entries(rng(1).normal(size=(4, 2, 3, 3)) / 4, 4, 4, (2, 2)),))]
    at = relu(nodes, 1, 16, 5.0)
    nodes.append(Node("conv2", "affine", (at,), (4, 2, 2),
                      maps=(conv_entries(rng(2).normal(size=(4, 4, 3, 3)) / 4, 2, 2),), bias=np.full(16, 0.1)))
    nodes.append(Node("shortcut", "affine", (0,), (4, 2, 2), maps=(short,)))
    nodes.append(Node("sum", "add", (len(nodes) - 2, len(nodes) - 1), (4, 2, 2)))
    at = relu(nodes, len(nodes) - 1, 16, 8.0)
    nodes.append(Node("fc", "affine", (at,), (5,), maps=(Affine.dense(rng(3).normal(size=(5, 16)) / 4),)))
    return calibrated(nodes, x), x


def wide():
    """Values in several ciphertexts, bootstrapped in pairs and alone."""
    x = rng(9).uniform(-1, 1, (40, 8))
    up, down = rng(1).normal(size=(1300, 8)) / 4, rng(2).normal(size=(4, 1300)) / 100
    nodes = [Node("x", "input", (), (8,)), Node("up", "affine", (0,), (1300,), maps=(Affine.dense(up),))]
    at = relu(nodes, 1, 1300, 5.0)
    at = relu(nodes, at, 1300, 8.0)
    nodes.append(Node("down", "affine", (at,), (4,), maps=(Affine.dense(down),)))
    return calibrated(nodes, x), x


def other(make):
    graph = make()
    return graph, rng(2).uniform(-1, 1, (40, *graph.nodes[0].shape))


NETWORKS = {"mlp": mlp, "lenet": lenet, "sequence": sequence, "residual block": residual_block, "wide": wide,
            "other residual": lambda: other(residual), "squares": lambda: other(squares), "gate": lambda: other(gate)}


def world(graph, x, device, **options):
    enc = compiled(graph, x, BOOT, device, **options)
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    return enc, client


def planned_levels(enc):
    """The level of the result of each step, in a run without data."""
    machine, twin, levels = enc._machine, Context._dry(enc.context)[0], []
    first = enc._network.graph.inputs[0]

    def watch(step, y):
        levels.append(y.level)
        return y

    machine.run(enc._placement.steps, [stand_in(twin, machine.packings[first], enc.level, enc._network.graph.nodes[first].bound)],
                watch)
    return levels


def check_nodes(enc, client, x):
    """One encrypted run of the first samples: each step ends at its planned level, with the scale of that level, and the
    values of each node equal the shadow's within the bits that the plan predicts. Returns the result, and by node the
    values of all samples."""
    machine, graph, params, given = enc._machine, enc._machine.graph, enc.context.params, x[:enc.images]
    exact = enc._shadow.layers(given.reshape(enc.images, -1))
    predicted = {layer.layer: layer.bits for layer in enc.plan.layers}
    seen, levels = {}, []

    def watch(step, y):
        levels.append(y.level)
        for part in y._parts:
            assert (part.level, part.scale) == (y.level, params.scale(y.level)), step
        if step.form is None:
            seen[step.node] = unpacked(client.decrypt(y).unmarked(), enc.images).reshape(enc.images, -1)
        return y

    y = machine.run(enc._placement.steps, [enc.encrypt(client, given if enc.images > 1 else given[0])], watch)
    assert levels == planned_levels(enc)
    assert len(seen) == len(graph.nodes) - 1
    for i, values in seen.items():
        node = graph.nodes[i]
        error = np.abs(values - machine.packings[i].entries(exact[i])).mean() / node.bound
        slack = LUCK - 1 + 2 / math.sqrt(values.size)  # the mean of a few errors varies
        if node.title in predicted:
            assert -math.log2(error + 1e-300) > predicted[node.title] - slack, node.name
    return y, seen


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_node_by_node(device, name):
    """The encrypted value of each node equals the shadow's within the predicted bits; levels and scales are planned."""
    graph, x = NETWORKS[name]()
    enc, client = world(graph, x, device)
    _, seen = check_nodes(enc, client, x)
    want = graph.evaluate(x[:1])[0]
    result = seen[enc._network.graph.output] * enc.result_unit
    assert np.abs(result - want.reshape(-1)).max() < 2.0**-10 * np.abs(want).max() + 2.0**-16


@pytest.mark.slow
@pytest.mark.parametrize("name, images, filled", [
    ("mlp", 1, None), ("lenet", 1, None), ("lenet", 4, None), ("lenet", 16, None), ("lenet", 16, False), ("residual block", 2, None)])
def test_encrypted_runs(device, name, images, filled):
    graph, x = NETWORKS[name]()
    enc, client = world(graph, x, device, images=images, filled=filled)
    # A ciphertext has eight images, or sixteen with both halves of its slots. One map serves two ciphertexts.
    assert enc.plan.halves == (images == 16 and filled is None) and enc._machine.groups == (2 if filled is False else 1)
    for first in (0, images):  # recorded, then replayed
        given = x[first] if images == 1 else x[first : first + images]
        y = enc(enc.encrypt(client, given))
        want = enc.shadow(given)
        got = enc.decrypt(client, y).unmarked()
        assert got.shape == (want[0].shape if images == 1 else want.shape)
        largest = graph.nodes[graph.output].bound
        assert np.abs(got - want).mean() < 2.0 ** (LUCK - enc.plan.bits) * largest
        assert np.allclose(want, graph.evaluate(x[first : first + images]), atol=1e-9)
    assert enc.plan.program.bootstraps == sum(layer.bootstraps for layer in enc.plan.layers)
    assert set(enc.plan.program.keys) == set(enc.server_keys(client).labels)
    noisy = enc.shadow(x, noise=True) - enc.shadow(x)
    assert 0 < np.abs(noisy).mean() < 2.0 ** (LUCK - enc.plan.bits) * largest


def turned_lenet():
    """The network with values in another order before its last layer."""
    graph, x = lenet()
    order = Affine(np.arange(32), rng(4).permutation(32), np.ones(32), 32, 32)
    turned = Node("turned", "affine", (4,), (32,), maps=(order,))
    return calibrated([*graph.nodes[:5], turned, replace(graph.nodes[5], inputs=(5,))], x), x


@pytest.mark.slow
@pytest.mark.parametrize("filled", [False, True])
def test_no_ciphertext_is_without_values(device, filled):
    """A plane with gaps of 64 images has two ciphertexts with values and one without between them. Packings counted the
    empty one and runs dropped it, so the network could not be compiled."""
    graph, x = turned_lenet()
    enc, client = world(graph, x, device, images=64, filled=filled)
    for p in enc._machine.packings:
        assert np.array_equal(np.unique(p.layout.places // p.slots), np.arange(p.count))
    check_nodes(enc, client, np.resize(x, (64, *x.shape[1:])))


@pytest.mark.slow
def test_the_plan_is_the_run(device):
    """Levels, bootstrappings and keys are the run's; a table in words and in HTML."""
    graph, x = residual_block()
    enc, client = world(graph, x, device)
    assert enc.plan.bootstraps >= 1
    before = enc.context.bootstraps
    y = enc._run(enc.encrypt(client, x[0]))
    assert enc.context.bootstraps - before == enc.plan.bootstraps
    assert (y.level,) == enc.plan.program.levels
    text = repr(enc.plan)
    for layer in enc.plan.layers:
        assert layer.layer in text and layer.seconds > 0 and layer.limbs == enc.context.params.limbs(layer.level)
    assert "bootstrappings" in text and "<table" in enc.plan._repr_html_() and "ms" in repr(enc)
    assert sum(layer.seconds for layer in enc.plan.layers) == pytest.approx(enc.plan.seconds, rel=0.01)


def test_values_outside_of_the_range_name_their_layer():
    graph, x = mlp()
    enc = compiled(graph, x, BOOT, "cpu")
    with pytest.raises(lt.ValueError, match=r"layer act1: had values .* calibrate"):
        enc.shadow(40 * x)


@pytest.mark.parametrize("noise", [False, True])
def test_the_shadow_refuses_what_encrypt_refuses(noise):
    """Else the accuracy over a test set would count samples that cannot be encrypted."""
    build = Builder((4,))
    graph = build.graph(build.linear(build.input, rng(3).normal(size=(2, 4))))
    x = rng(1).uniform(-1, 1, (100, 4))
    x[0] = 1.0
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device="cpu")
    given = x[:5].copy()
    given[3, 2] = -1.25
    assert enc.shadow(given, noise).shape == (5, 2)  # an input at the bound
    given[3, 2] = -1.26
    with pytest.raises(lt.ValueError, match="shadow: had values up to 1.26 in sample 3; needs values within 1.25,"):
        enc.shadow(given, noise)
    client = lt.keygen(enc.context)
    with pytest.raises(lt.ValueError, match="encrypt: had values up to 1.26 in sample 0; needs values within 1.25,"):
        enc.encrypt(client, given[3])


@pytest.mark.parametrize("given, error", [
    (np.zeros(15), lt.ShapeError), (np.zeros((3, 16)), lt.ShapeError), (np.full(16, np.nan), lt.ValueError),
    (np.full(16, 9.0), lt.ValueError), (np.zeros(16, complex), lt.ShapeError)])
def test_samples_that_do_not_fit(given, error):
    graph, x = mlp()
    enc = compiled(graph, x, BOOT, "cpu")
    client = lt.keygen(enc.context)
    with pytest.raises(error, match="encrypt"):
        enc.encrypt(client, given)


def test_ciphertexts_that_are_no_input():
    graph, x = mlp()
    enc = compiled(graph, x, BOOT, "cpu")
    client = lt.keygen(enc.context)
    with pytest.raises(lt.ShapeError, match="encrypt with enc.encrypt"):
        enc(client.encrypt(x[0]))
    with pytest.raises(lt.Error, match="network"):
        enc(x[0])
    stranger = lt.Context(BOOT, "cpu")
    with pytest.raises(lt.ContextError, match="another context"):
        enc(lt.keygen(stranger).encrypt(x[0]))
    with pytest.raises(lt.ContextError, match="a client of"):
        enc.encrypt(lt.keygen(lt.Context("test-n10-leveled-insecure", "cpu")), x[0])


def test_networks_that_are_too_deep():
    graph, x = mlp()
    with pytest.raises(lt.LevelError, match="compile, layer .*preset with bootstrapping"):
        compiled(graph, x, "n13-d40-leveled-v1", "cpu")


@pytest.mark.slow
def test_a_preset_is_chosen():
    graph, x = mlp()
    enc = compiled(graph, x, device="cpu", bits=12)
    assert lt.preset(enc.preset).secure and not enc.plan.bootstraps and enc.plan.bits > 12
    with pytest.raises(lt.ParameterError, match="fewer bits"):
        compiled(graph, x, device="cpu", bits=60)


@pytest.mark.slow
def test_two_clients_in_threads_and_a_session(device):
    graph, x = residual_block()
    enc, first = world(graph, x, device)
    second = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(second))
    session = enc.context.bind(enc.server_keys(first))
    clients = [first, second] * 3
    given = [enc.encrypt(c, x[k]) for k, c in enumerate(clients)] + [session.adopt(enc.encrypt(first, x[6]))]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(enc, given))
    want = enc.shadow(x[:7])
    for k, (c, y) in enumerate(zip([*clients, first], answers)):
        assert np.abs(enc.decrypt(c, y).unmarked() - want[k]).mean() < 2.0 ** (LUCK - enc.plan.bits) * graph.nodes[-1].bound


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latticino.ckks.debug.SecretWarning")
def test_debugging_names_no_operation():
    """Under lt.debug every claim of a run is compared with the truth."""
    for make in (mlp, residual_block):
        graph, x = make()
        enc, client = world(graph, x, "cpu")
        with lt.debug(enc.context, client):
            got = enc.decrypt(client, enc(enc.encrypt(client, x[0]))).unmarked()
        assert np.abs(got - enc.shadow(x[0])[0]).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda x: 0 * x, lambda x: 0 * x + np.abs(x).max(), lambda x: 0 * x - 0.5])
def test_constant_inputs(make):
    graph, x = residual_block()
    enc, client = world(graph, x, "cpu")
    given = make(x[0])
    got = enc.decrypt(client, enc(enc.encrypt(client, given))).unmarked()
    assert np.abs(got - enc.shadow(given)[0]).mean() < 2.0 ** (LUCK - enc.plan.bits) * graph.nodes[-1].bound


def test_networks_are_no_pickles():
    graph, x = mlp()
    with pytest.raises(lt.UnsupportedError, match="use save"):
        pickle.dumps(compiled(graph, x, BOOT, "cpu"))


@pytest.mark.slow
def test_not_encrypted():
    """The device for debugging runs the same steps on plain values."""
    for make in (residual_block, wide, lenet):
        graph, x = make()
        enc, client = world(graph, x, "not-encrypted")
        got = np.asarray(enc.decrypt(client, enc(enc.encrypt(client, x[0]))))
        assert np.abs(got - enc.shadow(x[0])[0]).mean() < 2.0 ** (LUCK - enc.plan.bits) * graph.nodes[-1].bound


def test_compile_from_outside():
    graph, x = mlp()
    enc = lt.nn.compile(graph, x[:1], calibration=x, preset=BOOT, device="cpu", memory="1 GiB", images=2)
    assert enc.images == 2 and isinstance(enc, lt.nn.Compiled)
    assert enc.shadow(x).shape == (40, 3) and enc.shadow(x[0]).shape == (1, 3)
    options = dict(preset=BOOT, device="cpu")
    for wrong, error in [(dict(calibration=x[:, 1:]), lt.ShapeError), (dict(calibration=x * np.nan), lt.ValueError),
                         (dict(memory="many"), lt.ValueError), (dict(memory=0), lt.ValueError),
                         (dict(images=0), lt.ValueError), (dict(preset="n13"), lt.ParameterError),
                         (dict(preset=13), lt.ValueError)]:
        with pytest.raises(error):
            lt.nn.compile(graph, **{**options, **wrong})
    with pytest.raises(lt.UnsupportedError, match="compile"):
        lt.nn.compile(lambda x: x, x, **options)


def test_a_square_takes_one_level():
    """Maps and squares in turn: one level each. Encrypted results equal those of the shadow."""
    x = rng(9).uniform(-1, 1, (40, 8))
    nodes = [Node("x", "input", (), (8,))]
    for k in range(2):
        m = Affine.dense(rng(k).normal(size=(8, 8)) / 4)
        nodes += [Node(f"map{k}", "affine", (2 * k,), (8,), maps=(m,)),
                  Node(f"act{k}", "polynomial", (2 * k + 1,), (8,), series=Series((2.0, 0.0, 2.0), (-2.0, 2.0)))]
    nodes.append(Node("last", "affine", (4,), (3,), maps=(Affine.dense(rng(7).normal(size=(3, 8))),)))
    graph = calibrated(nodes, x)
    # As lowered from a model: all that a square of values within -2 to 2 may be.
    bounded = (Node(**{**n.__dict__, "bound": 4.0}) if n.series is not None else n for n in graph.nodes)
    graph = Lowered(tuple(bounded), graph.output)
    enc = compiled(graph, x[:16], BOOT, "cpu")
    assert (enc.plan.level, enc.plan.bootstraps) == (5, 0)
    assert [row.operations for row in enc.plan.layers] == ["affine", "square"] * 2 + ["affine"]
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    for one in (x[3], np.zeros(8), np.full(8, 1.0)):  # all values are equal as well
        wanted = enc.shadow(one[None])[0]
        error = np.abs(enc.decrypt(client, enc(enc.encrypt(client, one))) - wanted).max()
        assert error < 64 * 2.0**-enc.plan.bits * graph.nodes[-1].bound


def test_sums_that_nearly_cancel_stay_above_the_lowest_level():
    """By the sizes of the weights alone, values might be 10,000 times their bound, which is too large for the lowest
    level."""
    u = rng(9).uniform(-1, 1, (40, 4))
    x = np.concatenate([u, -u + 1e-4 * rng(8).uniform(-1, 1, u.shape)], axis=1)
    reach = 1e-3
    nodes = [Node("x", "input", (), (8,)),
             Node("sum", "affine", (0,), (4,), maps=(Affine.dense(np.ones((4, 8))),)),
             Node("act", "polynomial", (1,), (4,), series=Series((reach**2 / 2, 0.0, reach**2 / 2), (-reach, reach))),
             Node("last", "affine", (2,), (2,), maps=(Affine.dense(rng(7).normal(size=(2, 4)) / reach**2),))]
    graph = calibrated(nodes, x)
    enc = compiled(graph, x[:16], BOOT, "cpu")
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    wanted = enc.shadow(x[:1])[0]
    assert np.allclose(wanted, graph.evaluate(x[:1])[0], atol=1e-9 * np.abs(wanted).max())
    error = np.abs(enc.decrypt(client, enc(enc.encrypt(client, x[0]))) - wanted).max()
    assert error < 64 * 2.0**-enc.plan.bits * graph.nodes[-1].bound
