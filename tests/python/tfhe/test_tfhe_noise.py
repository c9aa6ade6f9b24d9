"""Noise of TFHE: wrong results are never silent, and the noise of re-randomisation is included."""

import warnings

import numpy as np
import pytest

import latticino as lt
from conftest import DEVICES
from tfhe_world import GATES, INTEGERS, World

V = np.arange(16, dtype=np.uint8)


@pytest.fixture(scope="module", params=DEVICES)
def world(request):
    return World(INTEGERS, request.param)


@pytest.fixture(scope="module", params=DEVICES)
def gates(request):
    return World(GATES, request.param)


def test_products_of_whole_messages_stay_right(world):
    x = world.client.encrypt(V, "m4").apply(lambda v: v)
    want = V.copy()
    for _ in range(8):
        x, want = x * 7, want * 7 % 16
        assert (world.client.decrypt(x) == want).all() and x.log_failure <= -128
    assert (world.client.decrypt(x == want) == True).all()  # noqa: E712
    plan = world.ctx.plan(lambda y: y * 7 * 7 * 7 * 7, world.client.encrypt(V, "m4"))
    assert plan.bootstrappings > 0, "plans count what operations bootstrap by themselves"


def test_sums_of_one_ciphertext_count_its_noise_as_often(world):
    x, y, z = world.encrypt(V, V, V, dtype="m4")

    def norm2(a):
        return a._parts[0].norm2

    assert norm2(x + y) == 2 and norm2(x + x) == 4 == norm2(2 * x)
    assert norm2((x + y) + (x + z)) == pytest.approx(8) and norm2((x + y) - (z + z)) == 6
    assert norm2(x[:8] + x[8:]) == 2, "other elements have other noise"
    assert norm2(x[:8] + x[np.arange(8) // 2]) == 4, "some of these are the same"
    f = x.apply(lambda v: v)
    assert norm2(f + x.apply(lambda v: v)) == 4, "one bootstrapping done twice gives one error"
    assert norm2(f[:8] + x[8:].apply(lambda v: v)) == 2
    again = lt.from_bytes(lt.to_bytes(x), world.ctx)
    assert norm2(again) == 1 and norm2(again + x) == 4, "a file's ciphertexts are those that were saved"
    assert norm2(x[:8].sum() if world.ctx.encrypted else x) == pytest.approx(8)


def test_programs_count_noise_by_the_arguments_of_each_call():
    """Recorded programs add elements and arguments as independent only if they are so in that call as well."""
    world = World(INTEGERS, "cpu")
    a, b = world.encrypt(V[:2], V[2:4], dtype="m4")

    def norm2(x):
        return x._parts[0].norm2

    def refused(program, *arguments):
        with pytest.raises(lt.ParameterError, match="independent"):
            program(*arguments)

    halves = lt.record(lambda u: u[:1] + u[1:])
    twice = lt.concatenate([a[:1], a[:1]])
    assert norm2(halves(a)) == 2 == norm2(halves(b))
    refused(halves, twice)
    assert norm2(halves(lt.concatenate([a[:1], b[:1]]))) == 2
    assert norm2(lt.record(lambda u: u[:1] + u[1:])(twice)) == 4
    total = lt.record(lambda u: u.sum())
    total(a)
    refused(total, twice)
    assert norm2(lt.record(lambda u: u * 3)(twice)) == 9 and norm2(lt.record(lambda u, v: u + v)(a, a[::-1])) == 2
    swapped = lt.record(lambda u, v: u[:1] + v[1:])
    assert norm2(swapped(a, b)) == 2 == norm2(swapped(b, a))
    refused(swapped, a, a[::-1])
    held = lt.record(lambda u: u + b)
    assert norm2(held(a)) == 2
    refused(held, b)
    f = lt.record(lambda u, v: u.apply(lambda m: m) + v)
    assert norm2(f(a, b)) == 2 == norm2(f(b, a))
    refused(f, b, b.apply(lambda m: m))
    # A program's results have the errors of its arguments.
    alike, bootstrapped = lt.record(lambda u: u + 1), lt.record(lambda u: u.apply(lambda m: m))
    alike(a), bootstrapped(a)
    assert norm2(alike(b) + b) == 4 == norm2(bootstrapped(b) + b.apply(lambda m: m))
    assert norm2(alike(b) + a) == 2 == norm2(bootstrapped(b) + bootstrapped(a))
    assert norm2(bootstrapped(b) + bootstrapped(b)) == 4


def test_saved_programs_and_plans_count_elements_that_are_one(tmp_path):
    world = World(INTEGERS, "cpu")
    a, = world.encrypt(V[:2], dtype="m4")
    twice = lt.concatenate([a[:1], a[:1]])
    lt.save_program(tmp_path / "halves", lambda u: u[:1] + u[1:], world.ctx, lt.tfhe.Shape((2,), "m4"))
    loaded = lt.load_program(tmp_path / "halves")
    assert loaded.run(world.ctx, a)._parts[0].norm2 == 2 and loaded.run(world.ctx, twice)._parts[0].norm2 == 4
    seen = []
    for example in (lt.tfhe.Shape((2,), "m4"), a, twice):
        world.ctx.plan(lambda u: seen.append((u[:1] + u[1:])._parts[0].norm2) or u, example)
    assert seen == [2, 2, 4]


def test_results_out_of_files_count_as_the_noisiest(world):
    x = world.client.encrypt(V, "u4")
    y = lt.where(x > 3, x, 15 - x if False else 3)
    back = lt.from_bytes(lt.to_bytes(y), world.ctx)
    assert all(p.norm2 == 25 for p in back._parts)
    assert (world.client.decrypt(back) == np.where(V > 3, V, 3)).all()
    want = np.where(V > 3, V, 3)
    for got, right in ((back + back, 2 * want % 16), (back * back, want * want % 16), (back - x, (want - V) % 16),
                       (back & x, want & V), (back << 1, want << 1 & 15), (back << (x & 1), want << (V & 1) & 15),
                       (lt.where(back < x, back, x), np.minimum(want, V)), (back.sum(), want.sum() % 16),
                       (back.apply(lambda v: v ^ 5), want ^ 5), (back.astype("m4") * 7, want * 7 % 16)):
        assert (world.client.decrypt(got) == right).all()
    whole = lt.from_bytes(lt.to_bytes(x.astype("m4") * 3), world.ctx)
    assert whole._parts[0].norm2 == 96
    assert (world.client.decrypt(whole * 7 + whole) == V.astype(int) * 24 % 16).all()


def test_gates_on_results_out_of_files(gates):
    a = np.array([0, 0, 1, 1], bool)
    b = np.array([0, 1, 0, 1], bool)
    x, y = gates.encrypt(a, b)
    z = lt.from_bytes(lt.to_bytes(lt.where(x, y, x)), gates.ctx)
    assert z._parts[0].norm2 >= 1
    want = np.where(a, b, a)
    assert (gates.client.decrypt(z & y) == (want & b)).all() and (gates.client.decrypt(z ^ z[::-1]) == (want ^ want[::-1])).all()
    assert (gates.client.decrypt(lt.where(z, z, y)) == np.where(want, want, b)).all()


@pytest.mark.parametrize("name", [GATES, INTEGERS])
@pytest.mark.parametrize("arithmetic", ["exact", "fft64"])
def test_public_keys_encrypt_and_rerandomise(name, arithmetic, tmp_path):
    ctx = lt.tfhe.Context(name, "cpu", threads=1, arithmetic=arithmetic, rerandomize=True)
    client = lt.keygen(ctx)
    with pytest.raises(lt.KeyError, match="public"):
        ctx.use(client.server_keys())
    keys = client.server_keys(public=True)
    assert keys.has_public_key
    lt.save_server_keys(tmp_path / "keys", ctx, keys)
    loaded = lt.load_server_keys(tmp_path / "keys", ctx)
    assert loaded.has_public_key and loaded.bytes == keys.bytes
    ctx.use(loaded)
    bits = np.array([0, 1, 1, 0, 1], bool)
    x = client.encrypt(bits)
    y = x.rerandomize()
    assert (client.decrypt(y) == bits).all() and lt.to_bytes(y) != lt.to_bytes(x.rerandomize())
    assert all(0 < b.norm2 - a.norm2 < 1 for a, b in zip(x._parts, y._parts))
    assert (client.decrypt(ctx.encrypt(bits) & ~x) == (bits & ~bits)).all()
    outside = lt.from_bytes(lt.to_bytes(x), ctx)
    first, second = outside & x, outside & x
    assert (client.decrypt(first) == bits).all()
    assert lt.to_bytes(first) != lt.to_bytes(second), "other masks, so other noise, at each use"
    assert lt.to_bytes(x & y) == lt.to_bytes(x & y), "what is not from outside stays as it is"
    assert ctx.plan(lambda a: a & a[::-1], lt.tfhe.Shape((5,))).bootstrappings == 5
    if name == INTEGERS:
        v = ctx.encrypt(V, "u4")
        assert (client.decrypt(v + lt.from_bytes(lt.to_bytes(v), ctx)) == 2 * V % 16).all()
        assert (client.decrypt(ctx.encrypt(V, "m4") * 5) == V * 5 % 16).all()
    with pytest.raises(lt.UnsupportedError):
        lt.record(lambda a: a.rerandomize())(x)


def test_noise_of_a_public_encryption_is_what_is_counted():
    ctx = lt.tfhe.Context("test-tfhe-2-2-insecure", "cpu", threads=1)
    client = lt.keygen(ctx)
    ctx.use(client.server_keys(public=True))
    x = ctx.encrypt(np.zeros(4096, np.uint8), "u2")
    measured = np.sqrt(np.mean(client._native.errors(x._parts[0]) ** 2))
    counted = np.sqrt(x._parts[0].norm2 * ctx.params.variances(ctx.arithmetic == "fft64")[0])
    # Most of it is the key's error times the mean of u: slow random walks, which differ from key to key. Of 8 keys the
    # square was 1.07 with a deviation of 0.16; the largest walk is one squared normal number, so that it is above 4 with
    # a probability below 1e-7.
    assert 0.5 < measured / counted < 2


def test_public_keys_are_needed_for_what_takes_one(world):
    x = world.client.encrypt(V, "u4")
    for use in (x.rerandomize, lambda: world.ctx.encrypt(V, "u4")):
        with pytest.raises(lt.KeyError, match="public=True"):
            use()


def test_sets_below_the_default_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error", lt.SecurityWarning)
        for make in (lambda: lt.Context("test-n10-leveled-insecure", "cpu"), lambda: lt.tfhe.Context(GATES, "cpu"),
                     lambda: lt.tfhe.Context("chameleon-630-legacy", "cpu"),
                     lambda: lt.tfhe.Context("tfhe-gates-p64-v2", "cpu")):
            with pytest.raises(lt.SecurityWarning):
                make()
        lt.tfhe.Context("tfhe-gates-v2", "cpu")
        lt.Context("n13-d30-leveled-v1", "cpu")
    for ctx in (lt.tfhe.Context(GATES, "cpu"), lt.Context("test-n10-leveled-insecure", "cpu")):
        with pytest.warns(lt.SecurityWarning, match="keygen"):
            lt.keygen(ctx)
    assert "do NOT share" in lt.tfhe.preset("tfhe-2-2-p64-v1").explain()
