"""Networks that end with argmax, a threshold or a sign: against the exact comparison, encrypted, saved, refused."""

import json
import warnings

import numpy as np
import pytest
from test_compiled import BOOT, check_nodes
from test_lowered import rng
from test_network_files import opened, signed

import latticino as lt
from latticino.nn import files, reference
from latticino.nn.builder import Builder, from_arrays
from latticino.nn.labels import ranks
from latticino.nn.labels.decisions import ERROR, Decision
from latticino.nn.loading import _loaded
from latticino.nn.reading import read

SIGN = Decision("sign", "float64", (4,))


def classifier(classes, width=12):
    """Random scores, and the network that gives the class."""
    b = Builder((width,))
    x = b.linear(b.input, rng(classes).normal(size=(classes, width)) / 3, rng(1).normal(size=classes) / 9, layer="fc")
    return b.graph(b.argmax(x, layer="argmax"))


def threshold(decision=None):
    b = Builder((6,))
    x = b.shift(b.linear(b.input, rng(3).normal(size=(4, 6)) / 2, layer="fc"), -0.25, layer="fc")
    return b.graph(b.positive(x, layer="above"), decision or Decision("step", "bool", (4,)))


def compared(graph, x):
    """What the last step of a network compares: scores, or values with 0."""
    node = graph.nodes[graph.output].inputs[0]
    return reference.values(graph, x)[node]


def margins(scores):
    own = np.sort(scores, axis=1)
    return own[:, -1] - own[:, -2]


def quiet(f, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lt.nn.UndecidedWarning)
        return f(*given)


@pytest.mark.parametrize("count", [3, 4, 5, 10, 33, 100, 256])
def test_polynomials_of_ranks(count):
    series, off = ranks.first(count)
    near = np.linspace(-off, off, 1001)
    assert 0 < off <= 1 / 16 and np.abs(series(near) - 1).max() <= ERROR * (1 + 1e-9)
    others = np.linspace(1 - off, count - 1 + off, 100001)
    assert np.abs(series(others)).max() <= ERROR
    matrix, offset = ranks.ranks(count)
    x = rng(count).permutation(count).astype(float)
    larger = (ranks.pairs(count) @ x > 0).astype(float)
    assert np.array_equal(matrix @ larger + offset, count - 1 - x)
    assert 2.0 ** -ranks.bits_of_pairs(count) * (count - 1) <= off * (1 + 1e-9)


@pytest.mark.parametrize("classes", [2, 3, 10, 40])
def test_labels_beyond_the_gap_are_right(classes):
    graph = classifier(classes)
    x = rng(2).normal(size=(2000, 12))
    found = read(graph, calibration=x[:1000])
    values = found.lowered.evaluate(x[1000:])
    scores = compared(graph, x[1000:])
    got, undecided = graph.decision.of(values), graph.decision.undecided(values)
    assert got.dtype == np.int64 and got.shape == (1000,) == undecided.shape
    assert np.array_equal(got[~undecided], scores.argmax(axis=1)[~undecided])
    assert not undecided[margins(scores) >= found.gap].any() and undecided.any()
    assert np.abs(values - np.eye(classes)[scores.argmax(axis=1)])[margins(scores) >= found.gap].max() < ERROR + 0.01


def test_a_gap_follows_from_the_calibration_or_the_user():
    x = rng(2).normal(size=(1000, 12))
    graph = classifier(5)
    own = margins(compared(graph, x))
    found = read(graph, calibration=x)
    bound = found.ranges.bound(next(n for n in found.graph.nodes if n.options.get("function") == "step").inputs[0])
    assert found.gap == pytest.approx(max(np.quantile(own, 0.005), bound / 1024))
    assert f"{np.mean(own < found.gap):.1%} of the results" in found.notes[0]
    wide = np.concatenate([x[own > 0.3] for _ in range(3)])
    assert read(graph, calibration=wide).gap > 0.3
    assert read(graph, calibration=x, fits={"argmax": 0.125}).gap == 0.125
    build = Builder((3,))
    stated = build.graph(build.argmax(build.input, gap=0.25, layer="argmax"))
    assert read(stated, calibration=x[:, :3]).gap == 0.25
    with pytest.raises(lt.ValueError, match="layer argmax: had comparisons by 3"):
        read(graph, calibration=x, fits={"argmax": 3})


def test_ties_are_undecided():
    """Equal scores decide nothing, and the shadow says so."""
    b = Builder((5,))
    graph = b.graph(b.argmax(b.input, layer="argmax"))
    x = rng(4).uniform(-1, 1, (300, 5))
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device="cpu", fits={"argmax": 0.125})
    ties = np.array([[0.5, 0.5, 0, 0, 0], [0.2] * 5, [0, 0.1, 0.9, 0.3, 0.9], [0.3, 0.3, 0.3, 0.3, 0.6]])
    assert enc.undecided(ties).tolist() == [True, True, True, False]
    with pytest.warns(lt.nn.UndecidedWarning, match="shadow: 3 of 4 results may be wrong, because the two largest scores"):
        assert enc.shadow(ties)[3] == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert enc.shadow(ties[3:]).tolist() == [4]


def test_thresholds_beyond_the_gap_are_right():
    x = rng(2).normal(size=(2000, 6))
    for kind, of in (("step", "bool"), ("step", "float64"), ("step", "int64"), ("sign", "float64"), ("sign", "int64")):
        graph = threshold(Decision(kind, of, (4,)))
        found = read(graph, calibration=x[:1000])
        values, exact = found.lowered.evaluate(x[1000:]), compared(graph, x[1000:])
        got, far = graph.decision.of(values), np.abs(exact) >= found.gap
        assert got.dtype == of and far.any() and not far.all()
        want = np.sign(exact) if kind == "sign" else exact > 0
        assert np.array_equal(got[far], want[far].astype(of))
        undecided = graph.decision.undecided(values)
        assert not undecided[far].any() and undecided.any()
        # What is decided is right, and signs of the rest are 0.
        assert np.array_equal(got[~undecided], want[~undecided].astype(of))
        assert kind != "sign" or not got[undecided].any()


def test_signs_of_zero_are_zero_without_a_warning():
    b = Builder((4,))
    graph = b.graph(b.positive(b.input, layer="sign"), SIGN)
    enc = lt.nn.compile(graph, calibration=rng().uniform(-1, 1, (200, 4)), preset=BOOT, device="cpu", fits={"sign": 0.125})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert enc.shadow([[0.0, 1.0, -0.5, 0.001]]).tolist() == [[0, 1, -1, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("name, images", [("argmax", 1), ("two classes", 1), ("argmax of several", 4), ("thresholds", 2), ("signs", 1)])
def test_encrypted(device, name, images):
    graph = {"argmax": lambda: classifier(5), "two classes": lambda: classifier(2), "argmax of several": lambda: classifier(4),
             "thresholds": threshold, "signs": lambda: threshold(SIGN)}[name]()
    x = rng(7).normal(size=(500, *graph.shape_in))
    layer = graph.nodes[graph.output].layer
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device=device, images=images, fits={layer: 0.25})
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    assert enc.plan.gap == 0.25 and "values that differ by 0.25 or more" in repr(enc.plan)
    decided = x[~quiet(enc.undecided, x).reshape(len(x), -1).any(axis=1)]
    check_nodes(enc, client, decided)
    given = decided[:images] if images > 1 else decided[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", lt.nn.UndecidedWarning)
        got = enc.decrypt(client, enc(enc.encrypt(client, given))).unmarked()
        want = enc.shadow(given)
    want = want if images > 1 else want[0]
    assert got.dtype == want.dtype == {"thresholds": bool, "signs": float}.get(name, np.int64)
    assert got.shape == want.shape == (() if images == 1 else (images,)) + enc.result_shape
    assert np.array_equal(got, want)
    exact = compared(graph, given.reshape(images, -1))
    assert np.array_equal(got.reshape(images, -1).squeeze(), (exact.argmax(axis=1) if "arg" in name or "two" in name else
                                                             np.sign(exact) if name == "signs" else exact > 0).squeeze())


@pytest.mark.slow
def test_encrypted_ties_are_undecided():
    b = Builder((3,))
    graph = b.graph(b.argmax(b.input, layer="argmax"))
    x = rng(4).uniform(-1, 1, (300, 3))
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device="cpu", fits={"argmax": 0.25})
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    with pytest.warns(lt.nn.UndecidedWarning, match="decrypt: 1 of 1 results may be wrong"):
        enc.decrypt(client, enc(enc.encrypt(client, [0.5, 0.5, -0.5])))


@pytest.mark.slow
def test_both_halves_of_a_saved_network_give_labels(tmp_path):
    graph, x = classifier(3), rng(7).normal(size=(300, 12))
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device="cpu", fits={"argmax": 0.25})
    enc.save(tmp_path / "net")
    half, server = lt.nn.load(tmp_path / "net" / "client.network"), lt.nn.load(tmp_path / "net" / "server.network", "cpu")
    assert server.plan.gap == 0.25 and half.result_shape == server.result_shape == () == enc.result_shape
    assert np.array_equal(quiet(server.shadow, x), quiet(enc.shadow, x)) and np.array_equal(server.undecided(x), enc.undecided(x))
    client = lt.keygen(lt.Context(half.preset, "cpu"))
    lt.save_server_keys(tmp_path / "keys", client.context, half.server_keys(client))
    server.context.use(lt.load_server_keys(tmp_path / "keys", server.context))
    result = server(lt.from_bytes(lt.to_bytes(half.encrypt(client, x[0])), server.context))
    label = half.decrypt(client, lt.from_bytes(lt.to_bytes(result), client.context)).unmarked()
    assert label.dtype == np.int64 and label == quiet(enc.shadow, x[0])[0]
    head, blobs = opened(tmp_path / "net" / "client.network")
    assert head["decision"] == {"kind": "index", "type": "int64", "shape": [], "axis": 0}
    for name, value in (("kind", "rank"), ("kind", 1), ("type", "complex128"), ("shape", [2]), ("shape", [0]), ("axis", 1), ("axis", -1)):
        wrong = {**head, "decision": {**head["decision"], name: value}}
        with pytest.raises(lt.FileError):
            _loaded(*files.from_bytes(signed(wrong, blobs)), "cpu", None)


def test_graphs_keep_what_their_results_mean():
    for graph in (classifier(4), threshold(), threshold(SIGN)):
        again = from_arrays(graph.to_arrays())
        assert again.decision == graph.decision and again.decision is not None
    assert from_arrays(read(classifier(4), calibration=np.eye(12)).model.to_arrays()).decision == classifier(4).decision
    for decision in ({"kind": "step", "type": "bool", "shape": [5], "axis": 0}, {"kind": "rank"}, 7):
        arrays = threshold().to_arrays()
        head = {**json.loads(arrays["graph"].tobytes()), "decision": decision}
        with pytest.raises(lt.FileError):
            from_arrays({**arrays, "graph": np.frombuffer(json.dumps(head).encode(), np.uint8)})
    b = Builder((4,))
    for node, decision in ((b.linear(b.input, np.eye(4), layer="fc"), Decision("step", "bool", (4,))),
                           (b.positive(b.input, layer="above"), Decision("step", "bool", (5,)))):
        with pytest.raises(lt.ShapeError, match="state what the last step decides"):
            b.graph(node, decision)
    for wrong in (("rank", "bool", (4,)), ("step", "float32", (4,)), ("step", "bool", (0,))):
        with pytest.raises(lt.ValueError, match="network: had a decision"):
            Decision(*wrong)


def test_what_is_refused():
    x = rng(1).normal(size=(100, 12))
    b = Builder((12,))
    inside = b.graph(b.linear(b.argmax(b.input, layer="which"), np.ones((2, 12)), layer="fc"))
    with pytest.raises(lt.UnsupportedError, match="layer which: had argmax inside of the network; needs it as the last step; return"):
        read(inside, calibration=x)
    for count, shape in ((1, (12, 1)), (300, (300,))):
        b = Builder(shape)
        one = b.graph(b.argmax(b.input, layer="which"))
        with pytest.raises(lt.UnsupportedError, match=f"layer which: had argmax of {count} values.*return the scores"):
            read(one, calibration=np.ones((10, *shape)))
