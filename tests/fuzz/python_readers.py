"""libFuzzer's targets for what Python reads from untrusted sources: `python_readers.py NAME`, and then libFuzzer's own
arguments.

`./latticino test --fuzz` runs it. Atheris counts which lines and comparisons of the package an input reaches. An exception
that is no error of the library, and ten seconds without an end, end the run. `python_readers.py seeds FOLDER` writes valid
inputs of each reader.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["latticino"]):
    import latticino as lt
    from latticino.files import saving, saving_tfhe
    from latticino.measure.fuzz import saved_programs
    from latticino.nn import loading
    from latticino.nn.compiling import compiled
    from latticino.nn.files import CONTAINER as NETWORK
    from latticino.nn.lowered import Affine, Lowered, Node, Series
    from latticino.saved import files, messages
    from latticino.saved.arguments import PROGRAM
    from latticino.serve import front  # noqa: F401, and all that it needs
    from latticino.serve.manifest import Manifest

import numpy as np
from requests_of_http import Requests

CKKS, EXACT = "test-n10-boot-insecure", "test-tfhe-2-2-tiny-insecure"
_DIGEST, _HEAD = 32, 20  # see files/containers.py


# ---- files of JSON and arrays, without the digest, which is added to every input ----


class Containers:
    """Inputs that are files of `files/containers.py`."""

    def __init__(self, container, read, seeds):
        self.container, self._read, self._seeds = container, read, seeds

    def read(self, data):
        self._read(data + hashlib.sha256(data).digest())

    def seeds(self):
        return [data[:-_DIGEST] for data in self._seeds()]

    def mutated(self, data, most, seed):
        """Changes bytes of the head, with a length that fits; or changes a value in its JSON, or in an array."""
        rng = random.Random(seed)
        if len(data) < _HEAD:
            return atheris.Mutate(data, most)
        if rng.random() < 0.5:
            try:
                head, arrays = self.container.from_bytes(data + hashlib.sha256(data).digest())
                fields = {k: v for k, v in head._fields.items() if k != "arrays"}
                changed = saved_programs.mutated([(fields, arrays)], rng)
                changed = self.container.magic + changed[8:-_DIGEST]
                if len(changed) <= most:
                    return changed
            except (lt.Error, ValueError, RecursionError, IndexError):  # there is nothing that can be changed
                pass
        length = int.from_bytes(data[12:_HEAD], "little")
        if length > len(data) - _HEAD or rng.random() < 0.1:
            return atheris.Mutate(data, most)
        body, rest = data[_HEAD:_HEAD + length], data[_HEAD + length:]
        body = atheris.Mutate(body, max(1, most - _HEAD - len(rest)))
        return (data[:12] + len(body).to_bytes(8, "little") + body + rest)[:most]


def programs():
    return [PROGRAM.to_bytes(head, arrays) for head, arrays in saved_programs.seeds()]


def networks():
    x = np.random.default_rng(1).uniform(-1, 1, (20, 4))
    nodes = (Node("x", "input", (), (4,)), Node("fc", "affine", (0,), (3,), maps=(Affine.dense(np.ones((3, 4)) / 4),)),
             Node("act", "polynomial", (1,), (3,), series=Series((0.1, 0.5, 0.2), (-2.0, 2.0))))
    graph = Lowered(nodes, 2)
    values = graph.values(x)
    nodes = tuple(replace(n, bound=max(1.0, float(np.abs(v).max()))) for n, v in zip(nodes, values))
    enc = compiled(Lowered(nodes, 2), x, CKKS, "cpu")
    with tempfile.TemporaryDirectory() as folder:
        enc.save(folder)
        return [(Path(folder) / name).read_bytes() for name in ("client.network", "server.network")]


# ---- other readers ----


class Texts:
    """Inputs that are read without changes."""

    def __init__(self, read, seeds):
        self.read, self.seeds = read, seeds
        self.mutated = None


_made: dict = {}


def world():
    """Contexts and ciphertexts that readers need."""
    if not _made:
        ctx, exact = lt.Context(CKKS, "cpu", threads=1), lt.tfhe.Context(EXACT, "cpu", threads=1)
        client, other = lt.keygen(ctx), lt.keygen(exact)
        x, u = client.encrypt(np.ones(8), 0), other.encrypt([1, 2], "u2")
        _made.update(ctx=ctx, exact=exact, x=x, u=u, three=saving.note_of(x[[0, 2, 4]]),
                     bits=saving_tfhe._note(u))
    return _made


def read_notes(data):
    """Descriptions of arrays of both schemes, with the same ciphertexts."""
    w, text = world(), data[1:].decode("utf-8", "replace")
    if data[:1] == b"t":
        saving_tfhe._array(w["exact"], w["u"]._parts, text)
    else:
        repr(saving.described(w["ctx"], w["x"]._parts, text, data[:1] == b"f"))


def notes_of():
    w = world()
    return [b"c" + saving.note_of(w["x"]).encode(), b"f" + saving.note_of(w["x"]).encode(), b"c" + w["three"].encode(),
            b"t" + w["bits"].encode()]


def read_results(data):
    if data:
        messages.result_of(data[1:], world()["ctx"], 1 + data[0] % 3)


def results():
    w = world()
    several = [bytes([n - 1]) + messages.result_to_bytes([w["x"]] * n) for n in (1, 2)]
    return [b"\0" + lt.to_bytes(w["x"]), b"\0" + lt.to_bytes(w["x"], final=True), *several]


def read_numbers(data):
    declared = {"a": lt.Scalar(-1, 1), "b": lt.Scalar(lt.Range(-1, 1, imag=(-1, 1)))}
    found = messages.numbers_of(declared, [data[i:i + messages.NUMBER] for i in range(0, len(data), messages.NUMBER)])
    messages.numbers_to_bytes(declared, found)


def numbers():
    return [messages.numbers_to_bytes({"a": lt.Scalar(-1, 1), "b": lt.Scalar(lt.Range(-1, 1, imag=(-1, 1)))}, {"a": 0.5, "b": 0.5j})]


def read_manifests(data):
    """Does what a front does with the body of a request for a bundle."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return
    manifest = Manifest.read(fields)
    manifest.hash, manifest.sizes(), Manifest.read(json.loads(manifest.to_json()))


def manifests():
    return [Manifest(9, ("a" * 64,)).to_json().encode(), Manifest(20_000_000, ("a" * 64, "a" * 64, "b" * 64)).to_json().encode()]


REQUESTS = Requests()
READERS = {"programs": Containers(PROGRAM, lambda data: repr(files.from_bytes(data)), programs),
           "networks": Containers(NETWORK, lambda data: repr(loading.from_bytes(data, "cpu")), networks),
           "array_notes": Texts(read_notes, notes_of), "results": Texts(read_results, results),
           "numbers": Texts(read_numbers, numbers), "manifests": Texts(read_manifests, manifests),
           "requests": Texts(REQUESTS.read, REQUESTS.seeds)}


def write_seeds(folder):
    for name, reader in READERS.items():
        place = Path(folder) / name
        place.mkdir(parents=True, exist_ok=True)
        for i, data in enumerate(reader.seeds()):
            (place / f"seed{i}").write_bytes(data)


def main(words):
    warnings.simplefilter("ignore")
    if words[1] == "seeds":
        return write_seeds(words[2])
    reader = READERS[words[1]]
    for data in reader.seeds():  # objects that the reader needs are made before anything is counted
        reader.read(data)

    def one(data):
        with contextlib.suppress(lt.Error):
            reader.read(data)

    options = {} if reader.mutated is None else {"custom_mutator": reader.mutated}
    atheris.Setup([words[0], *words[2:]], one, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
