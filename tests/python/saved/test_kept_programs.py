"""Saved programs and a compiled network that an earlier release wrote load, are planned anew and give the right results.

tests/data/programs_v1 has their files, make.py, which wrote them, and the results. Do not write the files again: users
have such files. If a test fails here, mend the library. Two changes can be on purpose:

- A new version of the format. Keep this folder, which still has to load. Let make.py write a folder of that version
  (programs_v2), and add it to `KEPT`.
- Other bits of results, or other keys. Tell users in the changelog what to do. Then correct the digests in
  expected.json, or write the .client files and client.network again.
"""

import hashlib
import importlib.util
import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import latticino as lt
from claimed import LUCK
from latticino.nn import files as network_files
from latticino.saved.arguments import PROGRAM

DATA = Path(__file__).resolve().parents[2] / "data"
KEPT = ["programs_v1"]
NAMES = ["product", "refreshed", "gates", "network"]
SIZE = 200_000  # bytes of all files: they stay in the repository forever
HEADER = 96  # bytes, see src/io/container.h
ON_PURPOSE = "if this change is on purpose, the first lines of test_kept_programs.py say what to do"


def maker(folder):
    spec = importlib.util.spec_from_file_location(f"maker_of_{folder.name}", folder / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=KEPT)
def folder(request):
    return DATA / request.param


def expected(folder, name):
    return json.loads((folder / "expected.json").read_text())[name]


def file_of(folder, name, part="lt"):
    """The file with the whole program (``lt``), or the part for clients (``client``)."""
    network = {"lt": "server.network", "client": "client.network"}[part]
    return folder / (network if name == "network" else f"{name}.{part}")


def owner_and_keys(folder, name, program, ctx, path):
    """The kept secret key and its keys, or fresh ones where keys would be too large to be kept."""
    kept = {"product": (folder / "product.secret", folder / "product.keys"),
            "gates": (DATA / "files_v1" / "tfhe_secret_key", DATA / "files_v1" / "tfhe_keys")}
    if name not in kept:
        client = lt.keygen(ctx)
        return client, client.server_keys(program.plan)
    secret, keys = kept[name]
    shutil.copyfile(secret, path)
    path.chmod(0o600)  # git keeps no such modes
    return lt.load_client(path, ctx), lt.load_server_keys(keys, ctx)


def several(results):
    return results if isinstance(results, tuple) else (results,)


def require_right(wanted, results, client, program):
    assert len(results) == len(wanted["results"])
    for i, (y, right) in enumerate(zip(results, wanted["results"])):
        got = np.asarray(program.decrypt(client, y))
        assert got.shape == np.shape(right)
        if program.scheme == "tfhe":
            assert got.tolist() == right
        else:  # as precise as the plan said when the file was written
            assert np.abs(got - right).mean() < 2.0 ** (LUCK - wanted["bits"][i])


def run(folder, name, device, path):
    """Plans the program, runs it on its inputs, and compares the results."""
    wanted, program = expected(folder, name), lt.load_program(file_of(folder, name), device)
    ctx = program.context(device, threads=1)
    client, keys = owner_and_keys(folder, name, program, ctx, path)
    session = ctx.bind(keys)
    numbers = wanted.get("numbers", {})
    given = [lt.to_bytes(x) for x in program.encrypt(client, *map(np.array, wanted["inputs"]))]
    results = several(program.run(session, *(lt.from_bytes(x, session) for x in given), **numbers))
    require_right(wanted, results, client, program)
    if "digests" in wanted:  # the same keys and inputs give the same bits
        given = [lt.from_bytes((folder / f"{name}.input{i}").read_bytes(), session) for i in range(len(given))]
        results = several(program.run(session, *given))
        require_right(wanted, results, client, program)
        assert [maker(folder).digest(y) for y in results] == wanted["digests"], ON_PURPOSE


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_program_gives_the_right_results(folder, name, device, tmp_path):
    run(folder, name, device, tmp_path / "secret")


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_part_for_clients_still_fits(folder, name):
    """Clients that have it make the keys that the program needs today, and inputs that it takes."""
    whole, half = (lt.load_program(file_of(folder, name, part), "cpu") for part in ("lt", "client"))
    wanted = expected(folder, name)
    ctx, client = whole.context("cpu", threads=1), lt.keygen(half.context("cpu", threads=1))
    if whole.scheme == "tfhe":
        keys = client.server_keys()
    else:
        assert half.keys == whole.keys, ON_PURPOSE
        keys = client.server_keys(half.plan)
    session = ctx.bind(lt.from_bytes(lt.to_bytes(keys), ctx, kind=type(keys)))
    given = [lt.to_bytes(x) for x in half.encrypt(client, *map(np.array, wanted["inputs"]))]
    assert [len(x) for x in given] == [x.bytes for x in whole.inputs]
    results = several(whole.run(session, *(lt.from_bytes(x, session) for x in given), **wanted.get("numbers", {})))
    sent = tuple(lt.from_bytes(lt.to_bytes(y), client.context) for y in results)
    require_right(wanted, sent, client, half)


@pytest.mark.slow
def test_the_files_can_be_made_again(folder, tmp_path):
    """make.py still writes such a folder, and refuses to write over one."""
    made = tmp_path / "again"
    maker(folder).main([str(made)])
    kept = {p.name for p in folder.iterdir() if p.name not in ("make.py", "__pycache__")}
    assert {p.name for p in made.iterdir()} == kept
    shutil.copy(folder / "make.py", made)
    for name in NAMES:
        run(made, name, "cpu", tmp_path / "secret")
    with pytest.raises(FileExistsError):
        maker(folder).main([str(made)])


def test_kept_files_are_small():
    for name in KEPT:
        sizes = [p.stat().st_size for p in (DATA / name).iterdir() if p.suffix != ".py" and p.is_file()]
        assert len(sizes) >= 15 and sum(sizes) < SIZE


@pytest.mark.parametrize("part", ["lt", "client"])
@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_later_version_say_what_to_do(folder, name, part, tmp_path):
    """A file that a later release wrote as it should be, in a format that this release does not know."""
    data = file_of(folder, name, part).read_bytes()
    version = struct.unpack_from("<I", data, 8)[0] + 1
    body = data[:8] + struct.pack("<I", version) + data[12:-32]
    later = tmp_path / "later"
    later.write_bytes(body + hashlib.sha256(body).digest())
    had = f"load: had format version {version} of a {'network' if name == 'network' else 'program'}"
    with pytest.raises(lt.FileError, match=f"^{had}; needs version {version - 1} or earlier; use a later version of this package$"):
        lt.load_program(later)
    if name == "network":
        with pytest.raises(lt.FileError, match="use a later version of this package$"):
            lt.nn.load(later)


@pytest.mark.parametrize("name, field, told", [
    ("gates", "steps", "an operation that does not exist in this release"),
    ("network", "preset", "a preset that does not exist in this release")])
def test_what_a_later_release_adds_says_what_to_do(folder, name, field, told, tmp_path):
    """The format may stay the same where a release has more operations or presets."""
    container = network_files.CONTAINER if name == "network" else PROGRAM
    head, arrays = container.read(str(file_of(folder, name)))
    fields = dict(head._fields)
    del fields["arrays"]
    fields[field] = "later" if field == "preset" else [{**step, "op": "later"} for step in fields[field]]
    container.write(str(tmp_path / "later"), fields, arrays)
    with pytest.raises(lt.FileError, match=rf"^load: had .*{told}; .*; use a later version of this package if it"):
        lt.load_program(tmp_path / "later")


@pytest.mark.parametrize("name, make, preset, what", [
    ("product.keys", lt.Context, "test-n10-leveled-insecure", "a bundle of keys"),
    ("product.input0", lt.Context, "test-n10-leveled-insecure", "ciphertexts"),
    ("gates.input0", lt.tfhe.Context, "test-tfhe-2-2-tiny-insecure", "ciphertexts")])
def test_keys_and_arrays_of_a_later_version_say_what_to_do(folder, name, make, preset, what):
    data = (folder / name).read_bytes()
    header = data[:8] + struct.pack("<I", 99) + data[12:HEADER - 8]  # and a digest of it
    later = header + hashlib.sha256(header).digest()[:8] + data[HEADER:]
    with pytest.raises(lt.FileError, match=rf"had format version 99 of {what}; needs at most version \d+; update the library$"):
        lt.from_bytes(later, make(preset, "cpu", threads=1), kind=lt.ServerKeys if name.endswith("keys") else None)
