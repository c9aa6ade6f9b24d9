"""Models end to end: read, compiled, and run encrypted. Results equal those of the shadow, and are near the model's
own."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from test_lowered import rng

import latticino as lt
from claimed import LUCK
from latticino.nn.builder import Builder, from_arrays
from latticino.nn.reference import run
from latticino.nn.reference import values as run_layers

BOOT = "test-n10-boot-insecure"
STORED = Path(__file__).with_name("torch_cases.npz")  # see make_torch_cases.py


def weights(k, *shape):
    return rng(k).normal(size=shape) / np.sqrt(np.prod(shape[1:]))


def mlp():
    b = Builder((20,))
    x = b.activation(b.linear(b.input, weights(0, 16, 20), weights(1, 16, 4).sum(axis=1), layer="fc1"), "tanh", layer="act1")
    x = b.activation(b.linear(x, weights(2, 12, 16), layer="fc2"), "sigmoid", layer="act2")
    return b.graph(b.linear(x, weights(3, 5, 12), layer="fc3")), {"act1": 5, "act2": 3}


def lenet():
    b = Builder((1, 8, 8))
    x = b.activation(b.conv(b.input, weights(0, 4, 1, 3, 3), weights(1, 4), padding=1, layer="conv1"), "silu", layer="act1")
    x = b.avg_pool(x, 2, layer="pool1")
    x = b.activation(b.conv(x, weights(2, 6, 4, 3, 3), layer="conv2"), "silu", layer="act2")
    x = b.flatten(b.avg_pool(x, 2, layer="pool2"))
    return b.graph(b.linear(x, weights(3, 10, 6), weights(4, 10), layer="fc")), {"act1": 3, "act2": 3}


def sequence():
    b = Builder((2, 20))
    x = b.conv(b.input, weights(0, 4, 2, 5), weights(1, 4), stride=2, padding=2, layer="conv1")
    x = b.activation(x, "tanh", layer="act1")
    x = b.conv(x, weights(2, 4, 2, 3), padding=2, dilation=2, groups=2, layer="conv2")
    x = b.mean(b.activation(x, "relu", layer="act2"), (1,), layer="mean")
    return b.graph(b.linear(x, weights(3, 3, 4), layer="fc")), {"act1": 3, "act2": 4}


def residual():
    b = Builder((2, 8, 8))

    def block(x, channels, stride, k, name):
        own = b.shape(x)[0]
        y = b.conv(x, weights(k, channels, own, 3, 3), stride=stride, padding=1, layer=f"{name}.conv1")
        y = b.batch_norm(y, weights(k + 1, channels) / 4, np.ones(channels), layer=f"{name}.bn1")
        y = b.activation(y, "relu", layer=f"{name}.relu1")
        y = b.conv(y, weights(k + 2, channels, channels, 3, 3), padding=1, layer=f"{name}.conv2")
        if stride > 1:
            x = b.conv(x, weights(k + 3, channels, own, 1, 1), stride=stride, layer=f"{name}.shortcut")
        return b.activation(b.add(y, x, layer=f"{name}.add"), "relu", layer=f"{name}.relu2")

    x = block(b.conv(b.input, weights(0, 4, 2, 3, 3), padding=1, layer="stem"), 4, 1, 10, "a")
    x = block(x, 8, 2, 20, "b")
    x = b.mean(x, (1, 2), layer="pool")
    degrees = {f"{n}.relu{k}": 6 for n in "ab" for k in (1, 2)}
    return b.graph(b.linear(x, weights(5, 4, 8), layer="fc")), degrees


def stored(name):
    """The graph of a module of PyTorch, inputs, and torch's outputs."""
    with np.load(STORED, allow_pickle=False) as file:
        own = {key.split("/")[1]: file[key] for key in file.files if key.split("/")[0] == name}
    return from_arrays({k: v for k, v in own.items() if k not in ("x", "y")}), own["x"], own["y"]


def vgg():
    """Two stages of two convolutions with batch norms, and a head of two linear layers."""
    graph, _, _ = stored("vgg-0")
    return graph, {n.layer: 6 for n in graph.nodes if n.op == "activation"}


MODELS = {"mlp": mlp, "lenet": lenet, "sequence": sequence, "residual": residual, "vgg": vgg}


@pytest.mark.slow
@pytest.mark.parametrize("name, images", [("mlp", 1), ("lenet", 1), ("lenet", 3), ("sequence", 1), ("residual", 1),
                                          ("residual", 2), ("vgg", 1), ("vgg", 2)])
def test_models(device, name, images):
    graph, fits = MODELS[name]()
    x = rng(7).uniform(-1, 1, (200, *graph.shape_in))
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device=device, images=images, fits=fits)
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    given = x[0] if images == 1 else x[:images]
    got = enc.decrypt(client, enc(enc.encrypt(client, given))).unmarked().reshape(images, -1)
    want = enc.shadow(given).reshape(images, -1)
    largest = np.abs(enc.shadow(x)).max()
    assert np.abs(got - want).mean() < 2.0 ** (LUCK - enc.plan.bits) * 1.25 * largest
    exact = run(graph, x).reshape(len(x), -1)
    assert np.abs(enc.shadow(x).reshape(len(x), -1) - exact).mean() < 0.15 * np.abs(exact).max()  # of small degrees
    if name in ("residual", "vgg"):
        assert enc.plan.bootstraps >= 2
    layers = " ".join(layer.layer for layer in enc.plan.layers)
    assert all(layer in layers for layer in fits)


@pytest.mark.slow
def test_a_vgg_gives_encrypted_what_torch_gives(device):
    graph, x, wanted = stored("vgg-0")
    assert [n.op for n in graph.nodes].count("conv") == 4 and len(x) == 3
    data = np.concatenate([x, rng(8).normal(size=(300, *x.shape[1:]))])
    enc = lt.nn.compile(graph, calibration=data, preset=BOOT, device=device, images=3, fit_bits=6)
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    got = enc.decrypt(client, enc(enc.encrypt(client, x))).unmarked().reshape(wanted.shape)
    assert np.abs(got - wanted).max() < 0.1 * np.abs(wanted).max()  # of ReLUs of 6 bits, five in sequence
    assert np.abs(got - enc.shadow(x).reshape(wanted.shape)).max() < 0.01 * np.abs(wanted).max()


@pytest.mark.slow
def test_scikit_learn(device):
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    digits = load_digits()
    x, y = digits.data, digits.target
    for model in (make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
                  make_pipeline(StandardScaler(), MLPClassifier((24,), activation="tanh", max_iter=60, random_state=0))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations are enough here
            model.fit(x[:1500], y[:1500])
        enc = lt.nn.compile(model, calibration=x[:1500], device=device)
        assert lt.preset(enc.preset).secure
        shadow = enc.shadow(x[1500:]).argmax(axis=1)
        assert (shadow == model.predict(x[1500:])).mean() > 0.99
        client = lt.keygen(enc.context)
        enc.context.use(enc.server_keys(client))
        for k in range(3):
            got = enc.decrypt(client, enc(enc.encrypt(client, x[1500 + k]))).unmarked()
            assert got.argmax() == shadow[k]


def test_messages_state_the_values_of_the_model():
    """Values are divided by units inside, but errors state values in the units of the model."""
    graph, fits = mlp()
    x = rng(7).uniform(-1, 1, (200, 20))
    enc = lt.nn.compile(graph, calibration=x, preset=BOOT, device="cpu", fits=fits)
    before = run_layers(graph, 3 * x)[1]
    with pytest.raises(lt.ValueError, match="layer act1: had values from") as why:
        enc.shadow(3 * x)
    least = float(str(why.value).split("values from ")[1].split(" to ")[0])
    assert least == pytest.approx(before.min(), rel=1e-3)
