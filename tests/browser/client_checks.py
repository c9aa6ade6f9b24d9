"""Compares the WebAssembly client in Node with the native library: `./latticino test --more browser` runs this file.
LATTICINO_WASM_FOLDER names the folder of the build."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import latticino as lt

HERE = Path(__file__).parent
BUILT = Path(os.environ["LATTICINO_WASM_FOLDER"])
WASM = BUILT / "latticino.wasm"
SEED = bytes(range(7, 39)).hex()
CKKS, TFHE = "test-n10-leveled-insecure", "test-tfhe-2-2-tiny-insecure"


def params_of(preset):
    return (lt.tfhe.preset if "tfhe" in preset else lt.preset)(preset).canonical_text()


def node(folder, steps, seed=None):
    """The results of steps (client.mjs). A step that failed raises an error, unless its key `fails` says so."""
    path = folder / "steps.json"
    path.write_text(json.dumps(steps))
    command = ["node", str(HERE / "client.mjs"), str(WASM), str(path), *([seed] if seed else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results = json.loads(done.stdout.splitlines()[-1])
    for step, each in zip(steps, results, strict=True):
        assert ("error" in each) == bool(step.get("fails")), each
    return [each.get("result", each.get("error")) for each in results]


@pytest.fixture(scope="module")
def fixed_entropy(tmp_path_factory):
    """Loads the library first."""
    built = tmp_path_factory.mktemp("entropy") / "fixed_entropy.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(built), str(HERE / "fixed_entropy.c")], check=True)
    return built


def native(job, folder, library):
    path = folder / "job.json"
    path.write_text(json.dumps({**job, "folder": str(folder)}))
    environ = dict(os.environ, LD_PRELOAD=str(library), LATTICINO_TEST_ENTROPY=SEED, PYTHONWARNINGS="ignore")
    subprocess.run([sys.executable, str(HERE / "native_files.py"), str(path)], check=True, env=environ)


def number_cases(slots):
    rng = np.random.default_rng(1)
    cases = [
        {"values": [0.5, -0.25, 1, 0, -1, 0.125], "shape": [2, 3], "range": None, "level": None},
        {"values": rng.uniform(-3, 5, slots).tolist(), "shape": [slots], "range": [-3, 5.1], "level": 1},
        {"values": rng.uniform(-1, 1, 17 * slots + 3).tolist(), "shape": [17 * slots + 3], "range": None, "level": 0},
        {"values": [1e-5], "shape": [], "range": [1e-5, 1e16], "level": None},
    ]
    return [{**case, "numpy": "float64", "type": None} for case in cases]


def integer_cases():
    rng = np.random.default_rng(1)
    return [{"values": rng.integers(0, 2, 9).tolist(), "shape": [9], "numpy": "uint64", "type": "bool"},
            {"values": rng.integers(0, 256, 40).tolist(), "shape": [5, 8], "numpy": "uint8", "type": "u8"},
            {"values": [16, 65535, 0], "shape": [3], "numpy": "uint64", "type": "u16"},
            {"values": [15, 3], "shape": [2], "numpy": "uint64", "type": "m4"}]


@pytest.mark.parametrize("preset", [CKKS, "n13-d30-leveled-v1", TFHE, "test-tfhe-gates-insecure"])
@pytest.mark.parametrize("public", [False, True])
def test_files_of_one_seed_equal_the_native_ones(tmp_path, fixed_entropy, preset, public):
    tfhe = "tfhe" in preset
    if tfhe:
        cases = integer_cases()[:1] if "gates" in preset else integer_cases()
    else:
        cases = number_cases(lt.preset(preset).max_slots if preset == CKKS else 50)
    job = {"preset": preset, "scheme": "TFHE" if tfhe else "CKKS", "public": public, "encrypt": cases}
    native(job, tmp_path, fixed_entropy)
    keys = {} if tfhe else json.loads((tmp_path / "labels.json").read_text())
    assert tfhe or len(keys) > 3
    steps = [{"action": "make", "params": params_of(preset)},
             {"action": "keys", "to": str(tmp_path / "keys"), "keys": keys, "withPublicKey": public}]
    for i, case in enumerate(cases):
        options = {name: case[name] for name in ("range", "level", "type") if case.get(name) is not None}
        steps.append({"action": "encrypt", "to": str(tmp_path / str(i)), "values": case["values"],
                      "shape": case["shape"], **options})
    node(tmp_path, steps, SEED)
    for name in ["keys", *map(str, range(len(cases)))]:
        assert (tmp_path / name).read_bytes() == (tmp_path / f"native_{name}").read_bytes(), name


def test_a_server_computes_on_numbers(tmp_path):
    context = lt.Context(CKKS, device="cpu", threads=1)

    def program(x):
        return (x * x + x.rotate(1)).sum(), (x * x).reshape(2, 4).T

    plan = context.plan(program, lt.Shape((8,)))
    keys = {repr(label): level for label, level in plan.keys.items()}
    x = np.linspace(-1, 1, 8)
    start = {"action": "make", "params": params_of(CKKS)}
    made = node(tmp_path, [
        start, {"action": "keys", "to": str(tmp_path / "keys"), "keys": keys, "pieces": True},
        {"action": "encrypt", "to": str(tmp_path / "x"), "values": x.tolist()},
        {"action": "encrypt", "to": str(tmp_path / "z"), "values": [[0.5, -0.25], [0, 1]], "complex": True},
        {"action": "save", "to": str(tmp_path / "secret"), "passphrase": "Zürich"}])
    assert made[1]["progress"] == [[i + 1, len(keys)] for i in range(len(keys))]
    session = context.bind(lt.from_bytes((tmp_path / "keys").read_bytes(), context, kind=lt.ServerKeys))
    encrypted = lt.from_bytes((tmp_path / "x").read_bytes(), session)
    total, table = program(encrypted)
    answers = {"total": lt.to_bytes(total), "final": lt.to_bytes(total, final=True), "table": lt.to_bytes(table),
               "z": (tmp_path / "z").read_bytes()}
    for name, data in answers.items():
        (tmp_path / name).write_bytes(data)
    got = node(tmp_path, [
        {"action": "load", "params": params_of(CKKS), "file": str(tmp_path / "secret"), "passphrase": "Zu\u0308rich"},
        *({"action": "decrypt", "file": str(tmp_path / name)} for name in answers)])
    expected = [np.sum(x * x + np.roll(x, -1)), np.sum(x * x + np.roll(x, -1)), (x * x).reshape(2, 4).T]
    for each, value in zip(got[1:4], expected):
        assert each["type"] == "real" and each["shape"] == list(np.shape(value))
        np.testing.assert_allclose(each["values"], np.ravel(value), atol=1e-2)
    assert got[4]["type"] == "complex" and got[4]["shape"] == [2]
    np.testing.assert_allclose(got[4]["values"], [0.5, -0.25, 0, 1], atol=1e-3)
    # The secret key can also be opened by the native library, and the other way round.
    client = lt.load_client(private(tmp_path / "secret"), context, passphrase="Zürich")
    np.testing.assert_allclose(client.decrypt(lt.from_bytes(answers["total"], context)), expected[0], atol=1e-2)
    lt.save_secret_key(tmp_path / "native", client, passphrase=b"\x00\xff")
    lt.save_secret_key(tmp_path / "open", client)
    opened = node(tmp_path, [{"action": "load", "params": params_of(CKKS), "file": str(tmp_path / "open"), "passphrase": ""},
                             {"action": "decrypt", "file": str(tmp_path / "total")}])
    np.testing.assert_allclose(opened[1]["values"], expected[0], atol=1e-2)


def private(path):
    path.chmod(0o600)
    return path


def test_a_server_computes_on_integers(tmp_path):
    context = lt.tfhe.Context(TFHE, device="cpu", threads=1)
    values = [3, 200, 77, 255]
    node(tmp_path, [
        {"action": "make", "params": params_of(TFHE)}, {"action": "keys", "to": str(tmp_path / "keys")},
        {"action": "encrypt", "to": str(tmp_path / "x"), "values": values, "array": "u8"},
        {"action": "encrypt", "to": str(tmp_path / "b"), "values": [True, False, True, True]},
        {"action": "save", "to": str(tmp_path / "secret"), "passphrase": "word"}])
    context.use(lt.from_bytes((tmp_path / "keys").read_bytes(), context, kind=lt.tfhe.ServerKeys))
    x = lt.from_bytes((tmp_path / "x").read_bytes(), context)
    b = lt.from_bytes((tmp_path / "b").read_bytes(), context)
    results = {"sum": x + 60, "above": x > 100, "chosen": lt.where(b, x, x ^ 255)}
    for name, each in results.items():
        (tmp_path / name).write_bytes(lt.to_bytes(each))
    got = node(tmp_path, [
        {"action": "load", "params": params_of(TFHE), "file": str(tmp_path / "secret"), "passphrase": "word"},
        *({"action": "decrypt", "file": str(tmp_path / name)} for name in results)])
    plain = np.array(values, np.uint8)
    assert got[1] | {"ms": 0} == {"type": "u8", "shape": [4], "array": "Uint8Array", "ms": 0,
                                  "values": (plain + np.uint8(60)).tolist()}
    assert (got[2]["type"], got[2]["values"]) == ("bool", (plain > 100).astype(int).tolist())
    assert got[3]["values"] == np.where([True, False, True, True], plain, plain ^ 255).tolist()


def test_errors_are_those_of_the_library(tmp_path):
    file, other = str(tmp_path / "x"), str(tmp_path / "keys")
    make = {"action": "make", "params": params_of(CKKS)}
    wrong = [
        ("KeyError", {"action": "decrypt", "file": file}),
        ("FileError", {"action": "decrypt", "file": str(HERE / "client.mjs")}),
        ("ValueError", {"action": "encrypt", "to": other, "values": [2]}),
        ("ValueError", {"action": "encrypt", "to": other, "values": [1, "2"]}),
        ("ShapeError", {"action": "encrypt", "to": other, "values": [[1, 2], [3]]}),
        ("ShapeError", {"action": "encrypt", "to": other, "values": [1, 2], "shape": [3]}),
        ("UnsupportedError", {"action": "encrypt", "to": other, "values": [1], "type": "u8"}),
        ("LevelError", {"action": "encrypt", "to": other, "values": [1], "level": 99}),
        ("UnsupportedError", {"action": "keys", "to": other, "keys": {"dense-to-sparse": 1}}),
        ("KeyError", {"action": "keys", "to": other, "keys": {"galois(4)": 1}}),
        ("ValueError", {"action": "save", "to": other, "passphrase": ""}),
        ("FileError", {"action": "make", "params": "latticino-params 1\nname x\n"}),
    ]
    steps = [make, {"action": "encrypt", "to": file, "values": [1]}, make, *({**step, "fails": True} for _, step in wrong),
             {"action": "close"}, {"action": "encrypt", "to": other, "values": [1], "fails": True}]
    results = node(tmp_path, steps)[3:]
    for (name, step), result in zip(wrong, results):
        assert (result["name"], result["typed"]) == (name, True), (step, result)
        assert ": had " in result["message"] and "; needs " in result["message"], result
    assert results[-1]["name"] == "ContextError"
    assert "another key" not in results[0]["message"] and "under key" in results[0]["message"]


def test_no_entropy_no_key(tmp_path):
    """If the generator of random numbers fails, that is an error, and no weaker source is used."""
    program = tmp_path / "without.mjs"
    program.write_text(f"""
import {{ readFileSync }} from "node:fs";
import {{ load }} from {json.dumps((HERE.parents[1] / "web/latticino.mjs").as_uri())};
const crypto = {{ getRandomValues: () => {{ throw new Error("refused"); }} }};
Object.defineProperty(globalThis, "crypto", {{ value: crypto, configurable: true }});
const module = await load(readFileSync({json.dumps(str(WASM))}));
try {{ module.makeClient({json.dumps(params_of(CKKS))}); console.log("made"); }} catch (error) {{ console.log(error.name); }}
""")
    done = subprocess.run(["node", str(program)], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == ["DeviceError"]
