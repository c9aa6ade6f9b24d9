"""Files through the Python API: round trips between two processes' worth of objects, and damage."""

import stat

import numpy as np
import pytest

import latticino as lt


def test_a_client_and_a_server_share_only_files(ctx, client, rng, tmp_path):
    x = rng.uniform(-1, 1, (3, 20))
    keys = client.server_keys(lambda a: (a * a).rotate(1), x, public=True)
    lt.save_params(tmp_path / "params", ctx.params)
    lt.save_server_keys(tmp_path / "keys", ctx, keys)
    lt.save_secret_key(tmp_path / "secret", client)
    lt.save_ciphertext(tmp_path / "x", client.encrypt(x))

    server = lt.Context(lt.load_params(tmp_path / "params"), ctx.device)
    server.use(lt.load_server_keys(tmp_path / "keys", server))
    a = lt.load_ciphertext(tmp_path / "x", server)
    result = lt.to_bytes((a * a + server.encrypt(x)).rotate(1))

    owner = lt.load_client(tmp_path / "secret", ctx)
    z = owner.decrypt(lt.from_bytes(result, ctx))
    assert lt.precision(z, np.roll(x * x + x, -1).reshape(3, 20)).worst > 13
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_bundle_replaces_all_files_of_an_older_one(ctx, client, tmp_path):
    path, other = tmp_path / "keys", lt.keygen(ctx)
    lt.save_server_keys(path, ctx, client.server_keys(lambda a: a.apply_lut(abs), np.ones(4), public=True))
    first = lt.load_server_keys(path, ctx)
    assert first.public_key is not None and first.switching
    lt.save_server_keys(tmp_path / "other", ctx, other.server_keys(lambda a: a * a, np.ones(4), public=True))
    (tmp_path / "other.public").replace(tmp_path / "keys.public")
    with pytest.raises(lt.KeyError, match="one secret key"):
        lt.load_server_keys(path, ctx)
    lt.save_server_keys(path, ctx, other.server_keys(lambda a: a * a, np.ones(4)))
    second = lt.load_server_keys(path, ctx)
    assert second.public_key is None and not second.switching
    assert sorted(p.name for p in tmp_path.iterdir()) == ["keys", "other"]


def test_fresh_encryptions_are_stored_by_seed(client, tmp_path):
    x = client.encrypt(np.ones(512))
    assert len(lt.to_bytes(x)) < 0.6 * x.nbytes


def test_damaged_files_are_refused(ctx, client, tmp_path):
    whole = lt.to_bytes(client.encrypt(np.ones(8)))
    for damaged in (b"", whole[:50], whole[:-1], whole + b"x", b"x" + whole[1:]):
        with pytest.raises(lt.FileError):
            lt.from_bytes(damaged, ctx)
    for at in (0, 9, len(whole) // 2, len(whole) - 1):
        flipped = bytearray(whole)
        flipped[at] ^= 4
        with pytest.raises(lt.FileError):
            lt.from_bytes(bytes(flipped), ctx)
    with pytest.raises(lt.FileError):
        lt.load_ciphertext(tmp_path / "nowhere", ctx)


def test_things_that_no_file_holds(ctx, client, tmp_path):
    x = client.encrypt(np.ones(8))
    path, keys = tmp_path / "f", client.server_keys(lambda a: a * a, np.ones(8))
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    for use in (lambda: lt.save_params(path, "n16-d40-boot-v1"), lambda: lt.save_ciphertext(path, np.ones(8)),
                lambda: lt.to_bytes(None), lambda: lt.save_server_keys(path, ctx, client),
                lambda: lt.save_server_keys(path, exact, keys), lambda: lt.save_secret_key(path, keys),
                lambda: lt.from_bytes("text", ctx), lambda: lt.from_bytes(lt.to_bytes(x), ctx.params),
                lambda: lt.load_ciphertext(path, None), lambda: lt.load_client(path, client)):
        with pytest.raises(lt.UnsupportedError, match=r": had .+; needs .+; ") as e:
            use()
        assert e.value.operation
    assert list(tmp_path.iterdir()) == []
    for kind in (bytearray, memoryview):
        assert lt.from_bytes(kind(lt.to_bytes(x)), ctx).shape == (8,)


def test_files_of_other_parameters_are_refused(ctx, client):
    other = lt.Context("test-n10-leveled-insecure", ctx.device)
    with pytest.raises(lt.ContextError):
        lt.from_bytes(lt.to_bytes(client.encrypt(np.ones(8))), other)


@pytest.mark.parametrize("note", [
    "", "[]", "3", "[" * 60000, '{"shape": [Infinity], "clean": true, "error": 0.1}',
    '{"shape": [-2, -4], "clean": true, "error": 0.1}', '{"shape": [8], "clean": true, "error": NaN}',
    '{"shape": [9], "clean": true, "error": 0.1}', '{"shape": [8], "clean": true, "error": 1' + "0" * 400 + "}"],
    ids=["empty", "list", "number", "deep", "infinite", "negative", "nan", "too long", "huge"])
def test_hostile_descriptions_are_refused(ctx, client, note):
    data = lt._native.ciphertexts_to_bytes(client.encrypt(np.ones(8))._parts, note)
    with pytest.raises(lt.FileError):
        lt.from_bytes(data, ctx)
