"""Products of two encrypted matrices in networks: kept as such or written with products of numbers, both give the model's
results; how they are arranged; encrypted against the shadow, layer by layer; files."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from test_compiled import BOOT
from test_lowered import rng

import latticino as lt
from claimed import LUCK
from latticino.common.layout import Layout
from latticino.linear.arranged import best
from latticino.nn import files, rewrites
from latticino.nn.builder import Builder
from latticino.nn.compiling import _with_products, compiled
from latticino.nn.lowered import Affine, Lowered, Node
from latticino.nn.maps.transforms import Transform, with_moves
from latticino.nn.packing import Packing, of_product, packings
from latticino.nn.products.arranging import arranged
from latticino.nn.reading import read
from latticino.nn.reference import run


def weights(k, *shape):
    return rng(k).normal(size=shape) / np.sqrt(np.prod(shape[1:]))


def heads(b, x, k, count, name):
    """(tokens, width) as (heads, tokens, each), through a layer."""
    tokens, width = b.shape(x)
    y = b.linear(x, weights(k, width, width), weights(k + 50, width, 4).sum(axis=1) / 4, layer=name)
    return b.permute(b.reshape(y, (tokens, count, width // count)), (1, 0, 2), name)


def encoder(tokens=8, width=8, count=2, layers=1, behind=True):
    """The network of examples/networks/transformer.py: squares of shifted scores in place of softmax. ``behind``: with
    linear layers after each attention."""
    b = Builder((tokens, width))
    x = b.input
    for n in range(layers):
        q, k, v = (heads(b, x, 10 * n + i, count, f"{n}.{name}") for i, name in enumerate(["query", "key", "value"]))
        s = b.scale(b.matmul(q, b.permute(k, (0, 2, 1)), f"{n}.scores"), 1 / np.sqrt(width / count), f"{n}.scores")
        s = b.shift(s, np.linspace(0.8, 1.2, count).reshape(count, 1, 1), f"{n}.shift")
        s = b.scale(b.mul(s, s, f"{n}.square"), 1 / tokens, f"{n}.square")
        mixed = b.reshape(b.permute(b.matmul(s, v, f"{n}.mix"), (1, 0, 2)), (tokens, width))
        x = b.add(x, b.linear(mixed, weights(10 * n + 3, width, width), layer=f"{n}.out"), f"{n}.add")
        if not behind:
            continue
        y = b.linear(x, weights(10 * n + 4, 2 * width, width), layer=f"{n}.first")
        y = b.add(b.scale(b.mul(y, y, f"{n}.act"), 0.25, f"{n}.act"), b.scale(y, 0.5, f"{n}.act"), f"{n}.act")
        x = b.add(x, b.linear(y, weights(10 * n + 5, width, 2 * width), layer=f"{n}.second"), f"{n}.more")
    return b.graph(b.mean(b.linear(x, weights(9, 3, width), layer="last"), (0,)))


def crossed():
    """Scores of 5 queries of 7 keys. The 3 heads of width 2 are not used as such, but multiplied with a constant."""
    b = Builder((12, 6))
    q = heads(b, b.slice(b.input, 0, 0, 5), 0, 3, "query")
    k, v = (heads(b, b.slice(b.input, 0, 5, 12), i, 3, "key" if i == 1 else "value") for i in (1, 2))
    s = b.scale(b.matmul(q, b.permute(k, (0, 2, 1)), "scores"), rng(3).uniform(0.5, 1, (3, 5, 7)), "mask")
    return b.graph(b.matmul(s, v, "mix"))


def gram():
    """x x^T, twice the same value, and as the result."""
    b = Builder((6, 4))
    return b.graph(b.matmul(b.input, b.permute(b.input, (1, 0)), "gram"))


def power():
    """A matrix times itself, with weights between: three products, of one head."""
    b = Builder((4, 4))
    x = b.linear(b.input, weights(0, 4, 4), weights(1, 4), layer="fc")
    y = b.matmul(x, x, "square")
    return b.graph(b.matmul(b.matmul(y, x, "cube"), b.linear(y, weights(2, 4, 4), layer="fc2"), "more"))


def attention(mask=None):
    """Attention with softmax."""
    b = Builder((6, 8))
    q, k, v = (heads(b, b.input, i, 2, name) for i, name in enumerate(["query", "key", "value"]))
    return b.graph(b.attention(q, k, v, mask=mask, layer="attention"))


MODELS = {"encoder": encoder, "two layers": lambda: encoder(8, 8, 2, 2), "odd sizes": lambda: encoder(5, 6, 3), "crossed": crossed,
          "gram": gram, "power": power, "one head": lambda: encoder(8, 4, 1), "softmax": attention,
          "several ciphertexts": lambda: encoder(16, 16, 4), "several blocks": lambda: encoder(12, 24, 3),
          "mask": lambda: attention(np.where(np.tril(np.ones((6, 6))) > 0, 0.0, -1e9))}
DEEP = ("softmax", "mask")  # their polynomials only approximate, and need a preset with many levels


def data(graph, count=60):
    return rng(7).uniform(-1, 1, (count, *graph.shape_in))


def units(enc, x):
    return float(np.abs(enc.shadow(x)).max())


@pytest.mark.parametrize("name", MODELS)
def test_both_forms_are_the_model(name):
    graph = MODELS[name]()
    x = data(graph, 200)
    want = run(graph, x)
    for form in ("matmul", "elementwise"):
        reading = read(graph, calibration=x, form=form)
        assert ("matmul" in [n.op for n in reading.lowered.nodes]) == (form == "matmul")
        near = 0.02 if name in DEEP else 1e-9
        assert np.abs(reading.lowered.evaluate(x) - want).max() < near * np.abs(want).max()


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_arranged_graphs_compute_the_same(name, images):
    """The maps that bring factors to their places change no value, and each product finds its factors there."""
    from latticino.nn.run import Machine

    graph = MODELS[name]()
    x = data(graph, 20)
    lowered = read(graph, calibration=x, form="matmul").lowered
    made = with_moves(arranged(lowered, 1 << 12, images), 1 << 12, images)
    assert np.abs(made.evaluate(x) - lowered.evaluate(x)).max() < 1e-9
    machine = Machine(made, 1 << 12, images)
    assert machine.consistent and all(made.nodes[i].packed for i in made.products)
    assert len(packings(made, 1 << 12, images)) == len(made.nodes)


@pytest.mark.slow
def test_scores_need_no_map_before_the_next_product():
    """At full size the square of the scores is used where it is. Queries come from their own map, and the others from
    two maps."""
    b = Builder((128, 128))
    q, k, v = (heads(b, b.input, i, 4, name) for i, name in enumerate(["query", "key", "value"]))
    s = b.matmul(q, b.permute(k, (0, 2, 1)), "scores")
    graph = b.graph(b.matmul(b.mul(s, s, "square"), v, "mix"))
    lowered = read(graph, calibration=rng().normal(size=(2, 128, 128)), form="matmul").lowered
    made = arranged(lowered, 1 << 15)
    packed = [(n.name, n.packed and n.packed[1]) for n in made.nodes if n.layer in ("query", "key", "value", "scores", "square",
                                                                                    "mix")]
    assert packed == [("query", "left"), ("key", "before right"), ("scores.right", "right"), ("scores", "result"),
                      ("square", None), ("value", "before right"), ("mix.right", "right"), ("mix", "result")]


@pytest.mark.slow
@pytest.mark.parametrize("name, images", [(name, 1) for name in MODELS if name not in DEEP] + [
    ("encoder", 2), ("crossed", 3), ("softmax", 1)])
def test_encrypted_runs(device, name, images):
    """Both forms give the shadow's results; bits are those of the plan."""
    graph = MODELS[name]()
    x = data(graph, 200)
    fits = {"attention": 6} if name in DEEP else None
    for form in rewrites.FORMS if images == 1 and rewrites.multiplies(graph) <= 1024 else ("matmul",):
        reading = read(graph, calibration=x, form=form, fits=fits, bits=6 if fits else 12)
        enc = compiled(reading.lowered, reading.samples, BOOT, device, images=images)
        client = lt.keygen(enc.context)
        keys = enc.server_keys(client)
        enc.context.use(keys)
        assert set(enc.plan.program.keys) == set(keys.labels)
        given = x[0] if images == 1 else x[:images]
        got = enc.decrypt(client, enc(enc.encrypt(client, given))).unmarked()
        want = enc.shadow(given)
        assert got.shape == (want[0].shape if images == 1 else want.shape)
        allowed = 2.0 ** (LUCK - enc.plan.bits) * reading.lowered.nodes[reading.lowered.output].bound
        assert np.abs(got - want).mean() < allowed
        # In the other form there are no products of matrices to measure.
        if form == "elementwise" and name not in ("encoder", "crossed"):
            continue
        # What the network holds on the way; a bootstrapping is predicted with up to a bit less than it gives. Errors depend on
        # the key (those of squares by half a bit), so that one key may give a layer up to two bits less.
        below = [layer.bits - bits for layer, bits in zip(enc.plan.layers, enc.measured_bits(client, x[:12]))]
        assert max(below) < 2 and np.mean(below) < 1, (form, below)


FLAT = {"crossed": crossed, "gram": gram, "attention": lambda: encoder(8, 8, 2, 1, False),
        "several ciphertexts": lambda: encoder(16, 16, 4, 1, False)}


@pytest.mark.slow
@pytest.mark.parametrize("name", FLAT)
def test_predicted_bits_are_the_measured_ones(name, device):
    """In networks without bootstrappings both differ by at most one bit in each layer. Each of 24 encryptions has new errors. A
    layer of 30 values gives 720 of them: a mean of half or twice the expected size would be more than ten standard deviations
    away. A result of 3 values gives 72, and all contain the error of the same few rounded weights: there two bits are allowed."""
    graph = FLAT[name]()
    x = data(graph, 400)
    reading = read(graph, calibration=x, form="matmul")
    enc = compiled(reading.lowered, reading.samples, "test-n10-leveled-insecure", device)
    assert not enc.plan.bootstraps
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    few = enc._network.graph.nodes[enc._network.graph.output].size < 36
    for layer, bits in zip(enc.plan.layers, enc.measured_bits(client, x[:24])):
        assert abs(bits - layer.bits) < 1 + (few and layer is enc.plan.layers[-1]), (layer.layer, layer.bits, bits)


@pytest.fixture(scope="module")
def of_all_kinds():
    """An encoder for values from -1 to 1, with keys; and an input."""
    graph = encoder()
    x = data(graph, 200)
    enc = lt.nn.compile(graph, calibration=np.concatenate([x, np.ones((1, 8, 8)), -np.ones((1, 8, 8))]), preset=BOOT, device="cpu")
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    return graph, enc, client, x[0]


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda x: 0 * x, lambda x: 0 * x + 1, lambda x: np.abs(x), lambda x: 0.01 * x])
def test_inputs_of_other_kinds(of_all_kinds, make):
    """Zeros, constants, one-sided and small values: no less precise than the plan says, which is relative to the bounds."""
    graph, enc, client, x = of_all_kinds
    given = make(x)
    assert np.abs(enc.shadow(given)[0] - run(graph, given[None])[0]).max() < 1e-9
    for layer, bits in zip(enc.plan.layers, enc.measured_bits(client, np.stack([given] * 2))):
        assert bits > layer.bits - 2.5, (layer.layer, layer.bits, bits)


@pytest.mark.slow
def test_the_faster_form_is_chosen():
    for tokens, width, count in ((4, 4, 2), (16, 16, 2)):
        graph = encoder(tokens, width, count)
        x = data(graph)
        enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device="cpu")
        alone = {}
        for form in ("matmul", "elementwise"):
            reading = read(graph, calibration=x, form=form)
            alone[form] = compiled(reading.lowered, reading.samples, BOOT, "cpu").plan.seconds
        assert enc.plan.seconds == pytest.approx(min(alone.values()), rel=1e-6)
        words = "as such" if min(alone, key=alone.get) == "matmul" else "as products of numbers"
        assert any(note.startswith(f"products of encrypted matrices are computed {words}") for note in enc.plan.notes)


def test_maps_to_the_same_slots_of_other_values_have_other_names():
    """Encoded weights are stored by their names."""
    how = best(1, 4, 4, 4, 1 << 10)[0]
    node = Node("x", "affine", (0,), (1, 4, 4), maps=(Affine.identity(16),))
    source, target = Packing(Layout.plain((1, 16), 16)), of_product(node, how, "right", 1)
    other = replace(target, index=target.index[::-1])
    assert Transform(node.maps[0], source, target).name != Transform(node.maps[0], source, other).name


def test_products_of_numbers_are_counted():
    """Large products of numbers are only tried if a product of matrices is not possible."""
    counts = {name: rewrites.multiplies(MODELS[name]()) for name in MODELS}
    assert counts["encoder"] == 2 * 8 * 8 * 4 and counts["odd sizes"] == 3 * 5 * 5 * 2 and counts["power"] == 64
    assert counts["crossed"] == 3 * 5 * 7 * 2 and counts["softmax"] == counts["mask"] == 2 * 6 * 6 * 4
    assert not rewrites.multiplies(Builder((3,)).graph(0))
    tried = []

    def make(form, refused=()):
        tried.append(form)
        if form in refused:
            raise lt.UnsupportedError(f"{form} is refused")
        return SimpleNamespace(plan=SimpleNamespace(seconds=float(len(tried)), peak_bytes=1))

    _with_products(make, 1 << 20)
    assert tried == ["matmul"]
    _, (note,) = _with_products(partial(make, refused=("matmul",)), 1 << 20)
    assert tried[1:] == ["matmul", "elementwise"] and "as products of numbers" in note
    tried.clear()
    assert _with_products(make, 100)[0].plan.seconds == 1 and tried == ["matmul", "elementwise"]
    with pytest.raises(lt.UnsupportedError, match="matmul is refused"):
        _with_products(partial(make, refused=rewrites.FORMS), 1 << 20)


def running(graph, device):
    """Compiled with products of matrices, with keys; and an input."""
    x = data(graph)
    reading = read(graph, calibration=x, form="matmul")
    enc = compiled(reading.lowered, reading.samples, BOOT, device)
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    return enc, client, x[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latticino.ckks.debug.SecretWarning")
def test_debugging_names_no_operation():
    enc, client, x = running(crossed(), "cpu")
    with lt.debug(enc.context, client):
        got = enc.decrypt(client, enc(enc.encrypt(client, x))).unmarked()
    assert np.abs(got - enc.shadow(x)[0]).max() < 1e-3


def test_not_encrypted():
    enc, client, x = running(encoder(), "not-encrypted")
    got = np.asarray(enc.decrypt(client, enc(enc.encrypt(client, x))))
    assert np.abs(got - enc.shadow(x)[0]).max() < 1e-4


@pytest.mark.slow
def test_files(tmp_path):
    """Both halves have files. Written again they are the same. Arrangements that do not exist are refused."""
    graph = encoder(5, 6, 3)
    x = data(graph)
    reading = read(graph, calibration=x, form="matmul")
    enc = compiled(reading.lowered, reading.samples, BOOT, "cpu")
    enc.save(tmp_path / "net")
    half = lt.nn.load(tmp_path / "net" / "client.network")
    server = lt.nn.load(tmp_path / "net" / "server.network", "cpu")
    server.save(tmp_path / "again")
    for name in ("client.network", "server.network"):
        assert (tmp_path / "net" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    client = lt.keygen(server.context)
    server.context.use(half.server_keys(client))
    got = half.decrypt(client, server(half.encrypt(client, x[0]))).unmarked()
    assert np.abs(got - enc.shadow(x[0])[0]).max() < 1e-4
    head, arrays = files.read(str(tmp_path / "net" / "server.network"))
    rows = head._fields["nodes"]
    at = next(i for i, row in enumerate(rows) if row["op"] == "matmul")
    for place, value in ((0, 9), (1, 7), (0, 0), (1, 1), (2, 1), (4, 99), (6, 3), (7, 1 << 20), (8, 1), (9, 0)):
        packed = list(rows[at]["packed"])
        if packed[place] == value:
            continue
        packed[place] = value
        changed = [{**row, "packed": packed} if i == at else row for i, row in enumerate(rows)]
        fields = {k: v for k, v in head._fields.items() if k != "arrays"}
        (tmp_path / "bad").write_bytes(files.to_bytes({**fields, "nodes": changed}, arrays))
        with pytest.raises(lt.FileError):
            lt.nn.load(tmp_path / "bad", "cpu")
    for packed in ([], [1], None, "no"):
        changed = [{**row, "packed": packed} if i == at else row for i, row in enumerate(rows)]
        (tmp_path / "bad").write_bytes(files.to_bytes({**fields, "nodes": changed}, arrays))
        with pytest.raises(lt.FileError):
            lt.nn.load(tmp_path / "bad", "cpu")


@pytest.mark.slow
def test_matrices_that_are_too_large_are_refused_by_name():
    b = Builder((2048, 64))
    graph = b.graph(b.matmul(b.input, b.permute(b.input, (1, 0)), "scores"))
    lowered = read(graph, calibration=rng().normal(size=(1, 2048, 64)) / 8, form="matmul").lowered
    with pytest.raises(lt.UnsupportedError, match=r"layer scores: had a product of encrypted matrices of shapes \(2048, 64\) and "
                                                  r"\(64, 2048\); needs rows that fit .*fewer tokens"):
        arranged(lowered, 1 << 9)


@pytest.mark.parametrize("change", [{"shape": (4,)}, {"shape": (5, 3)}, {"shape": (3, 2)}, {"bias": np.zeros(3)},
                                    {"bias": np.full(9, np.nan)}])
def test_products_that_do_not_fit(change):
    x = Node("x", "input", (), (3, 4))
    turned = Node("turned", "affine", (0,), (4, 3), maps=(Affine.dense(np.eye(12)),))
    product = {"name": "p", "op": "matmul", "inputs": (0, 1), "shape": (3, 3)}
    Lowered((x, turned, Node(**product)), 2)
    with pytest.raises(lt.ShapeError, match="lowered graph"):
        Lowered((x, turned, Node(**{**product, **change})), 2)
