"""The demo of ResNet-20: its network, and what it says without data. The data themselves are no part of the project."""

import numpy as np
import pytest
from test_lowered import rng

import latticino as lt
from latticino import cli
from latticino.nn.reference import run
from latticino.workloads import resnet20


def weights():
    r, w = rng(1), {"bn_eps": np.array(1e-5), "linear.weight": rng(2).normal(size=(10, 64)), "linear.bias": np.zeros(10)}

    def conv(name, norm, i, o):
        w[f"{name}.weight"] = r.normal(size=(o, i, 3, 3)) / np.sqrt(9 * i)
        w.update({f"{norm}.running_mean": np.zeros(o), f"{norm}.running_var": np.ones(o), f"{norm}.weight": np.ones(o),
                  f"{norm}.bias": np.zeros(o)})

    conv("conv1", "bn1", 3, 16)
    channels = 16
    for stage in (1, 2, 3):
        for k in range(3):
            name, own = f"layer{stage}.{k}", 8 * 2**stage
            conv(f"{name}.conv1", f"{name}.bn1", channels, own)
            conv(f"{name}.conv2", f"{name}.bn2", own, own)
            channels = own
    return w


@pytest.mark.slow
def test_the_network():
    graph = resnet20.network(weights())
    assert graph.shape_in == (3, 32, 32) and graph.shape_out == (10,)
    assert sum(n.op == "conv" for n in graph.nodes) == 19
    assert sum(n.op == "activation" for n in graph.nodes) == 19
    assert np.isfinite(run(graph, rng(3).normal(size=(2, 3, 32, 32)))).all()


def test_missing_data_are_said(monkeypatch, tmp_path):
    for folder in (None, str(tmp_path)):
        monkeypatch.delenv("LATTICINO_DATA", raising=False)
        if folder:
            monkeypatch.setenv("LATTICINO_DATA", folder)
        with pytest.raises(lt.UnsupportedError, match="LATTICINO_DATA"):
            resnet20.run(device="cpu")


def test_damaged_data(monkeypatch, tmp_path):
    for name in ("resnet20_cifar10.npz", "cifar10_test_1k.npz", "cifar10_train_1.npz"):
        (tmp_path / name).write_bytes(b"PK" + bytes(100))
    monkeypatch.setenv("LATTICINO_DATA", str(tmp_path))
    with pytest.raises(lt.FileError, match="obtain the file again"):
        resnet20.run(device="cpu")


@pytest.mark.parametrize("changes", [{"bn1.weight": None}, {"input_mean": np.zeros(4)}, {"bn_eps": np.zeros(2)},
                                     {"linear.weight": np.zeros((10, 3))}, {"x": np.zeros((5, 32, 32, 2))},
                                     {"x": np.array(["a"] * 5)}])
def test_data_of_another_network(changes, monkeypatch, tmp_path):
    w = {**weights(), "input_mean": np.zeros(3), "input_std": np.ones(3), **changes}
    x = w.pop("x", np.zeros((5, 32, 32, 3)))
    np.savez(tmp_path / "resnet20_cifar10.npz", **{name: v for name, v in w.items() if v is not None})
    for name in ("cifar10_test_1k", "cifar10_train_1"):
        np.savez(tmp_path / f"{name}.npz", x=x, y=np.arange(5))
    monkeypatch.setenv("LATTICINO_DATA", str(tmp_path))
    with pytest.raises(lt.FileError, match="arrays of another network"):
        resnet20.compiled(device="cpu")


@pytest.mark.parametrize("words", [["resnet20", "--rows", "8"], ["helr", "--images", "3"], ["--memory", "1GiB"]])
def test_options_of_the_other_demo_are_refused(words, capsys):
    assert cli.main(["demo", *words]) != 0
    assert "leave it out" in capsys.readouterr().err
