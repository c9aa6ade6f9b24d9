"""Several ciphertexts at once, own scales, DLPack, combined plans, expected errors of replays."""

import numpy as np
import pytest

import latticino as lt
from latticino.ckks import plan as plans
from latticino.common.constants import ConstantCache

SLOTS = 512


class Tensor:
    """An object that only supports DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("options", [
    {"slot_to_coeff_first": True}, {"over_mod_raise": True, "arcsine": 1, "log_message_ratio": 0}])
def test_other_orders_of_bootstrapping(ctx, client, rng, options):
    x = rng.uniform(-1, 1, SLOTS)
    booter = ctx.bootstrapper(SLOTS, **options)
    start, after = booter.input_level, ctx.params.level_after_bootstrap
    assert (start > 0) == ("slot_to_coeff_first" in options) and booter.output_level == after + start
    plan = ctx.plan(lambda a: a.bootstrap(**options), lt.Shape((SLOTS,), level=start))
    ctx.use(client.server_keys(plan))
    fresh = client.encrypt(x, level=start).bootstrap(**options)
    assert fresh.level == booter.output_level == plan.levels[0]
    assert lt.precision(client.decrypt(fresh), x).mean > 12
    if start > 0:
        with pytest.raises(lt.LevelError):
            client.encrypt(x, level=start - 1).bootstrap(**options)


@pytest.mark.parametrize("size", [SLOTS, 700])
def test_two_real_ciphertexts_are_refreshed_as_one(ctx, client, rng, size):
    x, y = rng.uniform(-1, 1, (2, size))

    def program(a, b):
        return a.bootstrap_with(b)

    plan = ctx.plan(program, *(lt.Shape((size,), level) for level in (1, 2)))
    ctx.use(client.server_keys(plan))
    a, b = client.encrypt(x, level=1), client.encrypt(y, level=2)
    before = ctx.bootstraps
    for fresh, expected, level in zip(program(a, b), (x, y), plan.levels):
        assert fresh.level == level == ctx.params.level_after_bootstrap - 2 and fresh.shape == (size,)
        z = client.decrypt(fresh)
        assert lt.precision(z, expected).mean > 12
        assert abs(lt.precision(z, expected).mean - fresh.expected_bits) < 3
    assert ctx.bootstraps - before == plan.bootstraps == len(a._parts)
    with pytest.raises(lt.ShapeError):
        a.bootstrap_with(client.encrypt(x[:100]))
    with pytest.raises(lt.ShapeError):
        a.bootstrap_with(y)
    if size == SLOTS:
        with pytest.raises(lt.UnsupportedError, match="bootstrap_with"):
            a.bootstrap("merged")


def test_complex_values_are_not_refreshed_two_as_one(ctx, client):
    """Before, the imaginary parts of each array became errors of the other one, and the claim was that of real
    values."""
    x, z = np.array([0.5, -0.25]), np.array([0.5 + 0.5j, -0.25])

    def program(a, b):
        return a.bootstrap_with(b)

    ctx.use(client.server_keys(program, x, x))
    real, unstated = client.encrypt(x), client.encrypt(z)
    stated = client.encrypt(z, range=lt.Range(-1, 1, imag=(-1, 1)))
    for a, b in ((real, unstated), (unstated, real), (real, stated), (stated, stated)):
        with pytest.raises(lt.UnsupportedError, match="not known to be real"):
            program(a, b)
    with pytest.raises(lt.UnsupportedError, match="not known to be real"):
        ctx.plan(program, x, z)
    declared = client.encrypt(x + 0j).declare(-1, 1)
    for y in program(declared, declared):
        assert np.abs(client.decrypt(y) - x).max() < 2**-12


def test_sums_of_products_switch_keys_once(ctx, encrypted, rng):
    x, y = rng.uniform(-0.5, 0.5, (2, 4, 700))

    def program(*values):
        values = [values[0].to_level(ctx.level - 1), *values[1:]]  # the levels differ
        return lt.dot(values[:4], values[4:])

    z = encrypted(program, *x, *y)
    assert z.shape == (700,) and lt.precision(z, (x * y).sum(axis=0)).worst > 14
    values = [*x, *y]
    once = ctx.plan(lambda *v: lt.dot(v[:4], v[4:]), *values)
    single = ctx.plan(lambda *v: v[0] * v[4], *values)
    each = ctx.plan(lambda *v: v[0] * v[4] + v[1] * v[5] + v[2] * v[6] + v[3] * v[7], *values)
    switching = [n for n in each.bytes_by_name if each.bytes_by_name[n] == 4 * single.bytes_by_name.get(n, 0)
                 and once.bytes_by_name[n] == single.bytes_by_name[n]]
    assert switching and once.operations < each.operations and once.keys == single.keys


def test_sums_of_products_refuse_what_does_not_pair(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    ctx.use(client.server_keys(lambda a: a * a, x))
    a = client.encrypt(x)
    for xs, ys in (([], []), ([a], [a, a]), ([a], [x]), ([a, client.encrypt(x[:32])], [a, client.encrypt(x[:32])])):
        with pytest.raises(lt.ShapeError):
            lt.dot(xs, ys)
    with pytest.raises(lt.LevelError):
        lt.dot([a], [client.encrypt(x, level=0)])
    assert lt.precision(client.decrypt(lt.dot([a], [a])), x * x).worst > 15


def test_a_chosen_scale(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    ctx.use(client.server_keys(lambda a: a * a, x, public=True))
    for encrypt in (client.encrypt, ctx.encrypt):
        a = encrypt(x, scale=2.0**34)
        assert a.scale == 2.0**34 and lt.precision(client.decrypt(a), x).worst > 12
        assert a.expected_bits < encrypt(x).expected_bits - 4
        product = a * x
        assert product.scale == ctx.params.scale(product.level)
        assert lt.precision(client.decrypt(product), x * x).worst > 11
        low = a.to_level(a.level - 1)
        assert low.scale == ctx.params.scale(low.level) and lt.precision(client.decrypt(low), x).worst > 11
        for bad in (lambda: a + encrypt(x), lambda: a.to_level(a.level)):
            with pytest.raises(lt.ScaleError):
                bad()
        for scale in (2.0**1000, np.inf, np.nan, 0, -1.0, 2.0 ** (ctx.params.log_q(0) + 1)):
            with pytest.raises(lt.ScaleError):
                encrypt(x, level=0, scale=scale)
        assert encrypt(x).scale == ctx.params.scale(ctx.level)


def test_dlpack_in_and_out(ctx, client, rng):
    x = rng.uniform(-1, 1, (4, 16))
    ctx.use(client.server_keys(lambda a: a * a, x))
    a = client.encrypt(Tensor(x))
    z = client.decrypt(a * Tensor(x) + Tensor(x))
    out = np.from_dlpack(z.unmarked())
    assert a.shape == out.shape == (4, 16) and lt.precision(out, x * x + x).worst > 14
    assert ctx.plan(lambda b: b * b, Tensor(x)).levels == (ctx.level - 1,)
    assert lt.precision(client.decrypt(client.encrypt(Tensor(x[:, ::2]))), x[:, ::2]).worst > 14
    without = type("Without", (), {"__dlpack__": lambda self, **options: None})()
    with pytest.raises(lt.ShapeError, match="DLPack"):
        client.encrypt(without)


def test_dlpack_with_torch(client, rng):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(rng.uniform(-1, 1, 64))
    z = torch.from_dlpack(client.decrypt(client.encrypt(x)).unmarked())
    assert lt.precision(z.numpy(), x.numpy()).worst > 15


def test_plans_put_together_count_shared_keys_once(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    low = ctx.plan(lambda a: a.rotate(1) + a.rotate(2), lt.Shape((64,), 1))
    high = ctx.plan(lambda a: a.rotate(1) + a.rotate(3), x)
    for both in (low | high, high | low):
        keys = client.server_keys(both)
        assert len(both.keys) == 3 and both.key_bytes == keys.bytes and keys.missing(both) == []
        assert both.peak_bytes >= max(low.peak_bytes, high.peak_bytes, both.key_bytes + both.constant_bytes)
    same = ctx.plan(lambda a: a.rotate(1) + a.rotate(2), x)
    assert (low | same).key_bytes == same.key_bytes > low.key_bytes


def test_plans_carry_the_expected_error_of_an_example(ctx, client, rng):
    worse = client.encrypt(rng.uniform(-1, 1, 64), scale=2.0**34)
    twin, _ = ctx._dry()
    assert plans.stand_in(twin, ctx, worse * 1000).expected_bits == (worse * 1000).expected_bits


def test_replays_carry_the_error_of_their_arguments(ctx, client, rng):
    x = rng.uniform(-1, 1, 64)
    ctx.use(client.server_keys(lambda a: (a * a).sum() + a.sum(), x))
    good = client.encrypt(x, range=(-1, 1))
    bad = (good * 2**10 - good * (2**10 - 1)).declare(-1, 1)  # the same values with more noise

    def program(a):
        return (a * a + a).sum(), a * 0.5

    replayed = lt.record(program).record(good)
    for a in (good, bad):
        for had, needs in zip(replayed(a), program(a)):
            assert had.expected_bits == pytest.approx(needs.expected_bits, abs=1e-6)
    assert replayed(bad)[1].expected_bits < replayed(good)[1].expected_bits - 5


def test_encoded_matrices_are_kept_up_to_a_limit(ctx, client, rng):
    x = rng.uniform(-1, 1, 8)
    own = lt.Context("test-n10-leveled-insecure", ctx.device, threads=1)
    owner = lt.keygen(own)
    ctx_limit = own._products.limit
    assert 0 < ctx_limit < 2**40 and isinstance(own._products, ConstantCache)
    matrices = rng.uniform(-1, 1, (6, 8, 8))
    own.use(owner.server_keys(lambda a: a @ matrices[0], x))
    a = owner.encrypt(x)
    a @ matrices[0]
    own._products.limit = 2 * own._products.bytes
    for w in matrices:
        assert lt.precision(owner.decrypt(a @ w), x @ w).worst > 12
        assert own._products.bytes <= own._products.limit
    assert own.plan(lambda b: sum((b @ w for w in matrices), 0), x).constant_bytes == 3 * own._products.limit


def test_long_arrays_share_records(ctx):
    def program(x):
        y = x * x + 0.5 - x.conj()
        return (y * 0.25).to_level(1) + 2 * x

    one, sixteen, more = (ctx.plan(program, lt.Shape((count * ctx.slots,))).operations for count in (1, 16, 17))
    assert one == sixteen < more
