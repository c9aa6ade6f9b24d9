"""Convolutions and average pooling against sums written out in numpy, in PyTorch's shapes."""

import itertools

import numpy as np
import pytest

import latticino as lt
from latticino.linear.convolution import Multiplexed


def pairs(v, axes):
    return tuple(v) if isinstance(v, tuple) else (v,) * axes


def reference(x, w, stride=1, padding=0, dilation=1, groups=1):
    """The definition, of (..., channels, length) or (..., channels, height, width)."""
    axes = w.ndim - 2
    s, d = pairs(stride, axes), pairs(dilation, axes)
    if padding == "same":
        whole = [di * (k - 1) for di, k in zip(d, w.shape[2:])]
        pads = [(n // 2, n - n // 2) for n in whole]
    else:
        pads = [(p, p) for p in pairs(0 if padding == "valid" else padding, axes)]
    x = np.pad(x, [(0, 0)] * (x.ndim - axes) + pads)
    out = [(n - di * (k - 1) - 1) // si + 1 for n, di, k, si in zip(x.shape[x.ndim - axes :], d, w.shape[2:], s)]
    per = w.shape[0] // groups
    y = np.zeros((*x.shape[: x.ndim - axes - 1], w.shape[0], *out), np.result_type(x, w))
    for o in range(w.shape[0]):
        for place in itertools.product(*map(range, out)):
            at = tuple(slice(i * si, i * si + di * (k - 1) + 1, di) for i, si, di, k in zip(place, s, d, w.shape[2:]))
            g = o // per
            part = x[(..., slice(g * w.shape[1], (g + 1) * w.shape[1]), *at)]
            y[(..., o, *place)] = (part * w[o]).sum(axis=tuple(range(-axes - 1, 0)))
    return y


def pooled(x, size, axes, stride=None, padding=0, counted=True):
    k, s, p = pairs(size, axes), pairs(size if stride is None else stride, axes), pairs(padding, axes)
    channels = x.shape[-axes - 1]
    kernel = np.ones((channels, 1, *k))
    total = reference(x, kernel, s, p, 1, channels)
    count = np.prod(k) if counted else reference(np.ones(x.shape), kernel, s, p, 1, channels)
    return total / count


CASES = {
    "1-D": ((2, 20), (3, 2, 5), {}), "1-D stride": ((4, 33), (6, 4, 3), dict(stride=2, padding=1)),
    "1-D dilated": ((1, 40), (2, 1, 4), dict(dilation=3)), "2-D": ((2, 8, 8), (3, 2, 3, 3), dict(padding=1)),
    "strided": ((2, 8, 8), (8, 2, 3, 3), dict(stride=2, padding=1)), "odd": ((3, 7, 5), (2, 3, 2, 4), dict(stride=(2, 1), padding=(1, 2))),
    "unequal": ((1, 9, 13), (2, 1, 3, 2), dict(stride=(1, 3), dilation=(2, 1))), "depthwise": ((4, 8, 8), (4, 1, 3, 3), dict(groups=4, padding=1)),
    "grouped": ((4, 6, 6), (6, 2, 3, 3), dict(groups=2)), "same": ((2, 8, 8), (2, 2, 4, 3), dict(padding="same")), "1 x 1": ((4, 8, 8), (2, 4, 1, 1), {}),
    "valid": ((1, 12, 12), (4, 1, 5, 5), dict(padding="valid")), "one number": ((1, 1, 1), (1, 1, 1, 1), {}), "whole": ((2, 6, 6), (3, 2, 6, 6), {}),
    "several ciphertexts": ((3, 20, 20), (4, 3, 3, 3), dict(padding=1)), "batch": ((3, 2, 8, 8), (2, 2, 3, 3), dict(padding=1)),
    "batch in several": ((5, 2, 10, 10), (4, 2, 3, 3), dict(stride=2, padding=1))}


@pytest.mark.parametrize("name", CASES)
def test_conv(ctx, client, rng, name):
    shape, weight, options = CASES[name]
    x, w, b = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, weight), rng.uniform(-1, 1, weight[0])
    want = reference(x, w, **options) + b.reshape(-1, *(1,) * (len(weight) - 2))
    program = lambda a: a.conv(w, b, **options)  # noqa: E731
    ctx.use(client.server_keys(program, x))
    for stated in ({"like": x}, {"range": (-1, 1)}):
        y = program(client.encrypt(x, **stated))
        assert y.shape == want.shape and y.level == ctx.level - 1
        found = lt.precision(client.decrypt(y), want)
        assert found.mean > y.expected_bits - (1 if want.size >= 100 else 3)


@pytest.mark.parametrize("shape, size, options", [
    ((4, 8, 8), 2, {}), ((3, 9, 7), (3, 2), dict(stride=(2, 1), padding=1)), ((2, 30), 4, {}), ((2, 2, 10, 10), 3, dict(padding=1)),
    ((2, 9, 9), 3, dict(padding=1, count_include_pad=False)), ((8, 4, 4), 4, {}), ((2, 3, 16), (4,), {})])
def test_average_pooling(ctx, client, rng, shape, size, options):
    x = rng.uniform(-1, 1, shape)
    axes = len(size) if isinstance(size, tuple) else 1 if len(shape) == 2 else 2
    want = pooled(x, size, axes, options.get("stride"), options.get("padding", 0), options.get("count_include_pad", True))
    program = lambda a: a.average_pool(size, **options)  # noqa: E731
    ctx.use(client.server_keys(program, x))
    y = program(client.encrypt(x, like=x))
    assert y.shape == want.shape
    np.testing.assert_allclose(client.decrypt(y), want, atol=1e-6)
    assert lt.precision(client.decrypt(y), want).mean > y.expected_bits - 3


def test_chains_with_strides_stay_multiplexed(ctx, client, rng):
    x = rng.uniform(-1, 1, (2, 16, 16))
    weights = [rng.uniform(-1, 1, s) / 4 for s in ((4, 2, 3, 3), (8, 4, 3, 3), (8, 8, 3, 3))]
    w = rng.uniform(-1, 1, (8, 3))

    def program(a):
        a = a.conv(weights[0], padding=1, stride=2)
        a = a.conv(weights[1], padding=1, stride=2)
        a = a.conv(weights[2], padding=1)
        return a.average_pool(4).reshape(8) @ w

    ctx.use(client.server_keys(program, x))
    want = x
    for k, s in zip(weights, (2, 2, 1)):
        want = reference(want, k, s, 1)
    want = pooled(want, 4, 2).reshape(8) @ w
    y = program(client.encrypt(x, like=x))
    np.testing.assert_allclose(client.decrypt(y), want, atol=1e-5)
    assert lt.precision(client.decrypt(y), want).mean > y.expected_bits - 3


@pytest.mark.slow
def test_the_layers_of_resnet20_have_the_fewest_diagonals():
    """The counts of the multiplexed layout: (2 (g floor(k / 2) + g - 1) + 1)^2 times planes, for a gap g."""
    layout, found = lt.Layout.plain((3, 32, 32), 4096), []
    for o, i, n, s in ((16, 3, 32, 1), (16, 16, 32, 1), (32, 16, 32, 2), (32, 32, 16, 1), (64, 32, 16, 2), (64, 64, 8, 1)):
        m = lt.convolution_map(np.ones((o, i, 3, 3)), (i, n, n), padding=1, stride=s, target=None)
        way = m._way(layout, 1 << 15)
        found.append(way.map.diagonals)
        layout = way.target
    assert found == [36, 144, 128, 392, 324, 900]
    assert layout.slots == 4096


def test_channels_fill_the_slots_between_results():
    source = lt.Layout.plain((1, 4, 4), 16)
    layout = Multiplexed((4, 4), (2, 2), (2, 2), 4, (4, 2, 2))(source, 16)[0]
    assert layout.places[:, 0, 0].tolist() == [0, 1, 4, 5] and layout.places[0].tolist() == [[0, 2], [8, 10]]
    uneven = lt.Layout((1, 2, 2), 16, 1, np.array([[[0, 3], [5, 7]]]))
    assert Multiplexed((2, 2), (2, 2), (1, 1), 1, (1, 2, 2))(uneven, 16) == []


def test_maps_of_convolutions_are_made_once(ctx, client, rng):
    w = rng.uniform(-1, 1, (4, 2, 3, 3))
    m = lt.convolution_map(w, (2, 8, 8), padding=1)
    xs = rng.uniform(-1, 1, (3, 2, 8, 8))
    ctx.use(client.server_keys(lambda *a: m(*a), *xs))
    for y, x in zip(m(*[client.encrypt(x) for x in xs]), xs):
        np.testing.assert_allclose(client.decrypt(y), reference(x, w, padding=1), atol=1e-6)
    recorded = lt.record(lambda a: a.conv(w, padding=1) * 0.5)
    y = recorded(client.encrypt(xs[0]))
    np.testing.assert_allclose(client.decrypt(recorded(client.encrypt(xs[1]))), 0.5 * reference(xs[1], w, padding=1), atol=1e-6)
    assert y.shape == (4, 8, 8)


def test_complex_pictures_carry_two(ctx, client, rng):
    x, w = rng.uniform(-1, 1, (2, 2, 8, 8)), rng.uniform(-1, 1, (3, 2, 3, 3))
    ctx.use(client.server_keys(lambda a: a.conv(w), x[0]))
    y = client.decrypt(client.encrypt(x[0] + 1j * x[1]).conv(w))
    np.testing.assert_allclose(y.real, reference(x[0], w), atol=1e-6)
    np.testing.assert_allclose(y.imag, reference(x[1], w), atol=1e-6)


@pytest.mark.parametrize("weight, options, error", [
    (np.ones((2, 2)), {}, lt.ShapeError), (np.ones((2, 3, 3, 3)), {}, lt.ShapeError), (np.ones((2, 2, 9, 9)), {}, lt.ShapeError),
    (np.ones((2, 2, 3, 3)), dict(stride=0), lt.ValueError), (np.ones((2, 2, 3, 3)), dict(stride=(1, 1, 1)), lt.ValueError),
    (np.ones((2, 2, 3, 3)), dict(padding=-1), lt.ValueError), (np.ones((2, 2, 3, 3)), dict(padding="full"), lt.ValueError),
    (np.ones((2, 2, 3, 3)), dict(padding="same", stride=2), lt.ValueError), (np.ones((3, 1, 3, 3)), dict(groups=2), lt.ShapeError),
    (np.full((2, 2, 3, 3), np.nan), {}, lt.ValueError), (np.ones((2, 2, 3, 3)), dict(bias=np.ones(3)), lt.ShapeError)])
def test_wrong_convolutions_are_refused(ctx, client, weight, options, error):
    with pytest.raises(error):
        client.encrypt(np.ones((2, 8, 8))).conv(weight, **options)


def test_wrong_pooling_is_refused(ctx, client):
    x = client.encrypt(np.ones((2, 8, 8)))
    for options in (dict(size=9), dict(size=0), dict(size=2, padding=2), dict(size=(2, 2, 2)), dict(size=2, count_include_pad=3)):
        with pytest.raises(lt.Error):
            x.average_pool(**options)


@pytest.mark.parametrize("n, m", [(20, 5), (5, 20), (16, 4), (7, 7), (6, 9), (9, 6), (1, 3), (600, 7)])
def test_vectors_are_convolved_as_numpy_does(ctx, client, rng, n, m):
    x, v = rng.uniform(-1, 1, n), rng.uniform(-1, 1, m)
    programs = [(lambda a, f=f, mode=mode: f(a, v, mode), g, mode) for f, g in ((lt.convolve, np.convolve), (lt.correlate, np.correlate))
                for mode in ("full", "same", "valid")]
    ctx.use(client.server_keys(lambda a: [p(a) for p, _, _ in programs], x))
    a = client.encrypt(x)
    for program, of_numpy, mode in programs:
        np.testing.assert_allclose(client.decrypt(program(a)), of_numpy(x, v, mode), atol=1e-6, err_msg=f"{of_numpy} {mode}")


def test_complex_vectors_are_conjugated_by_correlate(ctx, client, rng):
    x, v = rng.uniform(-1, 1, 30) + 1j, rng.uniform(-1, 1, 4) - 0.5j
    ctx.use(client.server_keys(lambda a: (lt.convolve(a, v), lt.correlate(a, v)), x))
    a = client.encrypt(x, range=lt.Range(-1, 1, (-1, 1)))
    np.testing.assert_allclose(client.decrypt(lt.convolve(a, v)), np.convolve(x, v), atol=1e-6)
    np.testing.assert_allclose(client.decrypt(lt.correlate(a, v)), np.correlate(x, v), atol=1e-6)


def test_what_is_no_pair_of_vectors_is_refused(ctx, client, rng):
    x = client.encrypt(rng.uniform(-1, 1, 8))
    for call, words in ((lambda: lt.convolve(x, np.ones((2, 2, 3))), "x.conv"), (lambda: lt.convolve(np.ones(3), x), "encrypted vector"),
                        (lambda: lt.convolve(x, np.ones(3), "all"), "full"), (lambda: lt.correlate(x.reshape(2, 4), np.ones(3)), "two vectors")):
        with pytest.raises(lt.Error, match=words):
            call()
