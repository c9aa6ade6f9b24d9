"""Refusals of comparisons, tables and ranks: they come before anything is computed, so that no key is needed."""

import numpy as np
import pytest

import latticino as lt
from conftest import PRESET

X = np.linspace(-0.5, 0.5, 8)


@pytest.fixture(scope="module")
def bare(device):
    """A context without keys, and its client."""
    ctx = lt.Context(PRESET, device, threads=1)
    return ctx, lt.keygen(ctx)


REAL = {
    "table": lambda a: a.apply_lut(abs), "some": lambda a: a.apply_lut(abs, where=X > 0),
    "number": lambda a: a.compare(0.0), "array": lambda a: a.compare(a[::-1]), "clear": lambda a: a.compare(X[::-1]),
    "polynomial": lambda a: a.compare(a[::-1], method="polynomial"),
    "max": lambda a: a.max(), "argmax": lambda a: a.argmax(), "two": lambda a: a.max(0.1), "other": lambda a: a.max(a[::-1]),
    "max of one": lambda a: a[:1].max(), "min of one": lambda a: a[:1].min(), "first of one": lambda a: lt.top_k(a[:1], 1),
    "max ranks": lambda a: a.max(method="ranks"), "argmax ranks": lambda a: a.argmax(method="ranks"),
    "max polynomial": lambda a: a.max(method="polynomial"), "argmax polynomial": lambda a: a.argmax(method="polynomial"),
    "min": lambda a: a.min(), "argmin": lambda a: a.argmin(), "min polynomial": lambda a: a.min(method="polynomial"),
    "top": lambda a: lt.top_k(a, 2), "top polynomial": lambda a: lt.top_k(a, 2, method="polynomial"),
    "sort": lambda a: lt.sort(a, (-1, 1)), "softmax": lambda a: lt.softmax(a, -1, (-1, 1)),
    "logsumexp": lambda a: lt.logsumexp(a, -1, (-1, 1)), "sign": lambda a: a.sign(), "abs": lambda a: a.abs(),
    "relu": lambda a: a.relu(), "maximum": lambda a: a.maximum(a[::-1]), "minimum": lambda a: a.minimum(a[::-1]),
    "inverse": lambda a: a.inverse((0.5, 3), method="iterations"), "sqrt": lambda a: a.sqrt((0.5, 3), method="iterations")}


@pytest.mark.parametrize("name", REAL)
def test_complex_values_are_refused_where_they_are_known_to_be(bare, name):
    """Before, some needed keys first, for a product or for values in other slots."""
    ctx, client = bare
    z = X * (1 + 0.5j)
    encrypted = client.encrypt(z, like=z)
    for values in (encrypted, encrypted[::-1], lt.concatenate([encrypted[:4], encrypted[4:]])):
        with pytest.raises(lt.UnsupportedError, match="had complex values .* real ones"):
            REAL[name](values)
    with pytest.raises(lt.UnsupportedError, match="real ones"):
        ctx.plan(REAL[name], z)


@pytest.mark.parametrize("other", [1j, X * 1j, np.complex64(0.5 + 0.5j), "encrypted"])
@pytest.mark.parametrize("use", [lambda a, b: a.compare(b), lambda a, b: a.compare(b, method="polynomial"), lambda a, b: a.max(b),
                                 lambda a, b: a.maximum(b), lambda a, b: a.minimum(b)])
def test_the_other_operand_must_be_real_too(bare, use, other):
    _, client = bare
    if isinstance(other, str):
        other = client.encrypt(X * 1j, like=X * 1j)[::-1]
    with pytest.raises(lt.UnsupportedError, match="had complex values .*real"):
        use(client.encrypt(X), other)


def test_a_plan_of_a_shape_without_a_range_says_how_to_state_one(bare):
    ctx, _ = bare
    for use in (lambda a: a.abs(), lambda a: lt.top_k(a, 2, method="polynomial"), lambda a: lt.sort(a, (-1, 1))):
        with pytest.raises(lt.UnsupportedError, match=r"plan for lt.Shape\(shape, None, \(low, high\)\)"):
            ctx.plan(use, lt.Shape((8,)))
    with pytest.raises(lt.LevelError):  # these are real now; the set has fewer levels
        ctx.plan(lambda a: lt.top_k(a, 2, method="polynomial"), lt.Shape((8,), ctx.level, (-1, 1)))


WRONG = {
    "route": (lambda a: a.apply_lut(abs, route="road"), lt.ValueError, "automatic, ring or matvec"),
    "no text": (lambda a: a.apply_lut(abs, route=3), lt.ValueError, "route=3"),
    "flag": (lambda a: a.apply_lut(abs, minimal_keys="yes"), lt.ValueError, "minimal_keys='yes'"),
    "set": (lambda a: a.apply_lut(abs, switching="none"), lt.ParameterError, "the set 'none'"),
    "mask": (lambda a: a.apply_lut(abs, where=np.ones(3, bool)), lt.ShapeError, r"where of shape \(3,\)"),
    "kind of mask": (lambda a: a.apply_lut(abs, where=X), lt.ShapeError, "type float64"),
    "no value": (lambda a: a.apply_lut(lambda v: None), lt.ValueError, "= None"),
    "infinity": (lambda a: a.apply_lut(lambda v: np.inf), lt.ValueError, "define f there"),
    "compare": (lambda a: a.compare(a[::-1], route="road"), lt.ValueError, "^compare: .*matvec"),
    "option": (lambda a: a.compare(a[::-1], gaps=1), lt.UnsupportedError, "the option gaps .* minimal_keys and route"),
    "max": (lambda a: a.max(gaps=1), lt.UnsupportedError, "^max: had the option gaps"),
    "ranks": (lambda a: a.argmax(method="ranks", gaps=1), lt.UnsupportedError, "^argmax: had the option gaps"),
    "top": (lambda a: lt.top_k(a, 2, route="road"), lt.ValueError, "^top_k: .*matvec"),
    "set of top": (lambda a: lt.top_k(a, 2, switching="none"), lt.ParameterError, "the set 'none'"),
    "two": (lambda a: a.max(a[::-1], bound=-1), lt.ValueError, "^max: had bound=-1"),
    "bound": (lambda a: a.argmax(a), lt.ValueError, "^argmax: had bound="),
    "bits": (lambda a: a.maximum(a[::-1], bits="many"), lt.ValueError, "^maximum: had bits='many'"),
    "few bits": (lambda a: a.minimum(a[::-1], bits=-1), lt.ValueError, "bits from 1 to 19"),
    "shape": (lambda a: a.compare(np.ones(3)), lt.ShapeError, "^compare: had shapes"),
    "shape of a maximum": (lambda a: a.maximum(a[:3]), lt.ShapeError, "^maximum: had shapes"),
    "text": (lambda a: a.minimum("x"), lt.ShapeError, "^minimum: had dtype"),
    "shape of a quotient": (lambda a: a.divide(a[:3], (0.5, 1)), lt.ShapeError, "^divide: had shapes"),
    "clear shape of a quotient": (lambda a: np.ones(3) / a.declare(0.5, 1), lt.ShapeError, "^divide: had shapes"),
    # The result for a single value needs no computation. Options are checked all the same.
    "one": (lambda a: lt.top_k(a[:1], 1, method="best"), lt.UnsupportedError, "method='best'"),
    "option of one": (lambda a: lt.top_k(a[:1], 1, gaps=1), lt.UnsupportedError, "the option gaps"),
    "gap of one": (lambda a: a[:1].min(gap=0.1), lt.UnsupportedError, "gap or bits"),
    "wide gap of one": (lambda a: a[:1].min(method="polynomial", gap=5), lt.ValueError, "gap=5"),
    "max of one": (lambda a: a[:1].max(switching="none"), lt.ParameterError, "the set 'none'")}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_are_checked_first(bare, name):
    _, client = bare
    use, kind, message = WRONG[name]
    for values in (client.encrypt(X), client.encrypt(X)[::-1]):
        with pytest.raises(kind, match=message):
            use(values)


# ---- advice that works ----


@pytest.mark.parametrize("use", [lambda a, b: a.apply_lut(abs, b), lambda a, b: a.compare(0, b), lambda a, b: a.max(bound=b),
                                 lambda a, b: lt.top_k(a, 2, b)])
@pytest.mark.parametrize("bound, factor", [(1e300, 1e-300), (1e-300, 1e300)])
def test_bounds_that_no_table_has(bare, use, bound, factor):
    """Before, errors were about scales and moduli of internal steps."""
    ctx, _ = bare
    shape = lt.Shape((8,), ctx.level)
    with pytest.raises(lt.ValueError, match=r"a bound from 2\^-40 to 2\^64, .*; multiply the values by a number"):
        ctx.plan(lambda a: use(a, bound), shape)
    for possible in (bound * factor, 2.0**-40, 2.0**64):
        assert ctx.plan(lambda a: use(a, possible), shape).lookups


def test_values_that_no_table_has(bare):
    ctx, client = bare
    with pytest.raises(lt.ValueError, match=r"f\(.*\) = 1e\+300; needs values of at most 2\^64 in size; divide f by a number"):
        client.encrypt(X).apply_lut(lambda v: 1e300)
    assert ctx.plan(lambda a: a.apply_lut(lambda v: 1e300 / 1e290), lt.Shape((8,), ctx.level)).lookups


@pytest.mark.parametrize("name", ["max", "argmax"])
def test_rounds_that_lack_levels_name_what_has_them(bare, device, name):
    """Before, it was an error of `apply_lut` in the last of the rounds, and the level that it asked for did not exist.
    """
    ctx, _ = bare
    plan = lambda context, count, **how: context.plan(  # noqa: E731
        lambda a: getattr(a, name)(**how), lt.Shape((count,), ctx.level, (-1, 1)))
    with pytest.raises(lt.LevelError, match=f'^{name}: had level 7 for 6 rounds .* auto_bootstrap=True.* method="ranks"'):
        plan(ctx, 33)
    assert plan(ctx, 32).levels == (1,)
    assert plan(ctx, 33, method="ranks").bits[0][0] > 10
    refreshing = lt.Context(PRESET, device, threads=1, auto_bootstrap=True)
    assert plan(refreshing, 33).bits[0][0] > 5  # the range of indices grew threefold in each round
    plan(refreshing, 600)
    with pytest.raises(lt.LevelError, match=r"had level 3 for 2 rounds .*; bootstrap\(\) first"):
        ctx.plan(lambda a: getattr(a, name)(), lt.Shape((3,), 3, (-1, 1)))
    ctx.plan(lambda a: getattr(a.bootstrap(), name)(), lt.Shape((3,), 3, (-1, 1)))


def test_the_largest_of_many_values_takes_no_index_along(bare, device):
    refreshing = lt.Context(PRESET, device, threads=1, auto_bootstrap=True)
    shape = lt.Shape((1100,), refreshing.level, (-1, 1))
    value, index = (refreshing.plan(f, lt.Shape((600,), refreshing.level, (-1, 1))) for f in (
        lambda a: a.max(), lambda a: a.argmax()))
    assert value.bootstraps < index.bootstraps
    refreshing.plan(lambda a: a.max(), shape)  # indices beyond 1,024 cannot be bootstrapped


@pytest.mark.slow
def test_the_index_of_the_largest_of_33_values_where_the_context_refreshes(device, rng):
    ctx = lt.Context(PRESET, device, threads=1, auto_bootstrap=True)
    client = lt.keygen(ctx)
    x = rng.permutation(np.linspace(-0.9, 0.9, 33))
    ctx.use(client.server_keys(lambda a: a.argmax(), lt.Shape(x.shape, ctx.level, (-1, 1))))
    assert abs(client.decrypt(client.encrypt(x, level=ctx.level, range=(-1, 1)).argmax()).real - x.argmax()) < 0.1


# ---- keys of another client ----

OF_OTHERS = {"table": lambda a: a.apply_lut(abs), "some": lambda a: a.apply_lut(abs, where=X > 0), "compare": lambda a: a.compare(0.1),
             "max": lambda a: a.max(0.1), "values that move": lambda a: a[::-1].apply_lut(abs), "rounds": lambda a: a.argmax(),
             "ranks": lambda a: lt.top_k(a, 2), "recorded": lambda a: lt.record(lambda v: v.apply_lut(abs))(a)}


@pytest.fixture(scope="module")
def two(device):
    """A context that has keys of the first of two clients, with switching keys."""
    ctx = lt.Context(PRESET, device, threads=1)
    first, second = lt.keygen(ctx), lt.keygen(ctx)
    keys = first.server_keys(lambda a: [f(a) for f in (*OF_OTHERS.values(),) if f is not OF_OTHERS["recorded"]], X)
    ctx.use(keys)
    return ctx, first, second, keys


@pytest.mark.parametrize("name", OF_OTHERS)
def test_switching_keys_of_another_client_are_refused(two, name):
    ctx, first, second, _ = two
    names = {"max": "max", "compare": "compare", "rounds": "", "ranks": ""}
    OF_OTHERS[name](first.encrypt(X, level=ctx.level))
    with pytest.raises(lt.KeyError, match=f"^{names.get(name, 'apply_lut')}.*needs keys of .*{second.key_id}"):
        OF_OTHERS[name](second.encrypt(X, level=ctx.level))


def test_switching_keys_of_another_client_are_refused_in_sessions_files_and_recordings(two, device, tmp_path):
    ctx, first, second, keys = two
    use = OF_OTHERS["table"]
    program = lt.record(use)
    program(first.encrypt(X))
    session = ctx.bind(keys)
    for f in (program, lambda b: use(session(b))):
        with pytest.raises(lt.KeyError, match=second.key_id):
            f(second.encrypt(X))
    others = second.server_keys(use, X)
    for name, bundle in (("a", keys), ("b", others)):
        lt.save_server_keys(tmp_path / name, ctx, bundle)
    fresh = lt.Context(PRESET, device, threads=1)
    set_of_keys, = keys.switching
    (tmp_path / f"b.{set_of_keys}").rename(tmp_path / f"a.{set_of_keys}")
    with pytest.raises(lt.KeyError, match="needs files of one secret key"):
        lt.load_server_keys(tmp_path / "a", fresh)
    with open(tmp_path / "bundle", "w+b") as stream:
        lt.save_server_keys(stream, ctx, keys)
        stream.seek(0)
        fresh.use(lt.load_server_keys(stream, fresh))
    use(lt.from_bytes(lt.to_bytes(first.encrypt(X)), fresh))
    lt.save_program(tmp_path / "program", use, ctx, X)
    saved = lt.load_program(tmp_path / "program")
    for f in (use, lambda b: saved.run(fresh, b)):
        with pytest.raises(lt.KeyError, match=f"^apply_lut: .*{second.key_id}"):
            f(lt.from_bytes(lt.to_bytes(second.encrypt(X)), fresh))
    ctx.use(others)  # both bundles are in use now, and each array uses its own
    for client in (first, second):
        assert np.abs(client.decrypt(use(client.encrypt(X))).real - np.abs(X)).max() < 2**-4
    ctx.forget(others)
    ctx.use(keys)
