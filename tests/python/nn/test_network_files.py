"""Files of compiled networks: round trips, and damaged and hostile files."""

import hashlib
import json
import os
import struct

import numpy as np
import pytest
from test_compiled import BOOT, lenet, mlp, residual_block, wide
from test_lowered import rng

import latticino as lt
from claimed import LUCK
from latticino.nn import files
from latticino.nn.compiling import compiled
from latticino.nn.loading import _loaded


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A network with bootstrapping, in a folder."""
    graph, x = residual_block()
    enc = compiled(graph, x, BOOT, "cpu")
    folder = tmp_path_factory.mktemp("network")
    enc.save(folder)
    return enc, x, folder


@pytest.mark.slow
@pytest.mark.parametrize("make, images", [(mlp, 1), (lenet, 4), (residual_block, 1), (wide, 1)])
def test_both_halves(make, images, device, tmp_path):
    graph, x = make()
    enc = compiled(graph, x, BOOT, device, images=images)
    enc.save(tmp_path / "net")
    half = lt.nn.load(tmp_path / "net" / "client.network")
    server = lt.nn.load(tmp_path / "net" / "server.network", device)
    assert type(half) is lt.nn.Network and isinstance(server, lt.nn.Compiled)
    assert repr(server.plan) == repr(enc.plan)
    client = lt.keygen(server.context)
    server.context.use(half.server_keys(client))
    given = x[0] if images == 1 else x[:images]
    y = half.decrypt(client, server(half.encrypt(client, given))).unmarked()
    want = enc.shadow(given)
    assert np.allclose(server.shadow(given), want)
    allowed = 2.0 ** (LUCK - enc.plan.bits) * graph.nodes[graph.output].bound
    assert np.abs(y - (want[0] if images == 1 else want)).mean() < allowed
    assert set(half.server_keys(client).labels) == set(enc.server_keys(client).labels)


def test_the_client_file_has_no_weights(saved):
    _, _, folder = saved
    head, arrays = files.read(str(folder / "client.network"))
    assert not arrays and head.text("kind") == "client" and "nodes" not in head._fields


def test_a_file_stays_the_same(saved):
    """If it is written again after loading, it has the same bytes."""
    _, _, folder = saved
    again = folder / "again"
    lt.nn.load(folder / "server.network", "cpu").save(again)
    for name in ("client.network", "server.network"):
        assert (folder / name).read_bytes() == (again / name).read_bytes()
    lt.nn.load(folder / "client.network").save(folder / "half.network")
    assert (folder / "half.network").read_bytes() == (folder / "client.network").read_bytes()


def test_damage_is_found(saved):
    _, _, folder = saved
    for name in ("client.network", "server.network"):
        data = (folder / name).read_bytes()
        for k in range(60):
            at, bad = rng(k).integers(len(data)), bytearray(data)
            bad[at] ^= 1 << rng(k).integers(8)
            with pytest.raises(lt.FileError):
                files.from_bytes(bytes(bad))
        for cut in [0, 5, 20, len(data) // 2, len(data) - 1]:
            with pytest.raises(lt.FileError):
                files.from_bytes(data[:cut])
        with pytest.raises(lt.FileError):
            files.from_bytes(data + b"x")


def test_files_of_later_versions_and_others(saved, tmp_path):
    data = bytearray((saved[2] / "client.network").read_bytes())
    data[8] = 9
    with pytest.raises(lt.FileError, match="format version 9"):
        files.from_bytes(bytes(data))
    with pytest.raises(lt.FileError, match="another kind of file"):
        files.from_bytes(b"PK" + bytes(200))
    with pytest.raises(lt.FileError, match="check the path"):
        lt.nn.load(tmp_path / "none")
    for device in ("gpu", "cuda:x", 0):
        with pytest.raises(lt.DeviceError, match="name one of them"):
            lt.nn.load(tmp_path / "none", device)
    (tmp_path / "file").write_text("x")
    with pytest.raises(lt.FileError, match="save"):
        saved[0].save(tmp_path / "file")


def signed(head, blobs):
    text = json.dumps(head).encode()
    body = struct.pack("<8sIQ", files.MAGIC, files.VERSION, len(text)) + text + blobs
    return body + hashlib.sha256(body).digest()


def opened(path):
    data = path.read_bytes()
    length = struct.unpack_from("<8sIQ", data)[2]
    return json.loads(data[20 : 20 + length]), data[20 + length : -32]


WRONG = [None, -1, 0, 1, 7, 2.5, 1e300, 2**60, "", "x", [], [1], [-5], {}, {"a": 1}, True, [[0, 0, 1]], [2**52] * 3]


def fields(head, path=()):
    """The places of numbers, texts and lists in a head."""
    items = head.items() if isinstance(head, dict) else enumerate(head) if isinstance(head, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from fields(value, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["client.network", "server.network"])
def test_hostile_heads(saved, name):
    """Any field of another kind or size: a FileError, or a network that can still be used. No other error is raised."""
    head, blobs = opened(saved[2] / name)
    where = list(fields(head))
    refused = 0
    for k in range(70):
        r = rng(k)
        path = where[r.integers(len(where))]
        own = json.loads(json.dumps(head))
        inner = own
        for key in path[:-1]:
            inner = inner[key]
        if r.random() < 0.2 and isinstance(inner, dict):
            del inner[path[-1]]
        else:
            inner[path[-1]] = WRONG[r.integers(len(WRONG))]
        try:
            note, arrays = files.from_bytes(signed(own, blobs))
            repr(_loaded(note, arrays, "cpu", None))
        except lt.FileError:
            refused += 1
    assert refused > 30


@pytest.mark.slow
def test_mutated_arrays(saved):
    """Changed bytes of arrays, with a correct digest: a FileError, or a network with other weights."""
    data = (saved[2] / "server.network").read_bytes()
    head, blobs = opened(saved[2] / "server.network")
    first = len(data) - 32 - len(blobs)
    refused = 0
    for k in range(40):
        r, bad = rng(k), bytearray(data[:-32])
        for _ in range(r.integers(1, 4)):
            bad[r.integers(first, len(bad))] = r.integers(256)
        try:
            note, arrays = files.from_bytes(bytes(bad) + hashlib.sha256(bad).digest())
            repr(_loaded(note, arrays, "cpu", None))
        except lt.FileError:
            refused += 1
    assert refused > 10 and head["kind"] == "server"


@pytest.mark.parametrize("sizes", [(2**30, 100), (2**40, 100), (3, 2**40)])
def test_arrays_that_would_inflate_without_end(sizes):
    import zlib

    blob = zlib.compress(bytes(1 << 22))
    row = {"name": "a", "kind": "<f8", "length": 4, "bytes": len(blob)}
    with pytest.raises(lt.FileError, match="another length"):
        files.from_bytes(signed({"arrays": [row]}, blob))
    row["length"], row["bytes"] = sizes
    with pytest.raises(lt.FileError):
        files.from_bytes(signed({"arrays": [row]}, blob))


def test_packings_without_values_are_refused_before_they_are_made(saved, monkeypatch):
    head, blobs = opened(saved[2] / "client.network")
    monkeypatch.setattr("latticino.nn.loading.from_runs", lambda *_: pytest.fail("one was made"))
    with pytest.raises(lt.FileError, match="packing"):
        _loaded(*files.from_bytes(signed(head | {"ciphertexts": 1 << 20}, blobs)), "cpu", None)
    size = 1 << 28
    head |= {"ciphertexts": 1 << 19, "slots": 512, "images": 1, "shape": [size], "runs": [[0, 0, size]]}
    monkeypatch.setattr("latticino.files.containers._native.available_memory", lambda: 1 << 30)
    with pytest.raises((lt.OutOfMemoryError, lt.FileError)):
        _loaded(*files.from_bytes(signed(head, blobs)), "cpu", None)


def test_nothing_is_left_where_writing_fails(saved, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(lt.FileError, match="no space"):
        files.write(str(tmp_path / "a"), {}, {})
    assert not list(tmp_path.iterdir())


def changed(path, fields):
    """The network of a file with other fields; None removes a field."""
    head, blobs = opened(path)
    assert head["width"] == head["centre"] == [] and not head["clips"] and set(fields) <= set(head)
    own = {name: value for name, value in {**head, **fields}.items() if value is not None}
    note, arrays = files.from_bytes(signed(own, blobs))
    return _loaded(note, arrays, "cpu", None)


ONES, ZEROS = [1.0] * 32, [0.0] * 32


@pytest.mark.parametrize("name", ["client.network", "server.network"])
@pytest.mark.parametrize("fields", [
    {"width": [1.0]}, {"width": ONES}, {"centre": ZEROS}, {"width": ZEROS, "centre": ZEROS}, {"width": None},
    {"width": [-1.0] * 32, "centre": ZEROS}, {"width": ONES, "centre": ["0"] * 32}, {"width": ONES, "centre": None},
    {"clips": True}, {"clips": 0}, {"clips": None}, {"result_unit": 0.0}, {"result_unit": -1.0}, {"result_unit": "1"},
    {"result_unit": None}], ids=str)
def test_units_that_cannot_be(saved, name, fields):
    with pytest.raises(lt.FileError):
        changed(saved[2] / name, fields)


def test_keys_of_other_levels(saved):
    """For example, a key that exists at the top level only."""
    for name in ("client.network", "server.network"):
        head, _ = opened(saved[2] / name)
        assert any("over-raise" in label for label in head["key_names"])
        with pytest.raises(lt.FileError, match="keys for levels that its parameters do not have"):
            changed(saved[2] / name, {"key_levels": [7] * len(head["key_levels"])})


def test_units_that_contradict_the_graph(saved):
    with pytest.raises(lt.FileError, match="that its graph has not"):
        changed(saved[2] / "server.network", {"result_unit": 2.0})


def test_units_of_each_number(saved):
    enc, x, folder = saved
    server = changed(folder / "server.network", {"width": [2.0] * 32, "centre": ONES})
    assert np.allclose(server.shadow(2 * x + 1), enc.shadow(x), atol=1e-12)
    with pytest.raises(lt.ValueError, match="as feature 1, 2, 3 of sample 4; needs"):
        wrong = 2 * x + 1
        wrong[4, 1, 2, 3] = 1e3
        server.shadow(wrong)


@pytest.mark.parametrize("name", ["errors", "operand_errors", "rotation_errors"])
@pytest.mark.parametrize("change", [lambda e: e[:-1], lambda e: [*e, 0.0], lambda e: [-1.0, *e[1:]], lambda e: ["0", *e[1:]]],
                         ids=["fewer", "more", "negative", "words"])
def test_errors_that_do_not_fit(saved, name, change):
    path = saved[2] / "server.network"
    with pytest.raises(lt.FileError):
        changed(path, {name: change(opened(path)[0][name])})


def test_files_that_counted_all_errors_to_results(saved, tmp_path):
    """Files as older versions wrote them. They can be loaded, saved, and loaded again."""
    enc, x, folder = saved
    before = changed(folder / "server.network", {"operand_errors": None, "rotation_errors": None})
    before.save(tmp_path)
    again = lt.nn.load(tmp_path / "server.network", "cpu")
    assert again.plan.bits == enc.plan.bits and np.array_equal(again.shadow(x), enc.shadow(x))
    results = [added.result for added in enc._errors.steps]
    assert [added.result for added in again._errors.steps] == results
    assert not any(any(added.operands) or any(added.rotated) for added in again._errors.steps)
    assert any(any(added.operands) for added in enc._errors.steps)
