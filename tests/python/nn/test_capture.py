"""Graphs captured from PyTorch, stored with torch's outputs (make_torch_cases.py): the reference gives the same, and so
does what they are lowered to. Torch itself is needed in `./latticino test --more networks` alone."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest

import latticino as lt
from latticino.nn import builder, reference
from latticino.nn.pytorch import capture
from latticino.nn.reading import read

STORED = Path(__file__).with_name("torch_cases.npz")


def names():
    with np.load(STORED, allow_pickle=False) as file:
        return sorted({name.split("/")[0] for name in file.files})


@pytest.fixture(scope="module")
def stored():
    with np.load(STORED, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def case(stored, name):
    own = {key.split("/")[1]: value for key, value in stored.items() if key.split("/")[0] == name}
    return builder.from_arrays({k: v for k, v in own.items() if k not in ("x", "y")}), own["x"], own["y"]


@pytest.mark.parametrize("name", names())
def test_the_reference_gives_what_torch_does(stored, name):
    graph, x, y = case(stored, name)
    got = reference.run(graph, x)
    if graph.decision is not None:
        got = graph.decision.of(got)
    assert np.abs(got.reshape(y.shape) - y).max() < 1e-9 * max(1.0, np.abs(y).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_lowered_graphs_give_it_nearly(stored, name):
    graph, x, y = case(stored, name)
    data = np.concatenate([x, x.std() * np.random.default_rng(1).normal(size=(100, *x.shape[1:]))])
    reading = read(graph, calibration=data, bits=8)
    got = reading.lowered.evaluate(x)
    if graph.decision is not None:
        decided = ~graph.decision.undecided(got).reshape(y.shape)
        assert decided.mean() > 0.9 and np.array_equal(graph.decision.of(got).reshape(y.shape)[decided], y[decided])
        return
    got = got.reshape(y.shape)
    assert np.abs(got - y).max() < 0.1 * max(0.3, np.abs(y).max())
    exact = [n for n in reading.graph.nodes if n.op == "activation"] == []
    assert not exact or np.abs(got - y).max() < 1e-9 * max(1.0, np.abs(y).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names() if name.startswith(("encoder", "squared"))])
def test_products_of_matrices_as_such_give_it_too(stored, name):
    graph, x, y = case(stored, name)
    data = np.concatenate([x, x.std() * np.random.default_rng(1).normal(size=(100, *x.shape[1:]))])
    lowered = read(graph, calibration=data, bits=8, form="matmul").lowered
    assert len(lowered.products) == 2
    near = 0.1 * max(0.3, np.abs(y).max()) if name.startswith("encoder") else 1e-9 * np.abs(y).max()
    assert np.abs(lowered.evaluate(x).reshape(y.shape) - y).max() < near


def test_every_kind_of_layer_is_stored(stored):
    kinds = {n.op for name in names() for n in case(stored, name)[0].nodes}
    assert kinds >= {"conv", "conv_transpose", "linear", "along", "scale", "shift", "reshape", "permute", "concat", "add", "mul",
                     "activation", "polynomial", "matmul", "softmax", "layer_norm", "attention", "max_pool", "maximum",
                     "argmax", "lstm", "gru", "rnn"}
    assert STORED.stat().st_size < 1 << 20


def test_models_of_torch_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    model = type("Net", (), {"__module__": "torch.nn.modules.linear"})()
    assert capture.is_torch(model) and not capture.is_torch(types.SimpleNamespace())
    with pytest.raises(lt.UnsupportedError, match=r"compile: had a model of PyTorch and no torch; .*pip install '.\[nn\]'"):
        read(model, np.ones((1, 2)))
    with pytest.raises(lt.UnsupportedError, match="without a sample"):
        read(model)
