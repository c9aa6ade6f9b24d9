"""Runs of several images with half of them in imaginary parts: graphs, encrypted runs node by node, plans and files."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from test_compiled import BOOT, NETWORKS, calibrated, check_nodes, lenet, residual_block, wide
from test_lowered import rng
from test_network_files import opened, signed

import latticino as lt
from claimed import LUCK
from latticino.nn import files
from latticino.nn.compiling import compiled
from latticino.nn.halves import filling
from latticino.nn.halves.values import across, packed, unpacked
from latticino.nn.loading import _loaded
from latticino.nn.lowered import Affine, Node, Series
from latticino.nn.units import scaled

SQUARE = Series((0.5, 0.0, 0.5), (-1.0, 1.0))


def powers():
    """x^4 and a sum of both: squares of squares, and a square that is read by a node without weights."""
    x = rng(9).uniform(-1, 1, (40, 6))
    nodes = [Node("x", "input", (), (6,)), Node("two", "mul", (0, 0), (6,)), Node("four", "mul", (1, 1), (6,)),
             Node("sum", "add", (1, 2), (6,)), Node("last", "affine", (3,), (3,), maps=(Affine.dense(rng(1).normal(size=(3, 6))),))]
    return calibrated(nodes, x), x


def aespa():
    """Maps and squares in turn, with a shortcut: each square is read by maps alone."""
    x = rng(9).uniform(-1, 1, (40, 16))
    maps = [Affine.dense(rng(k).normal(size=(16, 16)) / 6) for k in range(6)]
    nodes = [Node("x", "input", (), (16,)), Node("a", "affine", (0,), (16,), maps=maps[:1], bias=rng(8).normal(size=16) / 4),
             Node("p", "mul", (1, 1), (16,)), Node("b", "affine", (2,), (16,), maps=maps[1:2]),
             Node("q", "mul", (3, 3), (16,)), Node("c", "affine", (4, 2), (16,), maps=maps[2:4]),
             Node("r", "mul", (5, 5), (16,)), Node("d", "affine", (6,), (16,), maps=maps[4:5]),
             Node("s", "mul", (7, 7), (16,)), Node("last", "affine", (8,), (4,), maps=(Affine.dense(rng(7).normal(size=(4, 16))),))]
    return calibrated([replace(n, maps=tuple(n.maps)) for n in nodes], x), x


def renamed():
    """A result of a polynomial in another order, which no map follows."""
    x = rng(9).uniform(-1, 1, (40, 8))
    order = Affine(np.arange(8), np.arange(8)[::-1], np.ones(8), 8, 8)
    return calibrated([Node("x", "input", (), (8,)), Node("p", "polynomial", (0,), (8,), series=Series((0, 1, 0, 0.25), (-1.0, 1.0))),
                       Node("turned", "affine", (1,), (8,), maps=(order,))], x), x


ALL = {**NETWORKS, "powers": powers, "aespa": aespa, "renamed": renamed}


def filled(make, images, device="cpu", fill=True):
    graph, x = make()
    enc = compiled(graph, x, BOOT, device, images=images, filled=fill)
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    return enc, client, x


@pytest.mark.parametrize("images", [1, 2, 3, 8, 15])
def test_values_in_both_parts(images):
    """Image k in real parts, image k + n / 2 in imaginary ones; an odd number has its last image twice."""
    x = rng().normal(size=(images, 5))
    held = packed(x, True)
    assert len(held) == across(images, True) == math.ceil(images / 2)
    assert np.array_equal(held.real, x[: len(held)]) and np.array_equal(unpacked(held, images), x)
    if images % 2:
        assert np.array_equal(held[-1].imag, x[-1])
    assert packed(x, False) is x and np.array_equal(unpacked(x, images), x)


@pytest.mark.parametrize("name", ALL)
def test_the_same_values_in_other_units(name):
    graph, x = ALL[name]()
    before = scaled(graph)
    network = filling.filled(before)
    assert filling.are_consistent(network.graph, True) and filling.are_consistent(graph, False)
    assert not filling.are_consistent(network.graph, False)
    values = network.graph.values(x / network.units[0], check=False)
    want = dict(zip((n.name for n in before.graph.nodes), before.graph.values(x / before.units[0], check=False)))
    old = dict(zip((n.name for n in before.graph.nodes), before.units))
    for node, unit, v in zip(network.graph.nodes, network.units, values):
        source = node.name.rpartition(".")[0] if node.name.rpartition(".")[2] in ("split", "double", "join", "half") else node.name
        assert np.allclose(v * unit, want[source] * old[source], rtol=1e-9, atol=1e-12), node.name
        assert np.abs(v).max() <= node.bound * (1 + 1e-9)


def test_squares_between_maps_take_no_level_more():
    """The map before a square halves its values. So splits cost no level, and the plan has the levels of runs with
    empty halves."""
    graph, x = aespa()
    network = filling.filled(scaled(graph))
    assert [n.op for n in network.graph.nodes].count("squares") == 4
    assert not any(n.name.endswith(".half") for n in network.graph.nodes)
    empty, full = (compiled(graph, x, BOOT, "cpu", images=4, filled=f) for f in (False, True))
    assert (empty.plan.level, empty.plan.bootstraps) == (full.plan.level, full.plan.bootstraps)


CASES = [("lenet", 2), ("residual block", 3), ("aespa", 8), ("powers", 2), ("squares", 3), ("gate", 8), ("lenet", 16),
         ("renamed", 3), ("residual block", 16)]


@pytest.mark.slow
@pytest.mark.parametrize("name, images", CASES)
def test_node_by_node(device, name, images):
    """The values of all images at each node are the shadow's within the predicted bits, at planned levels and scales."""
    enc, client, x = filled(ALL[name], images, device)
    given = np.resize(x, (images, *x.shape[1:]))
    y, _ = check_nodes(enc, client, given)
    got, want = enc.decrypt(client, y).unmarked(), enc.shadow(given)
    assert got.shape == want.shape
    assert np.abs(got - want).mean() < 2.0 ** (LUCK - enc.plan.bits) * enc._network.graph.nodes[-1].bound * enc.result_unit
    assert np.allclose(want, ALL[name]()[0].evaluate(given), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name, images", [("aespa", 8), ("residual block", 8), ("gate", 7)])
def test_bits_are_as_planned(name, images):
    """Measured bits of each layer are within one of the plan's, on both sides where no bootstrapping comes before."""
    enc, client, x = filled(ALL[name], images)
    some = x[: 5 * images] if len(x) >= 5 * images else x[: len(x) // images * images]
    # A few inputs with large values dominate the error of all, so one run of each says too little about its size.
    measured = enc.measured_bits(client, np.concatenate([some] * 6))
    refreshed = False
    for layer, bits in zip(enc.plan.layers, measured):
        refreshed |= layer.bootstraps > 0
        assert bits > layer.bits - 1, layer.layer
        assert refreshed or bits < layer.bits + 1, layer.layer


@pytest.mark.slow
def test_the_plan_chooses():
    """Halves are filled where real parts alone take several ciphertexts and that is predicted to be slower; the plan
    says so, counts the key of the conjugation, and a run uses its keys."""
    graph, x = aespa()
    plain, many = (compiled(graph, x, BOOT, "cpu", images=n) for n in (8, 128))
    assert not plain.plan.halves and "imaginary" not in repr(plain.plan)
    assert many.plan.halves and "half of them in imaginary parts" in repr(many.plan) and "<table" in many.plan._repr_html_()
    assert "both halves" in repr(many.plan) and "imaginary halves of slots are filled (predicted for the run: " in repr(many.plan)
    empty = compiled(graph, x, BOOT, "cpu", images=128, filled=False)
    assert many.plan.seconds < empty.plan.seconds
    conjugation = f"galois({2 * many.context.params.n - 1})"
    keys, others = ([repr(label) for label in enc.plan.program.keys] for enc in (many, empty))
    assert conjugation in keys and (many.plan.bootstraps or conjugation not in others)
    client = lt.keygen(many.context)
    many.context.use(many.server_keys(client))
    given = np.resize(x, (128, 16))
    for _ in range(2):  # recorded, then replayed
        got = many.decrypt(client, many(many.encrypt(client, given))).unmarked()
        assert np.abs(got - many.shadow(given)).mean() < 2.0 ** (LUCK - many.plan.bits) * graph.nodes[-1].bound
    assert set(many.plan.program.keys) == set(many.server_keys(client).labels)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.8, 1.0])
def test_the_plan_chooses_what_fits_the_memory(share, tmp_path):
    """Filled halves are faster here, and take more memory. The choice was made without the limit: the network was refused
    where empty halves fit."""
    graph, x = residual_block()
    empty, full = (compiled(graph, x, BOOT, "cpu", images=128, filled=f) for f in (False, True))
    assert full.plan.seconds < empty.plan.seconds and empty.plan.peak_bytes < full.plan.peak_bytes
    memory = int(empty.plan.peak_bytes + share * (full.plan.peak_bytes - empty.plan.peak_bytes))
    enc = compiled(graph, x, BOOT, "cpu", images=128, memory=memory)
    assert enc.plan.peak_bytes <= memory and enc.plan.seconds <= empty.plan.seconds
    assert enc.plan.halves == (share > 0) and bool(enc.plan.light) == (share == 0.8)
    assert ("halves of slots are empty to fit the memory (predicted for the run without a limit of memory: filled " in
            repr(enc.plan)) == (share == 0)
    with pytest.raises(lt.OutOfMemoryError, match="kept as integers"):
        compiled(graph, x, BOOT, "cpu", images=128, memory=1000)
    # Weights are kept as integers, and files contain both notes.
    less = compiled(graph, x, BOOT, "cpu", images=128, memory=empty.plan.peak_bytes - 1)
    assert less.plan.light and not less.plan.halves and "to fit the memory" in repr(less.plan)
    less.save(tmp_path)
    assert repr(lt.nn.load(tmp_path / "server.network", "cpu").plan) == repr(less.plan)


@pytest.mark.slow
def test_too_little_memory_names_the_least_that_is_enough():
    """Filled halves are slower here and take more memory, so they were tried last, and their need was stated."""
    graph, x = residual_block()
    needed = []
    for filled in (False, True, None):
        with pytest.raises(lt.OutOfMemoryError, match="kept as integers") as caught:
            compiled(graph, x, BOOT, "cpu", images=3, filled=filled, memory=1000)
        needed.append(caught.value.needed)
    assert needed[2] == needed[0] < needed[1]
    assert compiled(graph, x, BOOT, "cpu", images=3, memory=needed[2]).plan.peak_bytes <= needed[2]


def test_one_image_is_not_compared(device):
    """A single image leaves imaginary halves empty, even if it takes several ciphertexts."""
    graph, x = wide()
    enc = compiled(graph, x, BOOT, device, images=1)
    assert not enc.alone and not enc.plan.halves and not any("halves" in note for note in enc.plan.notes)


@pytest.mark.slow
@pytest.mark.parametrize("make, images", [(lenet, 4), (residual_block, 3), (wide, 2)])
def test_saved_networks_keep_them(make, images, tmp_path):
    graph, x = make()
    enc = compiled(graph, x, BOOT, "cpu", images=images, filled=True)
    enc.save(tmp_path)
    half, server = lt.nn.load(tmp_path / "client.network"), lt.nn.load(tmp_path / "server.network", "cpu")
    assert repr(server.plan) == repr(enc.plan) and server.plan.halves
    client = lt.keygen(server.context)
    server.context.use(half.server_keys(client))
    got = half.decrypt(client, server(half.encrypt(client, x[:images]))).unmarked()
    want = enc.shadow(x[:images])
    assert got.shape == want.shape and np.allclose(server.shadow(x[:images]), want)
    assert np.abs(got - want).mean() < 2.0 ** (LUCK - enc.plan.bits) * graph.nodes[graph.output].bound
    server.save(tmp_path / "again")
    for name in ("client.network", "server.network"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    whole, part = lt.load_program(tmp_path / "server.network"), lt.load_program(tmp_path / "client.network")
    assert part.inputs[0].dtype == whole.outputs[0].dtype == "complex128"
    given = part.encrypt(client, x[:images])
    assert [len(lt.to_bytes(v)) for v in given] == [part.inputs[0].bytes]
    y = whole.compute(server.context, [lt.from_bytes(lt.to_bytes(given[0]), server.context)])
    assert y.shape == whole.outputs[0].shape and len(lt.to_bytes(y)) <= whole.outputs[0].most_bytes
    assert np.abs(part.decrypt(client, y).unmarked() - want).max() < 2**-8


@pytest.mark.slow
def test_files_with_other_halves(tmp_path):
    """A file without the field, as older versions wrote it, stands for empty halves. A wrong field is refused."""
    graph, x = lenet()
    for fill in (False, True):
        compiled(graph, x, BOOT, "cpu", images=4, filled=fill).save(tmp_path)
        for name in ("client.network", "server.network"):
            head, blobs = opened(tmp_path / name)
            assert head["halves"] is fill
            old = {key: value for key, value in head.items() if key != "halves"}
            for other in ({**head, "halves": not fill}, {**head, "halves": 1}, *([old] if fill else [])):
                with pytest.raises(lt.FileError):
                    _loaded(*files.from_bytes(signed(json.loads(json.dumps(other)), blobs)), "cpu", None)
            if not fill:
                _loaded(*files.from_bytes(signed(old, blobs)), "cpu", None)


def test_graphs_with_halves_are_the_planners():
    graph = filling.filled(scaled(lenet()[0])).graph
    with pytest.raises(lt.UnsupportedError, match="compile: had a graph with splits or joins of halves"):
        compiled(graph, None, BOOT, "cpu", images=2)


def test_results_of_another_number_of_images():
    enc, client, x = filled(lenet, 3)
    with pytest.raises(lt.ShapeError, match="encrypt: had 2 samples"):
        enc.encrypt(client, x[:2])
    with pytest.raises(lt.ShapeError, match="decrypt: had an array of shape"):
        enc.decrypt(client, client.encrypt(np.zeros((3, 10))))
    with pytest.raises(lt.ValueError, match="calibrated"):
        enc.encrypt(client, 9 * x[:3])


def test_noise_of_joins():
    """The shadow's noise includes errors in imaginary parts that a join adds to the other half."""
    graph, x = renamed()
    enc = compiled(graph, x, BOOT, "cpu", images=2, filled=True)
    graph = enc._machine.graph
    by_op = {node.op: i for i, node in enumerate(graph.nodes)}
    given = np.resize(x, (256, 8))
    exact, noisy = enc._shadow.layers(given), enc._shadow.layers(given, rng(1))
    own, joined = ((noisy[by_op[op]] - exact[by_op[op]]).std() for op in ("polynomial", "join"))
    assert 1.15 < joined / own < 1.6  # sqrt(2) if all errors are complex; those before the split are not
