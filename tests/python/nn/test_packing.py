"""The layout of values, and the number of diagonals of maps: the counts of the design, and encrypted maps compared with
numpy."""

import numpy as np
import pytest
from test_lowered import conv_entries, rng

import latticino as lt
from latticino.nn.lowered import Affine, Grid, Lowered, Node
from latticino.nn.maps.transforms import Transform, with_moves
from latticino.nn.packing import packings, renames

SLOTS = 32768


def strided_conv(i, o, size, stride=1, kernel=3):
    """A convolution with weights 1, of padding kernel // 2: entries without loops over pixels."""
    out = -(-size // stride)
    a, b, y, x, dy, dx = np.meshgrid(*map(np.arange, (o, i, out, out, kernel, kernel)), indexing="ij")
    sy, sx = y * stride + dy - kernel // 2, x * stride + dx - kernel // 2
    inside = (sy >= 0) & (sy < size) & (sx >= 0) & (sx < size)
    rows, columns = (a * out + y) * out + x, (b * size + sy) * size + sx
    return Affine(rows[inside], columns[inside], np.ones(inside.sum()), i * size * size, o * out * out,
                  grids=(Grid(i, size, size), Grid(o, out, out)), stride=(stride, stride))


def chain(*maps, kind=Node):
    nodes = [Node("x", "input", (), (maps[0].size_in,))]
    for k, m in enumerate(maps):
        nodes.append(kind(f"m{k}", "affine", (k,), (m.size_out,), maps=(m,)))
    return Lowered(tuple(nodes), len(maps))


def transforms(graph, slots=SLOTS, images=1):
    packed = packings(graph, slots, images)
    return [Transform(n.maps[0], packed[n.inputs[0]], p) for n, p in zip(graph.nodes, packed) if n.op == "affine"]


# docs/networks.md and docs/lab: maps of ResNet-20
RESNET = [((3, 16, 32, 1), 36), ((16, 16, 32, 1), 144), ((16, 32, 32, 2), 128), ((32, 32, 16, 1), 392),
          ((32, 64, 16, 2), 324), ((64, 64, 8, 1), 900)]


@pytest.mark.slow
@pytest.mark.parametrize("images", [1, 2])
def test_the_diagonals_of_resnet20(images):
    graph = chain(*(strided_conv(*shape) for shape, _ in RESNET))
    found = transforms(graph, images=images)
    assert [t.diagonals for t in found] == [count for _, count in RESNET]
    assert [t.fold for t in found] == [1, 1, 2, 1, 2, 1]
    assert [t.target.slots for t in found] == [s * images for s in (16384, 16384, 8192, 8192, 4096, 4096)]
    assert sum(n * t.diagonals for n, t in zip((1, 6, 1, 5, 1, 5), found)) == 7812


@pytest.mark.slow
def test_head_of_a_network():
    """Average pooling and the dense layer are one map: 64 channels of 8x8 at gap 4 to 10 results."""
    conv = strided_conv(64, 64, 8)
    head = Affine.dense(np.repeat(rng().normal(size=(10, 64)), 64, axis=1))
    nodes = (Node("x", "input", (), (3, 32, 32)), )
    a, b = strided_conv(3, 32, 32, 2), strided_conv(32, 64, 16, 2)
    nodes += (Node("a", "affine", (0,), (32, 16, 16), maps=(a,)), Node("b", "affine", (1,), (64, 8, 8), maps=(b,)),
              Node("c", "affine", (2,), (64, 8, 8), maps=(conv,)), Node("fc", "affine", (3,), (10,), maps=(head,)))
    t = transforms(Lowered(nodes, 4))[-1]
    assert (t.diagonals, t.fold, t.target.slots) == (16, 256, 16)


def test_gaps_and_planes():
    a = strided_conv(1, 3, 7, 2)
    p = packings(chain(a), SLOTS)
    assert (p[0].gap, p[1].gap) == ((1, 1), (2, 2))
    assert p[0].slots == 64  # 7x7 in a plane of 8x8
    assert p[1].slots == 64  # 4 channels of 4x4 fill the same plane
    assert list(p[1].layout.places.reshape(3, 4, 4)[:, 1, 2]) == [2 * 8 + 4, 2 * 8 + 5, 3 * 8 + 4]
    assert p[1].layout.injective


def test_images_side_by_side():
    a = strided_conv(1, 3, 7, 2)
    one, four = packings(chain(a), SLOTS), packings(chain(a), SLOTS, 4)
    for p, q in zip(one, four):
        assert q.layout.shape == (4, *p.layout.shape[1:])
        assert np.array_equal(q.layout.places, p.layout.places * 4 + np.arange(4)[:, None])


def test_renamed_values_stay_where_they_are():
    order = rng().permutation(12)
    turn = Affine(np.arange(12), order, np.ones(12), 12, 12)
    graph = chain(Affine.dense(np.eye(12)[::-1] * 2), turn)
    assert renames(graph.nodes[2]) and not renames(graph.nodes[1])
    p = packings(graph, SLOTS)
    assert np.array_equal(p[2].layout.places[0], p[1].layout.places[0][order])


def test_operands_in_different_slots_get_a_map():
    w = Affine.dense(np.ones((16, 16)))
    conv = strided_conv(1, 1, 4)
    nodes = (Node("x", "input", (), (1, 4, 4)), Node("a", "affine", (0,), (1, 4, 4), maps=(strided_conv(1, 4, 4, 2),)),
             Node("b", "affine", (0,), (16,), maps=(w,)), Node("s", "add", (1, 2), (16,)),
             Node("m", "mul", (3, 2), (16,)), Node("y", "affine", (4,), (16,), maps=(w,)))
    graph = with_moves(Lowered(nodes, 5), SLOTS)
    p = packings(graph, SLOTS)
    for n in graph.nodes:
        if n.op in ("add", "mul"):
            places = [p[j].layout.places.reshape(-1) for j in n.inputs]
            assert np.array_equal(*places)
    x = rng().normal(size=(3, 1, 4, 4))
    assert np.allclose(graph.evaluate(x), Lowered(nodes, 5).evaluate(x))
    assert len(graph.nodes) > len(nodes)
    assert conv.nnz == 100


MAPS = {
    "dense 5 to 3": lambda: [Affine.dense(rng().normal(size=(3, 5)))],
    "dense 3 to 17": lambda: [Affine.dense(rng().normal(size=(17, 3)))],
    "wide to one": lambda: [Affine.dense(rng().normal(size=(1, 100)))],
    "several ciphertexts in and out": lambda: [Affine.dense(rng().normal(size=(700, 3))),
                                               Affine(np.arange(699), np.arange(699) + 1, rng().normal(size=699), 700,
                                                      700), Affine.dense(rng().normal(size=(4, 700)))],
    "convolutions": lambda: [conv_entries(rng().normal(size=(4, 2, 3, 3)), 8, 8),
                             conv_entries(rng(1).normal(size=(8, 4, 3, 3)), 8, 8, (2, 2)),
                             conv_entries(rng(2).normal(size=(5, 8, 3, 3)), 4, 4)],
    "sequence": lambda: [conv_entries(rng().normal(size=(3, 2, 1, 5)), 1, 20, (1, 2), (0, 2)),
                         conv_entries(rng(1).normal(size=(4, 3, 1, 3)), 1, 10, (1, 1), (0, 1))],
    "odd sizes, unequal strides": lambda: [conv_entries(rng().normal(size=(3, 2, 3, 3)), 7, 5, (2, 1)),
                                           conv_entries(rng(1).normal(size=(3, 3, 3, 3)), 4, 5, (1, 2))],
    "zeros": lambda: [Affine([], [], [], 4, 4)],
}


@pytest.fixture(scope="module")
def world(device):
    ctx = lt.Context("test-n10-leveled-insecure", device)
    return ctx, lt.keygen(ctx)


@pytest.mark.parametrize("images", [1, 4])
@pytest.mark.parametrize("name", MAPS)
def test_encrypted_maps(world, name, images):
    ctx, client = world
    graph = chain(*MAPS[name]())
    found = transforms(graph, ctx.slots, images)
    x = rng(5).uniform(-1, 1, (images, graph.nodes[0].size))
    first = found[0].source.layout

    def program(y):
        for t in found:
            y = t.apply(y, y.level)
        return y

    flat = client.encrypt(first.rows(x).reshape(-1))
    placed = flat._like(flat._parts, flat._known, layout=first)
    plan = ctx.plan(program, placed)
    ctx.use(client.server_keys(plan))
    y = program(placed)
    want = graph.evaluate(x)
    assert y.level == ctx.level - len(found)
    assert y.shape == want.shape
    found = lt.precision(client.decrypt(y), want)
    assert found.worst > 14 - np.log2(max(1, np.abs(want).max()))
    # Claims hold, and are not far from what is measured. There are as many independent errors as values went in or came
    # out, whichever is fewer. A mean of over 50 of them is twice its expectation with a probability below 1e-9.
    if want.any():
        many = min(x.size, want.size) > 50
        assert found.mean > y.expected_bits - (1 if many else 3)
        assert not many or found.mean < y.expected_bits + 4
