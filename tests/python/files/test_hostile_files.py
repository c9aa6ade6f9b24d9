"""Files from untrusted sources: whatever their bytes and paths are, a loader gives an object or an lt.Error."""

import hashlib
import json
import os
import random
import sys

import numpy as np
import pytest

import latticino as lt
from latticino.measure import records
from latticino.serve.models import file_of

HEADER, DIGEST, KEY_AT, METADATA_AT, PAYLOAD_AT = 96, 32, 56, 72, 80  # see src/io/container.h
SECRET = ("secret", "tfhe secret")


def reseal(data):
    """The same bytes with correct checks, as anybody can make them."""
    b = bytearray(data)
    b[HEADER - 8:HEADER] = hashlib.sha256(b[:HEADER - 8]).digest()[:8]
    end = HEADER + int.from_bytes(b[METADATA_AT:METADATA_AT + 8], "little")
    if end + 2 * DIGEST <= len(b):
        b[end:end + DIGEST] = hashlib.sha256(b[:end]).digest()
        b[-DIGEST:] = hashlib.sha256(b[:-DIGEST]).digest()
    return bytes(b)


def with_note(data, note):
    """The ciphertext file with another note: the first field of its metadata."""
    size = int.from_bytes(data[METADATA_AT:METADATA_AT + 8], "little")
    old = int.from_bytes(data[HEADER:HEADER + 4], "little")
    metadata = len(note).to_bytes(4, "little") + note + data[HEADER + 4 + old:HEADER + size]
    head = data[:METADATA_AT] + len(metadata).to_bytes(8, "little") + data[PAYLOAD_AT:HEADER]
    return reseal(head + metadata + data[HEADER + size:])


@pytest.fixture(scope="module")
def exact():
    return lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)


@pytest.fixture(scope="module")
def files(exact, tmp_path_factory):
    """Every kind of file: its bytes, and the function that loads it from a path."""
    ctx = lt.Context("test-n10-boot-insecure", "cpu", threads=1)
    folder, client, owner = tmp_path_factory.mktemp("files"), lt.keygen(ctx), lt.keygen(exact)
    lt.save_params(folder / "params", ctx.params)
    lt.save_params(folder / "tfhe params", exact.params)
    lt.save_ciphertext(folder / "ciphertext", client.encrypt(np.ones(8)))
    lt.save_ciphertext(folder / "tfhe ciphertext", owner.encrypt([1, 2, 3], "uint8"))
    lt.save_server_keys(folder / "keys", ctx, client.server_keys(lambda a: a.apply_lut(abs) * a, np.ones(4), public=True))
    lt.save_server_keys(folder / "tfhe keys", exact, owner.server_keys())
    lt.save_secret_key(folder / "secret", client)
    lt.save_secret_key(folder / "tfhe secret", owner)
    native = ctx._native
    loaders = {
        "params": lt.load_params, "tfhe params": lt.load_params,
        "ciphertext": lambda p: lt.load_ciphertext(p, ctx), "tfhe ciphertext": lambda p: lt.load_ciphertext(p, exact),
        "keys": lambda p: lt.load_server_keys(p, ctx), "tfhe keys": lambda p: lt.load_server_keys(p, exact),
        "secret": lambda p: lt.load_client(p, ctx), "tfhe secret": lambda p: lt.load_client(p, exact),
        "keys.public": lambda p: lt._native.load_public_key(os.fspath(p), native),
        **{path.name: lambda p, name=path.name[5:]: lt._native.load_switch_keys(os.fspath(p), ctx.switching(name))
           for path in folder.glob("keys.test-switch-*")},
    }
    assert {path.name for path in folder.iterdir()} == loaders.keys() and len(loaders) == 10
    return {name: ((folder / name).read_bytes(), load) for name, load in loaders.items()}


def place(path, data, name):
    path.write_bytes(data)
    path.chmod(0o600 if name in SECRET else 0o644)
    return path


def attempt(load, path):
    """Loads an object and displays it. None if the loader refused it with an error of the library."""
    try:
        loaded = load(path)
    except lt.Error as why:
        str(why).encode()
        return None
    return repr(loaded)


def test_the_files_load_and_reseal_to_themselves(files, tmp_path):
    for name, (data, load) in files.items():
        assert reseal(data) == data
        assert attempt(load, place(tmp_path / "f", data, name))


@pytest.mark.slow
def test_mutated_files_raise_only_the_librarys_errors(files, tmp_path):
    random.seed(22)
    loaded = refused = 0
    for name, (data, load) in files.items():
        end = HEADER + int.from_bytes(data[METADATA_AT:METADATA_AT + 8], "little")
        for _ in range(120 if len(data) < 100_000 else 25):
            b = bytearray(data)
            for _ in range(random.randint(1, 3)):
                at = random.randrange(8, end) if random.random() < 0.8 else random.randrange(len(b))
                choice = random.randrange(4)
                if choice == 0:
                    b[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
                elif choice == 1:
                    b[at] ^= 1 << random.randrange(8)
                elif choice == 2:
                    b[at:at + 8] = random.choice([b"\xff" * 8, b"\0" * 8, b"\xed\xa0\x80" * 2, b'{"a":NaN'])
                else:
                    del b[at:at + random.randint(1, 9)]
            if random.random() < 0.5 and len(b) >= end + 2 * DIGEST:
                b[PAYLOAD_AT:PAYLOAD_AT + 8] = (len(b) - end - 2 * DIGEST).to_bytes(8, "little")
            kept = attempt(load, place(tmp_path / "f", reseal(b), name))
            loaded, refused = loaded + bool(kept), refused + (not kept)
    assert loaded > 20 and refused > 400


def test_only_parameters_have_no_key(files, tmp_path):
    for name, (data, load) in files.items():
        zeroed = data[:KEY_AT] + bytes(16) + data[KEY_AT + 16:]
        if name.endswith("params"):
            assert zeroed == data
            zeroed = data[:KEY_AT] + b"\1" + data[KEY_AT + 1:]
        with pytest.raises(lt.FileError, match="key id"):
            load(place(tmp_path / "f", reseal(zeroed), name))


@pytest.mark.parametrize("kind", ["params", "tfhe params"])
def test_names_that_are_not_utf8_are_refused(files, tmp_path, kind):
    data, load = files[kind]
    at = data.index(b"name ") + 5
    for bad in (b"\xff", b"\xc3(", b"\xed\xa0\x80"):
        with pytest.raises(lt.FileError, match="UTF-8"):
            load(place(tmp_path / "f", reseal(data[:at] + bad + data[at + len(bad):]), kind))


GOOD = {"ciphertext": {"shape": [8], "clean": True, "error": 0.1},
        "tfhe ciphertext": {"shape": [3], "dtype": "uint8"}}
RANGE = {"claim": "declared", "random": False, "numbers": [-1, 1, 0, 0, 1, 1]}


@pytest.mark.parametrize("kind", GOOD)
def test_notes_are_checked(files, tmp_path, kind):
    data, load = files[kind]
    good = GOOD[kind]

    def load_with(note):
        return load(place(tmp_path / "f", with_note(data, note), kind))

    def written(**fields):
        return json.dumps({**good, **fields}).encode()

    assert load_with(written()).shape == tuple(good["shape"])
    shapes = [[True] * 3, [3.0], ["3"], [0], [-3], [[3]], [2 ** 70], [2 ** 40] * 3, [1] * 65, 3, "3", None,
              {"3": 3}, [float("inf")], [float("nan")]]
    bad = [b"\xff", b"\xed\xa0\x80", b"", b"3", b"[]", b"null", b"[" * 60000, b'{"shape": [3]}', b"{}" + b" " * 70000,
           b'{"a":' * 10000 + b"1" + b"}" * 10000, written()[:-1] + b', "shape": [3]}', written() + b"x",
           b'{"shape": [' + b"9" * 5000 + b"]}", *[written(shape=s) for s in shapes]]
    if kind == "ciphertext":
        bad += [written(error=e) for e in (-1, "0", None, True, 10 ** 400, float("nan"), [1])]
        bad += [written(clean=c) for c in (1, "true", None)]
        bad += [written(range={**RANGE, **r}) for r in (
            {"claim": "measured"}, {"claim": 0}, {"numbers": [1] * 5}, {"numbers": [1] * 7}, {"numbers": ["1"] * 6},
            {"numbers": [-1, 1, 0, 0, -1, 1]}, {"numbers": [True] * 6}, {"random": 2}, {"numbers": [10 ** 400] * 6})]
        bad += [written(range=r) for r in (None, [], 3, {})]
        assert load_with(written(range=RANGE)).shape == (8,)
    else:
        bad.append(written(shape=[]))  # one value instead of three
        bad += [written(dtype=d) for d in ("u²", "float64", "\ud800", "", None, 3, "uint" + "9" * 5000)]
    for note in bad:
        with pytest.raises(lt.FileError):
            load_with(note)


def test_loaders_take_regular_files_only(files, tmp_path, monkeypatch):
    empty, pipe, sparse, dangling = (tmp_path / name for name in ("empty", "pipe", "sparse", "dangling"))
    empty.write_bytes(b"")
    os.mkfifo(pipe)
    sparse.touch()
    os.truncate(sparse, 1 << 40)
    dangling.symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    with open(empty, "rb") as closed:
        pass
    paths = [empty, pipe, sparse, dangling, tmp_path, tmp_path / "none", "/dev/zero", "/dev/null", "empty/below", "",
             "a\0b", b"a\0b", "\udcff", b"\xff", "x" * 5000]
    for name, (_, load) in files.items():
        native = "." in name  # paths of the bundle's other files, which latticino.files makes
        for path in paths:
            if native and (isinstance(path, bytes) or path == "\udcff"):
                continue
            with pytest.raises(lt.FileError):
                load(path)
        for path in () if native else (None, 3, 2.5, closed, ["x"], object()):
            with pytest.raises(lt.UnsupportedError):
                load(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read(files, tmp_path):
    for name, (data, load) in files.items():
        path = place(tmp_path / "f", data, name)
        path.chmod(0)
        with pytest.raises(lt.FileError, match="ermission"):
            load(path)
        path.chmod(0o600)


def test_paths_are_text_bytes_or_path_objects(ctx, client, tmp_path):
    x = client.encrypt(np.ones(8))
    for path in (str(tmp_path / "é"), os.fsencode(tmp_path / "ü"), tmp_path / "z"):
        lt.save_ciphertext(path, x)
        assert lt.load_ciphertext(path, ctx).shape == (8,)
    for path in ("a\0b", "", "\udcff"):
        with pytest.raises(lt.FileError):
            lt.save_ciphertext(path, x)
    released = memoryview(lt.to_bytes(x))
    released.release()
    with pytest.raises(lt.ValueError):
        lt.from_bytes(released, ctx)


def test_saving_replaces_regular_files_only(ctx, client, tmp_path):
    keys = client.server_keys(lambda a: a * a, np.ones(4))
    saves = [lambda p: lt.save_params(p, ctx.params), lambda p: lt.save_ciphertext(p, client.encrypt(np.ones(4))),
             lambda p: lt.save_server_keys(p, ctx, keys), lambda p: lt.save_secret_key(p, client),
             lambda p: lt.save_program(p, lambda a: a * 2, ctx, lt.Shape((4,)))]
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_bytes(b"mine")
    link.symlink_to(target)
    os.mkfifo(pipe)
    for save in saves:
        for path in (link, pipe, tmp_path, "/dev/null"):
            with pytest.raises(lt.FileError):
                save(path)
    assert target.read_bytes() == b"mine" and link.is_symlink() and pipe.is_fifo() and os.path.exists("/dev/null")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "pipe", "target"]
    # If something is where an older bundle had its public key, it is only removed if it is a file.
    (tmp_path / "keys.public").symlink_to(target)
    with pytest.raises(lt.FileError, match="regular file"):
        lt.save_server_keys(tmp_path / "keys", ctx, keys)
    assert (tmp_path / "keys.public").is_symlink()


def test_pipes_and_devices_are_not_read(ctx, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    loads = [lt.load_params, lt.load_program, lt.nn.load, file_of, *(
        lambda p, load=load, c=c: load(p, c) for load in (lt.load_ciphertext, lt.load_server_keys, lt.load_client)
        for c in (ctx, exact))]
    for load in loads:
        for path in (pipe, tmp_path, "/dev/zero", "/dev/null", tmp_path / "none"):
            with pytest.raises(lt.FileError):  # immediately: a pipe without a writer would never end
                load(path)
    with pytest.raises(lt.FileError, match="a pipe"):
        records.require_writable(pipe)


# ---- signatures ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def key():
    pytest.importorskip("cryptography")
    return new_key()


def new_key():
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    return Ed25519PrivateKey.generate()


@pytest.mark.slow
def test_signed_files_load_and_altered_ones_do_not(ctx, client, exact, key, tmp_path):
    other, public = new_key().public_key(), key.public_key()
    owner, path = lt.keygen(exact), tmp_path / "f"
    keys = client.server_keys(lambda a: a.apply_lut(abs), np.ones(4), public=True)
    cases = [
        (lambda **k: lt.save_params(path, ctx.params, **k), lambda **k: lt.load_params(path, **k)),
        (lambda **k: lt.save_params(path, exact.params, **k), lambda **k: lt.load_params(path, **k)),
        (lambda **k: lt.save_ciphertext(path, client.encrypt(np.ones(8)), **k),
         lambda **k: lt.load_ciphertext(path, ctx, **k)),
        (lambda **k: lt.save_ciphertext(path, owner.encrypt([1, 2], "uint8"), **k),
         lambda **k: lt.load_ciphertext(path, exact, **k)),
        (lambda **k: path.write_bytes(lt.to_bytes(client.encrypt(np.ones(8)), **k)),
         lambda **k: lt.from_bytes(path.read_bytes(), ctx, **k)),
        (lambda **k: path.write_bytes(lt.to_bytes(owner.encrypt([1, 2], "uint8"), **k)),
         lambda **k: lt.from_bytes(path.read_bytes(), exact, **k)),
        (lambda **k: lt.save_server_keys(path, ctx, keys, **k), lambda **k: lt.load_server_keys(path, ctx, **k)),
        (lambda **k: lt.save_server_keys(path, exact, owner.server_keys(), **k),
         lambda **k: lt.load_server_keys(path, exact, **k)),
    ]
    for save, load in cases:
        save()
        assert load() is not None
        with pytest.raises(lt.FileError, match="without a signature"):
            load(verify=public)
        save(sign=key)
        assert load() is not None and load(verify=public) is not None
        assert load(verify=public.public_bytes_raw()) is not None
        with pytest.raises(lt.FileError, match="names the key"):
            load(verify=other)
        signed = path.read_bytes()
        size = int.from_bytes(signed[METADATA_AT:METADATA_AT + 8], "little")
        at = HEADER + size + DIGEST if len(signed) > 5000 else HEADER + size - 1
        altered = reseal(signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1:-112]) + signed[-112:]
        claimed = signed[:-96] + other.public_bytes_raw() + signed[-64:]
        for forged, by in ((altered, public), (claimed, other), (signed[:-1] + bytes([signed[-1] ^ 1]), public)):
            path.write_bytes(forged)
            with pytest.raises(lt.Error):
                load(verify=by)
        path.write_bytes(signed[:-112])
        with pytest.raises(lt.FileError, match="without a signature"):
            load(verify=public)
    # Each file of a bundle has a signature of its own.
    lt.save_server_keys(path, ctx, keys, sign=key)
    (tmp_path / "f.public").write_bytes((tmp_path / "f.public").read_bytes()[:-112])
    assert lt.load_server_keys(path, ctx).public_key is not None
    with pytest.raises(lt.FileError, match="without a signature"):
        lt.load_server_keys(path, ctx, verify=public)


def test_raw_keys_sign_too_and_others_are_refused(ctx, client, key):
    x = client.encrypt(np.ones(8))
    data = lt.to_bytes(x, sign=key.private_bytes_raw())
    assert data[-112:-64 - 32] == b"\x93LATSIG\n" + (1).to_bytes(4, "little") * 2
    assert lt.from_bytes(data, ctx, verify=key.public_key()).shape == (8,)
    for bad in (3, "key", key.public_key()):
        with pytest.raises(lt.UnsupportedError):
            lt.to_bytes(x, sign=bad)
    for bad in (3, "key", key):
        with pytest.raises(lt.UnsupportedError):
            lt.from_bytes(data, ctx, verify=bad)
    for use in (lambda: lt.to_bytes(x, sign=b"short"), lambda: lt.from_bytes(data, ctx, verify=b"short")):
        with pytest.raises(lt.ValueError, match="32 bytes"):
            use()


def test_without_cryptography_the_error_says_how_to_install_it(ctx, client, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    x = client.encrypt(np.ones(8))
    for use in (lambda: lt.to_bytes(x, sign=bytes(32)), lambda: lt.from_bytes(lt.to_bytes(x), ctx, verify=bytes(32))):
        with pytest.raises(lt.UnsupportedError, match=r"pip install '.\[sign\]'"):
            use()
