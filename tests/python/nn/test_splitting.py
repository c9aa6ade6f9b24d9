"""Convolutions in two maps: the same values with fewer diagonals, and encrypted results that equal those of the shadow.
"""

import numpy as np
import pytest
from test_lowered import rng

import latticino as lt
from claimed import LUCK
from latticino.nn import compiling
from latticino.nn.builder import Builder
from latticino.nn.maps import splitting
from latticino.nn.placement import Rates, placed
from latticino.nn.reading import read
from latticino.nn.run import Machine
from latticino.nn.units import scaled

BOOT = "test-n10-boot-insecure"


def network(channels=16, kernel=3, size=8, residual=True):
    """Stride 2 first, so that four channels lie in a plane; then a layer with as many channels, and its square."""
    build = Builder((3, size, size))
    x = build.conv(build.input, rng(1).normal(size=(channels, 3, 3, 3)) / 5, stride=2, padding=1, layer="first")
    x = build.mul(x, x, layer="act1")
    weight = rng(2).normal(size=(channels, channels, kernel, kernel)) / np.sqrt(channels * kernel**2)
    y = build.conv(x, weight, rng(3).normal(size=channels), padding=kernel // 2, layer="conv")
    y = build.add(y, build.scale(x, 0.5), layer="add") if residual else y
    y = build.mul(y, y, layer="act2")
    return build.graph(build.linear(build.mean(y, (1, 2)), rng(4).normal(size=(3, channels)) / 4, layer="last"))


def prepared(graph, images=1, slots=512):
    x = rng(5).uniform(-1, 1, (40, *graph.shape_in))
    whole = scaled(read(graph, calibration=x).lowered)
    ways = splitting.splittable(whole.graph, slots, images)
    return x, whole, ways


@pytest.mark.parametrize("channels, kernel, slots, images, parts", [
    (16, 3, 512, 1, 2), (16, 3, 1024, 1, 4), (16, 3, 4096, 1, 4), (16, 5, 1024, 1, 4), (8, 3, 512, 1, 2), (16, 3, 1024, 2, 2),
    (16, 1, 1024, 1, 4)])
@pytest.mark.parametrize("residual", [False, True])
def test_two_maps_are_the_one(channels, kernel, slots, images, parts, residual):
    x, whole, ways = prepared(network(channels, kernel, residual=residual), images, slots)
    assert list(ways.values()) == [splitting.Split(parts, channels // 4, 4)]
    (at,) = ways
    both = splitting.Splitting(whole, x[:32]).split(ways)
    given = x / whole.units[0]
    want, got = (s.graph.values(given) for s in (whole, both))
    assert np.allclose(got[-1] * both.units[-1], want[-1] * whole.units[-1], atol=1e-12)
    assert both.shown[at] == pytest.approx(both.units[at] * whole.before[at])
    part = both.graph.nodes[at]
    assert part.name.endswith(".parts") and np.abs(got[at]).max() <= part.bound
    counts = [sum(t.diagonals for several in Machine(s.graph, slots, images).transforms for t in several)
              for s in (whole, both)]
    # Distances in a plane times planes, or every distance; the second map has one for each part, and some wrap around.
    every = min(channels // 4 * (4 * (kernel // 2) + 3) ** 2, channels // 4 * 64)
    assert counts[0] - counts[1] >= 0.8 * every * (1 - 1 / parts) - 2 * parts
    assert Machine(both.graph, slots, images).consistent


def test_what_cannot_be_split():
    """Maps are not split if there is no room for parts, only one plane, another stride, or channels that do not fill a
    plane."""
    for graph, slots in ((network(), 256), (network(4), 512), (network(6), 512)):
        assert not prepared(graph, 1, slots)[2]


def test_two_maps_run_encrypted(device, monkeypatch):
    graph, x = network(), rng(5).uniform(-1, 1, (40, 3, 8, 8))

    def made(least):
        def laid(search, context, filled):
            network, machine = search.machine(context.slots, least, filled)
            return compiling._Found(network, machine, placed(Rates(machine, context)))
        monkeypatch.setattr(compiling, "_fastest_maps", laid)
        return lt.nn.compile(graph, calibration=x, preset=BOOT, device=device)

    plain, enc = made(0), made(1)
    assert sum(row.diagonals for row in enc.plan.layers) < sum(row.diagonals for row in plain.plan.layers)
    assert [row.layer for row in enc.plan.layers] == [row.layer for row in plain.plan.layers]
    assert np.abs(enc.shadow(x) - plain.shadow(x)).max() < 1e-9
    assert enc.plan.bits > plain.plan.bits - 4
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    got = np.stack([enc.decrypt(client, enc(enc.encrypt(client, x[k]))).unmarked() for k in range(4)])
    # Twelve errors: their root mean square is within a factor of 4 of the deviation.
    assert abs(enc._bits_of_results(got - enc.shadow(x[:4])) - enc.plan.bits) < LUCK
