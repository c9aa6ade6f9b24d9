"""The demo of ResNet-20 with ReLUs: its network, its data, and a small form that runs encrypted. The weights of Lee et al. are no
part of the project."""

import dataclasses
import functools

import numpy as np
import pytest
from test_lowered import rng

import latticino as lt
from latticino import cli
from latticino.nn.reference import run
from latticino.workloads import inputs, networks, resnet20

SIZE = 8


def small():
    """One block in each of three stages, of 2, 4 and 8 channels. ReLUs are compositions of two cubics, for which the levels of
    the small set suffice: results are far from the network's, and those of the shadow."""
    w = resnet20.random_weights(1, SIZE, 2, 1)
    return dataclasses.replace(
        resnet20.WORKLOAD, preset="test-n10-boot-insecure", network=functools.partial(resnet20.network, size=SIZE),
        data=functools.partial(resnet20.data, size=SIZE), weights=lambda: ("small", w),
        options=lambda graph: {**resnet20.options(graph), "fit_bits": 6.0})


@pytest.mark.slow
def test_the_network():
    graph = resnet20.network(resnet20.random_weights())
    assert graph.shape_in == (3, 32, 32) and graph.shape_out == (10,)
    assert sum(n.op == "conv" for n in graph.nodes) == 19
    assert sum(n.op == "activation" for n in graph.nodes) == 19
    x = inputs.normalised(inputs.scenes(8, 32))
    scores = run(graph, x)
    assert np.isfinite(scores).all() and 0.1 < scores.std() < 10  # normalisations keep values in their ranges
    assert resnet20.options(graph)["fits"] == dict.fromkeys([n.layer for n in graph.nodes if n.op == "activation"], "composite")


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 2])
def test_a_small_form_runs_encrypted(device, batch, tmp_path, monkeypatch):
    monkeypatch.delenv("LATTICINO_DATA", raising=False)
    said = []
    result = networks.run(small(), device=device, count=12, encrypted=2, batch=batch, layers=True, say=said.append)
    assert result.encrypted == 2 and result.equal + result.near == 2
    assert sum(layer.operations == "2 degree 3, mul" for layer in result.plan.layers) == 7
    assert "generated images" in "\n".join(said) and result.plan.bootstraps >= 7
    assert result.plan.bits - 3 < result.bits < result.plan.bits + 4
    row = networks.row(result)
    assert (row["name"], row["params"]["batch"]) == ("resnet20.image", batch)
    assert row["key_bytes"] == row["predicted_key_bytes"] and row["predicted_bits"] == result.plan.bits
    assert row["params"]["predicted_ms"] == pytest.approx(1e3 * result.plan.seconds / batch)
    networks.plot(result, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_without_data_it_says_so(monkeypatch, tmp_path):
    for folder in (None, str(tmp_path)):
        monkeypatch.delenv("LATTICINO_DATA", raising=False)
        if folder:
            monkeypatch.setenv("LATTICINO_DATA", folder)
        monkeypatch.setattr(resnet20, "random_weights", lambda: {"linear.bias": np.zeros(10)})
        word, w = resnet20.weights()
        assert "random weights" in word and "nothing of the accuracy" in word and set(w) == {"linear.bias"}
        assert resnet20.data(w).name.startswith("generated") and len(resnet20.data(w).calibration) == resnet20.CALIBRATION


def test_damaged_data(monkeypatch, tmp_path):
    (tmp_path / "resnet20_cifar10.npz").write_bytes(b"PK" + bytes(100))
    monkeypatch.setenv("LATTICINO_DATA", str(tmp_path))
    with pytest.raises(lt.FileError, match="obtain the file again"):
        networks.run(resnet20.WORKLOAD, device="cpu")


@pytest.mark.parametrize("changes", [{"bn1.weight": None}, {"input_mean": np.zeros(4)}, {"bn_eps": np.zeros(2)},
                                     {"linear.weight": np.zeros((10, 3))}])
def test_data_of_another_network(changes, monkeypatch, tmp_path):
    w = {**resnet20.random_weights(1, SIZE, 2, 1), **changes}
    np.savez(tmp_path / "resnet20_cifar10.npz", **{name: v for name, v in w.items() if v is not None})
    monkeypatch.setenv("LATTICINO_DATA", str(tmp_path))
    with pytest.raises(lt.FileError, match="arrays of another network"):
        networks.run(resnet20.WORKLOAD, device="cpu")


def test_images_are_normalised_with_what_lies_beside_the_weights():
    w = {"input_mean": np.array([0.5, 0.25, 0.0]), "input_std": np.array([0.5, 1.0, 2.0])}
    x = rng(1).integers(0, 256, (2, 4, 4, 3), dtype=np.uint8)
    got = resnet20.prepared(w, x)
    assert got.shape == (2, 3, 4, 4) and got[1, 1, 2, 3] == pytest.approx(x[1, 2, 3, 1] / 255 - 0.25)


@pytest.mark.parametrize("words", [["resnet20", "--rows", "8"], ["helr", "--images", "3"], ["--memory", "1GiB"]])
def test_options_of_the_other_demo_are_refused(words, capsys):
    assert cli.main(["demo", *words]) != 0
    assert "leave it out" in capsys.readouterr().err
