"""Bundles of server keys as bytes, one file and streams; final answers."""

import io
import os
import threading
import tracemalloc
import warnings

import numpy as np
import pytest

import latticino as lt


@pytest.fixture(scope="module")
def keys(ctx, client):
    return client.server_keys(lambda a: (a * a).rotate(1).apply_lut(abs), np.zeros(64), public=True)


@pytest.fixture(scope="module")
def exact():
    ctx = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    return ctx, lt.keygen(ctx)


def same(a, b):
    assert a.id == b.id and set(a.labels) == set(b.labels) and a.switching == b.switching
    assert (a.public_key is None) == (b.public_key is None) and a.bytes == b.bytes


@pytest.mark.slow
def test_bytes_file_and_stream_are_the_same(ctx, client, keys, tmp_path, rng):
    data = lt.to_bytes(keys)
    path, stream = tmp_path / "keys", io.BytesIO()
    lt.save_server_keys(path, ctx, keys, one_file=True)
    lt.save_server_keys(stream, ctx, keys)
    assert path.read_bytes() == stream.getvalue() == data and [p.name for p in tmp_path.iterdir()] == ["keys"]
    stream.seek(0)
    with path.open("rb") as file:
        loaded = [lt.from_bytes(data, ctx, kind=lt.ServerKeys), lt.load_server_keys(path, ctx),
                  lt.load_server_keys(stream, ctx), lt.load_server_keys(file, ctx)]
    x = rng.uniform(-1, 1, 64)
    for bundle in loaded:
        same(bundle, keys)
        y = (bound := ctx.bind(bundle)).encrypt(x)
        assert lt.precision(client.decrypt((y * y).rotate(1)), np.roll(x * x, -1)).worst > 13 and y.context is bound


@pytest.mark.slow
def test_one_file_takes_the_place_of_several(ctx, keys, tmp_path):
    path = tmp_path / "keys"
    lt.save_server_keys(path, ctx, keys)
    assert len(list(tmp_path.iterdir())) == 3
    same(lt.load_server_keys(path, ctx), keys)
    lt.save_server_keys(path, ctx, keys, one_file=True)
    assert len(list(tmp_path.iterdir())) == 1
    same(lt.load_server_keys(path, ctx), keys)
    lt.save_server_keys(path, ctx, keys)
    same(lt.load_server_keys(path, ctx), keys)


def test_pipes_carry_several_objects(ctx, client, keys, exact, tmp_path):
    tfhe, owner = exact
    theirs = owner.server_keys(public=True)
    read, write = os.pipe()

    def send():
        with os.fdopen(write, "wb", buffering=0) as file:  # unbuffered, so writes may be short
            lt.save_server_keys(file, ctx, keys)
            lt.save_server_keys(file, tfhe, theirs)
            file.write(b"more")

    thread = threading.Thread(target=send)
    thread.start()
    with os.fdopen(read, "rb", buffering=0) as file:
        same(lt.load_server_keys(file, ctx), keys)
        assert lt.load_server_keys(file, tfhe).id == theirs.id
        assert file.read() == b"more"
    thread.join()


@pytest.mark.slow
def test_a_file_without_readinto_and_odd_files(ctx, keys):
    data = lt.to_bytes(keys)

    class Reads:
        def __init__(self, data):
            self.inner = io.BytesIO(data)

        def read(self, n):
            return self.inner.read(min(n, 100_000))

    same(lt.load_server_keys(Reads(data), ctx), keys)
    with pytest.raises(lt.FileError, match="binary mode"):
        lt.load_server_keys(io.StringIO("text"), ctx)
    with pytest.raises(TypeError):
        lt.save_server_keys(io.StringIO(), ctx, keys)
    with pytest.raises(lt.FileError, match="truncated"):
        lt.load_server_keys(io.BytesIO(data[: len(data) // 2]), ctx)

    class Full(io.BytesIO):
        def write(self, data):
            return 0

    with pytest.raises(lt.FileError, match="no more bytes"):
        lt.save_server_keys(Full(), ctx, keys)


@pytest.mark.slow
def test_signed_bundles(ctx, keys):
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    private, other = ed25519.Ed25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()
    data = lt.to_bytes(keys, sign=private)
    same(lt.from_bytes(data, ctx, kind=lt.ServerKeys, verify=private.public_key()), keys)
    same(lt.load_server_keys(io.BytesIO(data + b"more"), ctx, verify=private.public_key()), keys)
    for bad, check in ((data, other.public_key()), (lt.to_bytes(keys), private.public_key())):
        with pytest.raises(lt.FileError):
            lt.from_bytes(bad, ctx, kind=lt.ServerKeys, verify=check)
        with pytest.raises(lt.FileError):
            lt.load_server_keys(io.BytesIO(bad), ctx, verify=check)


def test_keys_and_ciphertexts_are_not_taken_for_each_other(ctx, client, keys, exact):
    data, x = lt.to_bytes(keys), lt.to_bytes(client.encrypt(np.ones(8)))
    with pytest.raises(lt.FileError, match="bundle of keys"):
        lt.from_bytes(data, ctx)
    with pytest.raises(lt.FileError, match="leave kind out"):
        lt.from_bytes(x, ctx, kind=lt.ServerKeys)
    with pytest.raises(lt.UnsupportedError, match="lt.tfhe.ServerKeys"):
        lt.from_bytes(data, exact[0], kind=lt.ServerKeys)
    with pytest.raises(lt.FileError):
        lt.from_bytes(data, exact[0], kind=lt.tfhe.ServerKeys)
    other = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    with pytest.raises(lt.ContextError):
        lt.from_bytes(data, other, kind=lt.ServerKeys)
    with pytest.raises(lt.UnsupportedError, match="final"):
        lt.to_bytes(keys, final=True)


@pytest.mark.slow
def test_damaged_bundles(ctx, keys):
    whole = lt.to_bytes(keys)
    for damaged in (b"", whole[:50], whole[:-1], whole + b"x", b"x" + whole[1:]):
        with pytest.raises(lt.FileError):
            lt.from_bytes(damaged, ctx, kind=lt.ServerKeys)
    for at in (9, 100, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        flipped = bytearray(whole)
        flipped[at] ^= 4
        with pytest.raises(lt.FileError):
            lt.from_bytes(bytes(flipped), ctx, kind=lt.ServerKeys)


def test_bytes_are_made_in_place(ctx, client):
    keys = client.server_keys(lambda a: sum((a.rotate(i) for i in range(1, 40)), a), np.zeros(512))
    tracemalloc.start()
    data = lt.to_bytes(keys)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(data) > 1 << 21 and peak < 1.1 * len(data)


def test_final_answers_are_small_and_keep_their_precision(ctx, client, rng):
    x = rng.uniform(-1, 1, 512)
    ctx.use(client.server_keys(lambda a: a * a, x))
    for declared in ({}, {"range": (-1, 1)}):
        y = client.encrypt(x, **declared) * client.encrypt(x, **declared)
        low = y.to_level(0)
        sent = lt.to_bytes(y, final=True)
        assert len(sent) < (0.85 if not declared else 0.75) * len(lt.to_bytes(low)) < 0.3 * len(lt.to_bytes(y))
        z = lt.from_bytes(sent, ctx)
        assert isinstance(z, lt.Answer) and z.level == 0 and z.shape == (512,) and z.nbytes == low.nbytes
        assert low.expected_bits - 0.1 < z.expected_bits < low.expected_bits
        got = lt.precision(client.decrypt(z), x * x)
        assert abs(got.mean - z.expected_bits) < (1 if not declared else 3) and got.mean > low.expected_bits - 0.5
        assert client.noise(z, x * x).bits.unmarked() == pytest.approx(got.mean), "of real parts, as precision"
        assert client.decrypt_for_sharing(z, 2.0**25, 4).values.shape == (512,)
    few = client.encrypt(x[:4])
    assert len(lt.to_bytes(few, final=True)) < 0.55 * len(lt.to_bytes(client.encrypt(x), final=True))
    assert lt.precision(client.decrypt(lt.from_bytes(lt.to_bytes(few, final=True), ctx)), x[:4]).worst > 20


@pytest.mark.parametrize("scale", [1e-6, 1.0, 500.0])
@pytest.mark.parametrize("kind", ["positive", "constant", "one-sided", "complex", "spike"])
def test_final_answers_of_any_data(ctx, client, rng, scale, kind):
    x = {"positive": rng.uniform(0, 1, 300), "constant": np.ones(300), "one-sided": -rng.uniform(0.9, 1, 300),
         "complex": rng.uniform(-1, 1, 300) * (1 + 1j), "spike": np.eye(1, 300)[0]}[kind] * scale
    parts = (-scale, scale)
    y = client.encrypt(x, range=lt.Range(*parts, imag=parts if kind == "complex" else (0, 0)))
    z = lt.from_bytes(lt.to_bytes(y, final=True), ctx)
    assert lt.precision(client.decrypt(z), x).mean > z.expected_bits - 0.5


@pytest.mark.parametrize("size", [16.0, 22.0, 32.0, 100.0, 1000.0])
def test_final_answers_keep_values_beyond_level_0(ctx, client, rng, size):
    """Level 0 holds values below 512. Squares of values up to 1,000 were brought there all the same and lost all bits;
    and squares declared beyond 512 that were smaller lost 37 bits, which were left out."""
    ctx.use(client.server_keys(lambda a: a * a, lt.Shape((300,))))
    for largest in (size, min(size, 20)):
        x = rng.uniform(-largest, largest, 300)
        for claims in ({"range": (-size, size)}, {"like": x}):
            stated = client.encrypt(x, **claims)
            y = stated * stated
            with warnings.catch_warnings():
                warnings.simplefilter("error", lt.RangeWarning)
                sent = lt.to_bytes(y, final=True)
            got = lt.from_bytes(sent, ctx)
            low = y.to_level(got.level)
            final, direct = lt.precision(client.decrypt(got), x * x), lt.precision(client.decrypt(low), x * x)
            # The claimed error grows with the declared bounds, and the dropped bits follow from that claim.
            assert final.mean > min(direct.mean, y.expected_bits) - 0.06 - 0.1  # 0.1 bits: there are 300 values
            assert ("Answer" in repr(got)) == (y.range.high < 512)
            assert len(sent) < len(lt.to_bytes(y)) or y.level == got.level


def test_answers_are_for_decrypting(ctx, client):
    z = lt.from_bytes(lt.to_bytes(client.encrypt(np.ones(8)), final=True), ctx)
    other = client.encrypt(np.ones(8))
    for use in (lambda: z + z, lambda: z * 2, lambda: z + 1, lambda: other + z, lambda: other * z, lambda: z.rotate(1),
                lambda: z.to_level(0), lambda: -z, lambda: lt.to_bytes(z), z.sum,
                lambda: lt.to_bytes(z, final=True), lambda: client.encrypt(np.ones((4, 8))) + z):
        with pytest.raises(lt.UnsupportedError, match="final answer"):
            use()
    assert "Answer" in repr(z) and "Answer" not in repr(other) and "<table" in z._repr_html_()


def test_final_is_of_ckks_arrays(ctx, client, exact):
    _, owner = exact
    with pytest.raises(lt.UnsupportedError, match="CKKS"):
        lt.to_bytes(owner.encrypt([1], "u8"), final=True)
    with pytest.raises(lt.ValueError):
        lt.to_bytes(client.encrypt(np.ones(8)), final="yes")
    several = client.encrypt(np.linspace(0, 1, 1300).reshape(13, 100))
    z = client.decrypt(lt.from_bytes(lt.to_bytes(several, final=True), ctx))
    assert lt.precision(z, np.linspace(0, 1, 1300).reshape(13, 100)).worst > 15


def test_slots_without_values_count_for_what_an_answer_cuts_above(ctx, client):
    x = np.concatenate([np.full(8, 0.5), np.full(504, 400.0)])
    y = client.encrypt(x, range=(-500, 500))[:8].declare(-1, 1)
    z = lt.from_bytes(lt.to_bytes(y, final=True), ctx)
    assert lt.precision(client.decrypt(z), x[:8]).worst > 15


@pytest.mark.filterwarnings("ignore::latticino.RangeWarning")
def test_arrays_of_which_no_error_is_known(ctx, client):
    """After enough products the bound of the error is infinite, and later that of the values too. Files of such arrays
    are read back, and an answer keeps all bits, because no rounding is known to be small compared with the error."""
    y = client.encrypt(np.zeros(8))
    while np.isfinite(y._known.error) or np.isfinite(y.range.high):
        y = y * 2**20
    assert np.array_equal(client.decrypt(lt.from_bytes(lt.to_bytes(y), ctx)), client.decrypt(y))
    z = lt.from_bytes(lt.to_bytes(y, final=True), ctx)
    assert z.shape == y.shape and z.level == 0 and z._known.error >= 1e308
    x = client.encrypt(np.zeros(8))
    noisy = x._like(x._parts, x._known.plus_error(2.0**-20))
    assert len(lt.to_bytes(y, final=True)) > 5 * len(lt.to_bytes(noisy, final=True)) / 4


@pytest.mark.filterwarnings("ignore::latticino.RangeWarning")
def test_arrays_of_a_declared_range_whose_bounds_are_no_numbers(ctx, client):
    """Infinity times 0 is NaN. Such an array has a file and an answer like any other."""
    y = client.encrypt(np.zeros(8), range=(-1, 1))
    while np.isfinite(y.range.high):
        y = y * 2**20
    y = y * 0.0
    assert np.isnan(y.range.high) and y.range.claim == "declared"
    for final in (False, True):
        z = lt.from_bytes(lt.to_bytes(y, final=final), ctx)
        assert np.abs(client.decrypt(z)).max() < 2**-8
