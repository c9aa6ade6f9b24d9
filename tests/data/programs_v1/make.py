"""Writes the saved programs and the compiled network beside this file, with an input and the right results of each:
`./latticino python tests/data/programs_v1/make.py FOLDER`, for a new version of the format: never over an old folder.

test_kept_programs.py loads them with each later release. `product` and `gates` have a kept secret key, keys and
encrypted inputs (the keys of `gates` are in files_v1), so digests of their results are compared. The others run with fresh
keys, and their results are compared with those in the clear.
"""

import hashlib
import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import latticino as lt
from latticino import _native
from latticino.nn.compiling import compiled
from latticino.nn.lowered import Affine, Lowered, Node, Series

LEVELED, BOOT, GATES = "test-n10-leveled-insecure", "test-n10-boot-insecure", "test-tfhe-2-2-tiny-insecure"
KEYS_OF_TFHE = Path(__file__).resolve().parents[1] / "files_v1"
X, Y = np.array([0.5, -0.5, 0.25, 1.0]), np.array([0.25, 0.25, -0.75, -0.5])


def rows(values):
    return [np.asarray(v).tolist() for v in values]


def digest(y):
    """Of the ciphertexts alone, because a later release may claim more of their values."""
    write = _native.tfhe_ciphertexts_to_bytes if isinstance(y, lt.tfhe.EncryptedArray) else _native.ciphertexts_to_bytes
    return hashlib.sha256(write(y._parts, "")).hexdigest()


def product(folder):
    """CKKS without bootstrapping. Its one key is small enough to be kept."""
    ctx = lt.Context(LEVELED, "cpu", threads=1)
    lt.save_program(folder / "product.lt", lambda x: x * x - 0.25, ctx, lt.Shape((4,), 1, (-1, 1)))
    program, client = lt.load_program(folder / "product.lt"), lt.keygen(ctx)
    keys = client.server_keys(program.plan)
    lt.save_secret_key(folder / "product.secret", client)
    (folder / "product.secret").chmod(0o644)
    (folder / "product.keys").write_bytes(lt.to_bytes(keys))
    x, = program.encrypt(client, X)
    (folder / "product.input0").write_bytes(lt.to_bytes(x))
    return {"inputs": rows([X]), "results": rows([X * X - 0.25]), "bits": [program.outputs[0].bits],
            "digests": [digest(program.run(ctx.bind(keys), x))]}


def refreshed(folder):
    """CKKS with bootstrapping, a table, a comparison and a number that each run brings."""
    ctx = lt.Context(BOOT, "cpu", threads=1)

    def program(x, y, rate):
        largest = lt.maximum(x, y, bits=4).declare(-1, 1)
        return (largest * 0.5).bootstrap(), x.apply_lut(lambda v: v * v), x.compare(y), x @ np.eye(4)[:, :2] * rate

    lt.save_program(folder / "refreshed.lt", program, ctx, *(lt.Shape((4,), 7, (-1, 1)),) * 2, rate=lt.Scalar(0, 1))
    loaded, rate = lt.load_program(folder / "refreshed.lt"), 0.75
    return {"inputs": rows([X, Y]), "numbers": {"rate": rate}, "bits": [y.bits for y in loaded.outputs],
            "results": rows([np.maximum(X, Y) / 2, X * X, (X > Y) * 1.0, X[:2] * rate])}


def gates(folder):
    """TFHE. Its keys are those of version 1 of other files."""
    ctx = lt.tfhe.Context(GATES, "cpu", threads=1, arithmetic="exact")
    x, y, z = np.array([3, 14, 9]), np.array([5, 14, 2]), np.array([3, 2])

    def program(x, y, z):
        return lt.where(x < y, y - x, x * 2), (x ^ y).sum(), (x == y).any(), z.apply(lambda a, b: a * b % 4, z[::-1])

    shapes = lt.tfhe.Shape((3,), "u4"), lt.tfhe.Shape((3,), "u4"), lt.tfhe.Shape((2,), "u2")
    lt.save_program(folder / "gates.lt", program, ctx, *shapes)
    saved = lt.load_program(folder / "gates.lt")
    with tempfile.NamedTemporaryFile() as own:  # of mode 600, as secret keys have to be
        shutil.copyfile(KEYS_OF_TFHE / "tfhe_secret_key", own.name)
        client = lt.load_client(own.name, ctx)
    given = saved.encrypt(client, x, y, z)
    for i, array in enumerate(given):
        (folder / f"gates.input{i}").write_bytes(lt.to_bytes(array))
    session = ctx.bind(lt.load_server_keys(KEYS_OF_TFHE / "tfhe_keys", ctx))
    right = [np.where(x < y, y - x, x * 2) % 16, (x ^ y).sum() % 16, (x == y).any(), z * z[::-1] % 4]
    return {"inputs": rows([x, y, z]), "results": rows(right), "digests": [digest(r) for r in saved.run(session, *given)]}


def network(folder):
    """Two activations, between which it bootstraps: the server's file and the client's."""
    rng = np.random.default_rng(9)
    samples, t = rng.uniform(-1, 1, (40, 4)), np.linspace(-8, 8, 65)
    curve = Series(tuple(np.polynomial.chebyshev.chebfit(t / 8, t / (1 + np.exp(-t)), 7)), (-8.0, 8.0))
    weights, bias = [rng.normal(size=size) / 2 for size in ((6, 4), (4, 6), (3, 4))], rng.normal(size=6) / 4

    def activated(v):
        return np.polynomial.chebyshev.chebval(v / 8, curve.coefficients)

    values = [samples, samples @ weights[0].T + bias]
    values += [activated(values[-1])]
    values += [values[-1] @ weights[1].T]
    values += [activated(values[-1])]
    values += [values[-1] @ weights[2].T]
    steps = [("x", "input", {}), ("fc1", "affine", {"maps": (Affine.dense(weights[0]),), "bias": bias}),
             ("act1", "polynomial", {"series": curve}), ("fc2", "affine", {"maps": (Affine.dense(weights[1]),)}),
             ("act2", "polynomial", {"series": curve}), ("fc3", "affine", {"maps": (Affine.dense(weights[2]),)})]
    nodes = [Node(name, op, (i - 1,) if i else (), v.shape[1:], bound=1.25 * float(np.abs(v).max()), **more)
             for i, ((name, op, more), v) in enumerate(zip(steps, values))]
    made = compiled(Lowered(tuple(nodes), len(nodes) - 1), samples, BOOT, "cpu")
    assert made.plan.bootstraps
    made.save(folder)
    return {"inputs": rows([samples[0]]), "results": rows([values[-1][0]]),
            "bits": [made.plan.bits - float(np.log2(nodes[-1].bound))]}


def main(arguments):
    folder, = map(Path, arguments)
    folder.mkdir()  # never over an old one
    expected = {make.__name__: make(folder) for make in (product, refreshed, gates, network)}
    for name in ("product", "refreshed", "gates"):
        (folder / f"{name}.client").write_bytes(lt.load_program(folder / f"{name}.lt").client_bytes())
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore", lt.SecurityWarning)
    main(sys.argv[1:])
