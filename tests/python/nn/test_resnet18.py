"""The demo of ResNet-18: the network of random weights, and a small form that runs encrypted."""

import dataclasses
import functools

import numpy as np
import pytest

from latticino.nn.reference import run, values
from latticino.workloads import inputs, networks, resnet18

SIZE = 16


def test_random_weights_are_normalised():
    w = resnet18.random_weights(3, SIZE, 2, 5)
    graph = resnet18.network(w, SIZE)
    # 17 convolutions, and three in shortcuts
    assert sum(n.op == "conv" for n in graph.nodes) == 20 and graph.shape_out == (5,)
    shapes = [n.shape for n in graph.nodes if n.op == "conv"]
    assert shapes[0] == (2, 8, 8) and shapes[1] == (2, 4, 4) and shapes[-1] == (16, 1, 1)
    # The images with which they were normalised.
    held = values(graph, inputs.normalised(inputs.scenes(resnet18._MEASURED, SIZE)))
    for node, v in zip(graph.nodes, held):
        if node.op == "add" and node.layer.endswith("act2"):
            assert 0.2 < v.std() < 2, node.layer
    again = resnet18.random_weights(3, SIZE, 2, 5)
    assert all(np.array_equal(w[name], again[name]) for name in w)
    assert not np.array_equal(w["conv.weight"], resnet18.random_weights(4, SIZE, 2, 5)["conv.weight"])


def test_images_that_random_weights_were_not_normalised_on_stay_in_range():
    """Through all 17 quadratics, at the size of the demo."""
    w = resnet18.random_weights(0, width=8, classes=100)
    scores = run(resnet18.network(w), inputs.normalised(inputs.scenes(120, resnet18.SIZE)))
    largest = np.abs(scores).max(axis=1)
    assert largest.max() < 3 * np.median(largest)


@pytest.mark.slow
def test_a_small_form_runs_encrypted(device, tmp_path):
    w = resnet18.random_weights(0, SIZE, 2, 5)
    both = inputs.scenes(80, SIZE)
    data = inputs.Inputs("generated images", both[:60], both[60:], None)
    work = dataclasses.replace(resnet18.WORKLOAD, preset="test-n10-boot-insecure", weights=lambda: ("small", w),
                               network=functools.partial(resnet18.network, size=SIZE), data=lambda w: data)
    said = []
    result = networks.run(work, device=device, count=20, encrypted=2, layers=True, say=said.append)
    assert result.encrypted + result.outside >= 2 and result.equal + result.near == result.encrypted
    assert result.plan.bits - 3 < result.bits < result.plan.bits + 4 and result.plan.bootstraps >= 2
    assert networks.row(result)["name"] == "resnet18.image"
    networks.plot(result, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000
    # Only a range can make the shadow differ from the network.
    assert result.shadow_accuracy * 20 + result.outside == 20
    assert np.isfinite(run(work.network(w), inputs.normalised(both[60:]))).all()
