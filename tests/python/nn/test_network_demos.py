"""Demos of networks of the project's own training: a small form of each, encrypted; their weights, data and
vocabularies."""

import dataclasses
import functools
import json
import struct
import sys

import numpy as np
import pytest
from test_lowered import rng

import latticino as lt
from claimed import LUCK
from latticino import cli
from latticino.nn import reference
from latticino.workloads import inputs, networks, resnet20_aespa, rnn, squeezenet, trained, transformer

BOOT = "test-n10-boot-insecure"
SIZE, STEPS = 8, 6
HERMITE = np.array([0.4, 0.5, 0.15])  # coefficients of a ReLU, with less curvature


def kernel(r, *shape):
    return r.normal(size=shape) / np.sqrt(np.prod(shape[1:]))


def norms(w, name, channels, hermite=True):
    parts = (f"{name}.first", f"{name}.second") if hermite else (name,)
    for part in parts:
        w.update({f"{part}.running_mean": np.zeros(channels), f"{part}.running_var": np.ones(channels)})
    if hermite:
        w[f"{name}.weight"] = np.repeat(HERMITE.reshape(3, 1, 1, 1), channels, axis=1)
    else:
        w.update({f"{name}.weight": np.ones(channels), f"{name}.bias": np.zeros(channels)})


def of_resnet20(width=2):
    """A part of ResNet-20 with one block of each of three widths."""
    r, w = rng(1), {"conv.weight": kernel(rng(2), width, 3, 3, 3)}
    norms(w, "act", width)
    for k, (a, b) in enumerate([(width, width), (width, 2 * width), (2 * width, 4 * width)]):
        w.update({f"blocks.{k}.conv1.weight": kernel(r, b, a, 3, 3), f"blocks.{k}.conv2.weight": kernel(r, b, b, 3, 3)})
        for name in ("act1", "act2"):
            norms(w, f"blocks.{k}.{name}", b)
        norms(w, f"blocks.{k}.norm", b, False)
    w.update({"linear.weight": kernel(r, 10, 4 * width), "linear.bias": r.normal(size=10) / 10})
    return with_statistics(w, functools.partial(resnet20_aespa.network, size=SIZE))


def of_squeezenet(width=4):
    r, w = rng(3), {"conv.weight": kernel(rng(4), width, 3, 3, 3)}
    norms(w, "act", width)
    for k, (a, few, out) in ((0, (width, 2, 4)), (2, (4, 2, 8)), (4, (8, 2, 8))):
        w.update({f"fires.{k}.squeeze.weight": kernel(r, few, a, 1, 1),
                  f"fires.{k}.one.weight": kernel(r, out // 2, few, 1, 1),
                  f"fires.{k}.three.weight": kernel(r, out // 2, few, 3, 3)})
        norms(w, f"fires.{k}.act1", few)
        norms(w, f"fires.{k}.act2", out)
    w.update({"last.weight": kernel(r, 10, 8, 1, 1), "last.bias": r.normal(size=10) / 10})
    return with_statistics(w, functools.partial(squeezenet.network, size=SIZE))


def of_rnn(width=4, words=40):
    r = rng(5)
    state = np.eye(width) * 0.8 + r.normal(size=(width, width)) / 10
    table = r.normal(size=(words, width)) / 3
    table[0] = 0
    return {"words.table.weight": table, "network.state.weight": state,
            "network.last.weight": r.normal(size=(1, width)), "network.last.bias": np.array([0.1])}


def of_transformer(width=8, tokens=8, heads=2, words=40):
    """One layer."""
    r, name = rng(9), "network.layers.0"
    table = r.normal(size=(words, width))
    table[0] = 0
    w = {"words.words.table.weight": table, "words.places": r.normal(size=(tokens, width)) / 4,
         f"{name}.attention.shift": np.array([0.9, 1.1]).reshape(heads, 1, 1),
         f"{name}.act.weight": np.repeat([[0.25], [0.5]], 2 * width, axis=1)}
    for part, rows, columns in (*((f"{name}.attention.{k}", width, width) for k in ("query", "key", "value", "out")),
                                (f"{name}.first", 2 * width, width), (f"{name}.second", width, 2 * width),
                                ("network.last", 1, width)):
        w.update({f"{part}.weight": kernel(r, rows, columns), f"{part}.bias": r.normal(size=rows) / 10})
    for part, size in ((f"{name}.norm1", width), (f"{name}.norm2", width), (f"{name}.norm3", 2 * width), ("network.norm", width)):
        norms(w, f"{part}.norm", size, False)
    x = transformer.vectors(w, inputs.reviews(tokens, words).calibration[:200])
    return with_statistics(w, transformer.network, x, (0, 1))


def with_statistics(w, network, x=None, axes=(0, 2, 3)):
    """Means and variances of batch norms as after a training: those of their inputs, one norm after the other."""
    x = inputs.normalised(inputs.scenes(40, SIZE)) if x is None else x
    for name in [name.removesuffix(".running_mean") for name in w if name.endswith("running_mean")]:
        graph, power = network(w), 2 if name.endswith("second") else 1
        layer = name if any(n.layer == name for n in graph.nodes) else name.rpartition(".")[0]
        at = next(n.inputs[0] for n in graph.nodes if n.layer == layer and n.op in ("mul", "scale"))
        found = reference.values(graph, x)[at] ** power
        w[f"{name}.running_mean"], w[f"{name}.running_var"] = found.mean(axis=axes), found.var(axis=axes)
    return w


SMALL = {
    "resnet20-aespa": (of_resnet20, resnet20_aespa, {"network": functools.partial(resnet20_aespa.network, size=SIZE),
                                                     "data": lambda w: inputs.images(SIZE), "batch": 1}),
    "squeezenet": (of_squeezenet, squeezenet, {"network": functools.partial(squeezenet.network, size=SIZE),
                                               "data": lambda w: inputs.images(SIZE), "batch": 2}),
    "rnn": (of_rnn, rnn, {"network": functools.partial(rnn.network, steps=STEPS),
                          "data": lambda w: inputs.reviews(STEPS, 40), "batch": 4}),
    "transformer": (of_transformer, transformer, {}),
}


def small(name, folder):
    """The demo of a small form with random weights, and their file."""
    make, module, changes = SMALL[name]
    path = folder / f"{name}.safetensors"
    trained.write(path, make())
    return dataclasses.replace(module.WORKLOAD, **changes, preset=BOOT), path


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("LATTICINO_DATA", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_small_forms_run_encrypted(name, device, tmp_path, no_data):
    work, path = small(name, tmp_path)
    said = []
    images = 9 if name == "resnet20-aespa" else 3
    result = networks.run(work, device=device, count=20, encrypted=images, weights=path, layers=True, say=said.append)
    text = "\n".join(said)
    assert result.encrypted == images and result.equal + result.near == images and networks.verdict(result) == 0
    # Labels are those of the network itself.
    assert result.accuracy == 1 and result.shadow_accuracy == 1 and not result.outside
    assert "Labels are those of the network in the clear" in text and "generated" in text
    for words in ("in the clear", "shadow", "encrypted", "measured", "predicted", "peak memory"):
        assert words in text
    # Results may be more precise than claimed: claims are pessimistic, and the mean of a few errors may be small by chance.
    # The mean of three errors is 2^-9 of the claim once in a million runs. SqueezeNet runs two images at a time. Its scores
    # were 1.5 to 3.4 bits better than claimed. ResNet-20 runs each image alone. Over eight keys the thirty scores of three
    # images were 1.9 bits better on average, with a standard deviation of 0.4. So it runs nine images, which leave 0.23.
    luck = 3 if result.plan.images == 1 and result.scores[1].size >= 30 else 9
    assert result.plan.bits - LUCK < result.bits < result.plan.bits + luck and result.worst_bits < result.bits
    assert len(result.layer_bits) == len(result.plan.layers)
    assert result.key_bytes == result.plan.key_bytes
    row = networks.row(result)
    assert row["name"] == work.record and row["params"]["batch"] == work.batch == result.plan.images
    assert row["value"] == pytest.approx(np.median(networks.seconds_of(result)) * (
        1 if work.unit == "s" else 1e3 / work.batch))
    assert row["peak_bytes"] == pytest.approx(row["predicted_peak_bytes"], rel=0.005 if device == "cpu" else 0.05)
    assert min(row["compile_s"], row["keys_s"]) > 0 and row["first_s"] >= np.median(networks.seconds_of(result)) / 3
    assert row["params"][f"predicted_first_{work.unit}"] > row["params"][f"predicted_{work.unit}"]
    assert "compiling" in text and "making keys" in text
    json.dumps(row)
    networks.plot(result, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_networks_are_as_deep_as_the_recipes():
    """Convolutions and squares; every square takes one level, so that the map before gives all that it needs."""
    enc = lt.nn.compile(SMALL["resnet20-aespa"][2]["network"](of_resnet20()),
                        calibration=inputs.normalised(inputs.scenes(40, SIZE)), preset=BOOT, device="cpu")
    names = [layer.operations for layer in enc.plan.layers]
    assert names.count("square") == 7 and not any("square," in name for name in names)
    graph = SMALL["rnn"][2]["network"](of_rnn())
    assert sum(n.op == "polynomial" for n in graph.nodes) == STEPS


def test_the_recurrent_network_is_its_formula():
    w = of_rnn()
    ids = rng(6).integers(0, 60, (3, STEPS))  # some ids are beyond the table
    x = rnn.vectors(w, ids)
    h = np.zeros((3, 4))
    for t in range(STEPS):
        before = h @ w["network.state.weight"].T + x[:, t]
        h = before - 4 / 27 * before**3
    want = h @ w["network.last.weight"].T + w["network.last.bias"]
    assert np.allclose(reference.run(rnn.network(w, STEPS), x), want)
    assert np.array_equal(x[ids >= 40], np.broadcast_to(w["words.table.weight"][1], x[ids >= 40].shape))


def test_inputs_beyond_the_ranges_count_as_wrong(tmp_path, no_data):
    work, path = small("squeezenet", tmp_path)
    dull = inputs.scenes(30, SIZE) // 16 + 110  # hardly any contrast
    test = np.concatenate([dull[:3], inputs.scenes(2, SIZE)])
    data = inputs.Inputs("dull", dull, test, np.zeros(5, int))
    said = []
    result = networks.run(dataclasses.replace(work, data=lambda w: data), device="cpu", weights=path, say=said.append)
    assert result.outside == 2 and "2 images have values outside of the ranges" in "\n".join(said)
    assert result.shadow_accuracy <= result.accuracy
    with pytest.raises(lt.UnsupportedError, match="add --encrypted 1"):
        networks.row(result)


def test_verdicts(capsys):
    plan = None
    good = networks.Result(rnn.WORKLOAD, "IMDB", plan, 100, 0.9, 0.9, encrypted=5, equal=4, near=1)
    assert networks.verdict(good) == 0
    assert networks.verdict(dataclasses.replace(good, near=0)) == 1
    assert "1 encrypted labels differ" in capsys.readouterr().err
    assert networks.verdict(dataclasses.replace(good, shadow_accuracy=0.89)) == 1
    assert "1.00 points less accurate" in capsys.readouterr().err


def test_only_the_predicted_error_excuses_a_label(no_data):
    """A label that differs from the shadow has an error of that size, so the measured error would excuse every label.
    """
    w = of_rnn()
    x = rnn.vectors(w, inputs.reviews(STEPS, 40).calibration)
    enc = lt.nn.compile(rnn.network(w, STEPS), calibration=x, preset=BOOT, device="cpu", images=4)
    mean = networks._bound(enc) * 2.0**-enc.plan.bits
    shadow = mean * np.array([[15.0], [17.0], [-15.0], [-17.0]])
    result = networks.Result(rnn.WORKLOAD, "IMDB", enc.plan, 4)
    networks._compare(enc, -shadow, (shadow, shadow, np.array([1, 1, 0, 0])), result)
    assert (result.equal, result.near, result.right) == (0, 2, (4, 4, 0)) and networks.verdict(result) == 1
    assert networks.close(enc, mean * np.array([[0, 1, 32], [0, 1, 34]])).tolist() == [True, False]


# ---- weights ----


def test_safetensors(tmp_path):
    given = {"b": rng(1).normal(size=(3, 2)), "a.x": np.arange(4.0), "table": rng(2).normal(size=(1 << 9, 1 << 9))}
    path = tmp_path / "w.safetensors"
    trained.write(path, given)
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert header["a.x"] == {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]} and length % 8 == 0
    assert header["table"]["dtype"] == "F16" and len(data) == 8 + length + 16 + 24 + (2 << 18)
    found = trained.read(path)
    assert found.keys() == given.keys()
    assert np.array_equal(found["b"], given["b"].astype(np.float32))
    assert np.abs(found["table"] - given["table"]).max() < 2.0**-9
    np.savez(tmp_path / "w.npz", **given)
    assert np.array_equal(trained.read(tmp_path / "w.npz")["b"], given["b"])


def test_damaged_weights(tmp_path):
    path = tmp_path / "w.safetensors"
    trained.write(path, {"a": np.arange(6.0).reshape(2, 3)})
    good = path.read_bytes()
    bad = [good[:k] for k in range(len(good))]
    bad += [struct.pack("<Q", 2**63) + good[8:], good[:-4] + struct.pack("<f", np.nan), struct.pack("<Q", 2) + b"[]",
            struct.pack("<Q", 2) + b"{}"]
    for was, becomes in ((b"F32", b"I64"), (b"F32", b"I32"), (b"F32", b"X32"), (b"[2,3]", b"[-6] "),
                         (b"[2,3]", b"[9,9]"), (b"[0,24]", b"[8,24]"), (b"[0,24]", b"[8,32]")):
        assert was in good
        bad.append(good.replace(was, becomes))
    for data in bad:
        path.write_bytes(data)
        with pytest.raises(lt.FileError, match="obtain the file again"):
            trained.read(path)
    with pytest.raises(lt.FileError, match="obtain the file again"):
        trained.read(tmp_path / "none.npz")


def test_arrays_that_are_no_numbers(tmp_path):
    for name, x in {"text": np.array(["a"]), "complex": np.array([1j])}.items():
        np.savez(tmp_path / f"{name}.npz", a=x)
        with pytest.raises(lt.FileError, match="obtain the file again"):
            trained.read(tmp_path / f"{name}.npz")


def test_files_of_weights_need_their_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(lt.UnsupportedError, match=r"pip install '.\[demo\]'"):
        trained.read(trained.shipped("rnn"))


def test_weights_of_another_network(tmp_path, no_data):
    _, path = small("rnn", tmp_path)
    with pytest.raises(lt.FileError, match="arrays of another network"):
        networks.run(squeezenet.WORKLOAD, device="cpu", weights=path)


@pytest.mark.parametrize("name, array, shape", [
    ("squeezenet", "conv.weight", (4,)), ("squeezenet", "act.weight", ()), ("squeezenet", "act.weight", (2, 4, 1, 1)),
    ("squeezenet", "act.first.running_mean", (1,)), ("squeezenet", "act.second.running_var", (3,)),
    ("rnn", "words.table.weight", ()), ("rnn", "words.table.weight", (1, 4)), ("rnn", "network.state.weight", (4,)),
    ("transformer", "words.places", (8,)), ("transformer", "network.layers.0.attention.shift", (3, 1, 1)),
    ("transformer", "network.layers.0.norm1.norm.bias", (1,)), ("transformer", "network.layers.0.act.weight", (3, 16)),
    ("resnet20-aespa", "blocks.2.norm.bias", (7,)), ("resnet20-aespa", "linear.weight", (10, 4))])
def test_weights_of_other_shapes(name, array, shape, tmp_path, no_data):
    work, path = small(name, tmp_path)
    trained.write(path, {**trained.read(path), array: np.ones(shape)})
    with pytest.raises(lt.FileError, match="arrays of another network"):
        networks.run(work, device="cpu", weights=path)


# ---- data ----


def test_data_of_the_folder(monkeypatch, tmp_path):
    r = rng(1)
    for name in ("cifar10_train_1", "cifar10_test_1k"):
        np.savez(tmp_path / f"{name}.npz", x=r.integers(0, 256, (5, 32, 32, 3), dtype=np.uint8), y=np.arange(5))
    words = {f"x_{k}": r.integers(0, 9000, (6, 200), dtype=np.uint16) for k in ("train", "test")}
    np.savez(tmp_path / "imdb_small.npz", **words, y_test=np.arange(6) % 2)
    monkeypatch.setenv("LATTICINO_DATA", str(tmp_path))
    images, reviews = inputs.images(), inputs.reviews(7)
    assert images.name == "CIFAR-10" and images.labels.tolist() == [0, 1, 2, 3, 4]
    x = inputs.normalised(images.test)
    assert x.shape == (5, 3, 32, 32)
    assert x[1, 2, 3, 4] == pytest.approx((images.test[1, 3, 4, 2] / 255 - 0.4465) / 0.2616)
    assert reviews.name == "IMDB" and np.array_equal(reviews.test, words["x_test"][:, -7:])
    for name, read in (("cifar10_test_1k", inputs.images), ("imdb_small", inputs.reviews)):
        (tmp_path / f"{name}.npz").write_bytes(b"PK" + bytes(100))
        with pytest.raises(lt.FileError, match="obtain the file again"):
            read()
    np.savez(tmp_path / "imdb_small.npz", **words, y_test=np.arange(5))
    with pytest.raises(lt.FileError, match="and labels"):
        inputs.reviews()
    np.savez(tmp_path / "imdb_small.npz", **{k: v.astype(int) - 9000 for k, v in words.items()}, y_test=np.arange(6))
    with pytest.raises(lt.FileError, match="ids from 0 up"):  # they would be read from the end
        inputs.reviews()
    np.savez(tmp_path / "cifar10_test_1k.npz", x=np.zeros((5, 32, 32, 3), np.uint8), y=np.array(["cat"] * 5))
    with pytest.raises(lt.FileError, match="and n labels"):
        inputs.images()


def test_generated_data():
    x = inputs.scenes(300, 32)
    assert x.shape == (300, 32, 32, 3) and x.dtype == np.uint8 and np.array_equal(x, inputs.scenes(300, 32))
    assert np.abs(x.mean(axis=(0, 1, 2)) / 255 - inputs.MEAN).max() < 0.05
    assert np.abs(x.std(axis=(0, 1, 2)) / 255 - inputs.DEVIATION).max() < 0.1
    ids = inputs.texts(100, 50, 1000)
    assert ids.shape == (100, 50) and ids.max() < 1000 and 1 not in ids
    assert all((np.flatnonzero(row == 0) == np.arange((row == 0).sum())).all() for row in ids)  # padding comes first


def slope(images):
    """The exponent with which amplitudes of grey images decrease with the frequency."""
    grey = images.mean(axis=3)
    window = np.hanning(32)[:, None] * np.hanning(32)
    amplitude = np.abs(np.fft.rfft2((grey - grey.mean(axis=(1, 2), keepdims=True)) * window)).mean(axis=0)
    frequency = np.hypot(np.fft.fftfreq(32)[:, None], np.fft.rfftfreq(32)) * 32
    inside = (frequency >= 2) & (frequency <= 14)
    return -np.polyfit(np.log(frequency[inside]), np.log(amplitude[inside]), 1)[0]


@pytest.mark.slow
def test_generated_images_are_as_smooth_as_those_of_cifar10():
    if inputs.images().labels is None:
        pytest.skip("no CIFAR-10 in LATTICINO_DATA")
    assert abs(slope(inputs.scenes(500, 32)) - slope(inputs.images().test)) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("work", [squeezenet.WORKLOAD, resnet20_aespa.WORKLOAD], ids=lambda work: work.name)
def test_networks_of_squares_stay_in_range_on_generated_images(work):
    """Squares of squares grow without limit on images that are rougher than those of the training: scores of 10^14
    occurred."""
    w = trained.read(trained.shipped(work.file))
    scores = reference.run(work.network(w), work.prepared(w, inputs.scenes(1200, 32)))
    assert 1 < np.abs(scores).max() < 30  # for CIFAR-10's test images they reach 23


def test_demos_name_the_files_that_they_did_not_find(no_data):
    assert inputs.images().wanted == ("cifar10_train_1.npz", "cifar10_test_1k.npz")
    assert inputs.reviews(20, 100).wanted == ("imdb_small.npz",)


@pytest.mark.parametrize("words", [["transformer", "--repeat", "2"], ["rnn", "--rows", "8"], ["squeezenet", "--bits", "3"]])
def test_options_of_other_demos_are_refused(words, capsys):
    assert cli.main(["demo", *words]) != 0
    assert "leave it out" in capsys.readouterr().err
