"""Sorting encrypted arrays: the network, the stated error on plain numbers, and encrypted runs on data of all kinds."""

import json
import math
import re
import threading
import warnings

import numpy as np
import pytest

import latticino as lt
from latticino import cli
from latticino.functions import sorting_network
from latticino.workloads import sort as workload

PRESET = "test-n10-boot-insecure"


def kinds(count, low=0.0, high=1.0):
    """Rows of data that are typical or difficult for sorts."""
    rng = np.random.default_rng(count)
    random = rng.uniform(low, high, count)
    two = rng.uniform(low, high, 2)
    return {
        "random": random, "sorted": np.sort(random), "reversed": np.sort(random)[::-1], "constant": np.full(count, 0.7 * low + 0.3 * high),
        "at the low end": np.full(count, low), "at the high end": np.full(count, high), "two values": rng.choice(two, count),
        "steps": rng.integers(0, 5, count) / 4 * (high - low) + low, "near each other": random / 1000 + (low + high) / 2,
        "one that differs": np.where(np.arange(count) == count // 3, low, high), "the ends in turn": np.where(np.arange(count) % 2, low, high),
        "near the high end": high - (high - low) * rng.uniform(0, 1, count) ** 4 / 4}


# ---- the network ----

@pytest.mark.parametrize("count", range(1, 13))
def test_networks_sort_all_zeros_and_ones(count):
    """A network that sorts all zeros and ones sorts everything (Knuth, volume 3, section 5.3.4, theorem Z)."""
    values = np.arange(2**count)[:, None] >> np.arange(count) & 1
    for stage in sorting_network.stages(count):
        distance, lower = stage.distance, stage.lower
        assert len(np.unique(np.concatenate([lower, lower + distance]))) == 2 * len(lower)
        assert all(part & (part - 1) == 0 for part in (stage.up, stage.down)) and distance == stage.up - stage.down > 0
        a, b = values[:, lower].copy(), values[:, lower + distance].copy()
        values[:, lower], values[:, lower + distance] = np.minimum(a, b), np.maximum(a, b)
    assert (np.diff(values, axis=1) >= 0).all()


@pytest.mark.slow
def test_the_network_of_the_papers_has_105_stages():
    assert len(sorting_network.stages(2**14)) == 105 and len(sorting_network.stages(1)) == 0 and len(sorting_network.stages(2)) == 1
    assert len(sorting_network.stages(2**14 - 1)) == 105
    assert lt.fit_sort(8).comparisons == 19


# ---- on plain numbers ----

@pytest.mark.slow
@pytest.mark.parametrize("domain, bits", [((0, 1), 12), ((-3, 5), 8), ((10, 10.5), 14)])
def test_a_sort_in_the_clear_is_within_its_bounds(domain, bits):
    fit = lt.fit_sort(100, domain, bits)
    assert fit.exchange_error <= 2.0**-bits and fit.error == pytest.approx(28 * fit.exchange_error) and fit.stages == 28
    data = np.stack(list(kinds(100, *domain).values()))
    error = np.abs(fit(data) - np.sort(data))
    assert error.max() <= fit.error
    assert error.mean(axis=1).max() < 4 * 2.0**-bits  # errors of stages hardly add up
    # Exchanges keep the sum.
    assert np.abs(fit(data).sum(axis=1) - data.sum(axis=1)).max() < 1e-7 * np.abs(domain).max()
    assert f"100 values: 28 stages of {fit.levels} levels" in repr(fit) and fit.levels == fit.sign.levels + 1


@pytest.mark.slow
@pytest.mark.parametrize("count, part", [(4, 0.6), (8, 0.5), (16, 0.4)])
def test_no_much_smaller_bound_would_hold(count, part):
    """Data that are changed at random, as long as the error grows. docs/lab/precision.md has the reasons."""
    fit, rng, most = lt.fit_sort(count, (0, 1), 12), np.random.default_rng(count), 0.0
    near = 4.4 * fit.exchange_error  # of values at this distance an exchange errs most
    x = 0.5 + near * rng.uniform(0, 1, count)
    for _ in range(300):
        moved = (rng.random((64, count)) < 2 / count) * rng.normal(size=(64, count)) * near * rng.choice([0.1, 0.5, 2, 8], (64, 1))
        tried = np.clip(x + moved, 0, 1)
        errors = np.abs(fit(tried) - np.sort(tried)).max(axis=-1)
        if errors.max() > most:
            most, x = errors.max(), tried[errors.argmax()]
    assert part * fit.error < most <= fit.error


@pytest.mark.slow
def test_a_declared_range_claims_the_proved_bound_of_the_worst_value():
    """The bound counted as the deviation of a normal error, whose largest value among 16,384 is 3.3 times that."""
    fit = lt.fit_sort(16384, (0, 1), 12)
    plan = lt.Context("n16-d40-boot-v1", "not-encrypted").plan(lambda a: lt.sort(a, bits=12), lt.Shape((16384,), None, (0, 1)))
    proved = -math.log2(fit.error)
    assert proved - 0.8 < plan.bits[0][1] <= proved  # claims leave a margin of 0.75 bits


@pytest.mark.slow
def test_difficult_data_keep_what_a_declared_range_claims(ctx, client):
    """Ties, values at the distance at which exchanges err most, and data that were searched for."""
    fit, rng, count = lt.fit_sort(8, (0, 1), 6), np.random.default_rng(3), 8
    near = 4.4 * fit.exchange_error
    steps = np.clip(0.5 + near * np.arange(count)[::-1] / 2, 0, 1)
    tried = np.clip(0.5 + near * rng.normal(size=(4000, count)), 0, 1)
    searched = tried[np.abs(fit(tried) - np.sort(tried)).max(axis=-1).argmax()]
    rows = np.array([steps, searched, np.where(np.arange(count) % 2, 0.5 + near, 0.5)[::-1], np.full(count, 0.3),
                     np.linspace(1, 0, count), np.repeat([0.5 + near, 0.5], count // 2), *kinds(count).values()])

    def program(a):
        return lt.sort(a, bits=6)

    ctx.use(client.server_keys(program, lt.Shape(rows.shape, None, (0, 1))))
    y = program(client.encrypt(rows, range=(0, 1)))
    errors = np.abs(client.decrypt(y).unmarked() - np.sort(rows))
    assert y.expected_worst_bits <= -math.log2(errors.max()) and errors.max() > fit.error / 4
    assert y.expected_bits <= -math.log2(errors.mean())


def test_a_gap_bounds_the_result():
    fit = lt.fit_sort(100, (0, 1), 12, gap=1 / 64)
    data = np.random.default_rng(1).integers(0, 65, (20, 100)) / 64
    assert np.abs(fit(data) - np.sort(data)).max() <= fit.error <= 2.0**-12
    assert fit.levels < lt.fit_sort(100, (0, 1), 12).levels and "0.015625 apart" in repr(fit)


@pytest.mark.slow
@pytest.mark.parametrize("bits, levels, preset", [(13, 14, "n16-d35-boot-v1"), (11.8, 13, "n16-d40-boot-v1")])
def test_precision_and_plan_of_16384_values(bits, levels, preset):
    """The precision is at least 12 bits in the mean on random, sorted and reversed data, with one bootstrapping per
    stage."""
    random = np.random.default_rng(2).uniform(0, 1, 2**14)
    fit = lt.fit_sort(2**14, (0, 1), bits)
    assert fit.levels == levels
    for values in (random, np.sort(random), np.sort(random)[::-1]):
        assert np.abs(fit(values) - np.sort(values)).mean() < 2.0**-12
    plan = lt.Context(preset, "cpu").plan(lambda a: lt.sort(a, bits=bits), lt.Shape((2**14,), None, (0, 1)))
    assert 104 <= plan.bootstraps <= 105
    assert any("105 stages" in note for note in plan.notes)


# ---- encrypted ----

def sorted_within(ctx, client, data, program, options, want, fit):
    a = client.encrypt(data, **options)
    plan = ctx.plan(program, data if "like" in options else lt.Shape(data.shape, None, options.get("range")))
    ctx.use(client.server_keys(plan))
    before = ctx.bootstraps
    y = program(a)
    assert ctx.bootstraps - before == plan.bootstraps and y.level == plan.levels[0]
    assert y.shape == want.shape
    error = np.abs(client.decrypt(y).unmarked() - want)
    noise = 2.0**-18
    assert error.max() <= fit.error + noise, (error, y)
    assert -math.log2(error.mean()) > y.expected_bits - 1, (error.mean(), y)
    assert -math.log2(error.max()) > y.expected_worst_bits - 1.5, (error.max(), y)
    return error


@pytest.mark.slow
@pytest.mark.parametrize("count", [16, 7])
@pytest.mark.parametrize("known", ["declared", "sample"])
def test_rows_of_all_kinds(ctx, client, count, known):
    data = np.stack(list(kinds(count, -1, 1).values()))
    options = {"range": (-1, 1)} if known == "declared" else {"like": data}
    sorted_within(ctx, client, data, lambda a: lt.sort(a, (-1, 1), 10), options, np.sort(data), lt.fit_sort(count, (-1, 1), 10))


@pytest.mark.slow
@pytest.mark.parametrize("shape, axis", [((5, 3), 0), ((175, 3), 1), ((4, 150), 0), ((2, 3, 4), 1), ((6,), None), ((2, 2), None), ((2, 512), 0)], ids=str)
def test_any_axis_and_several_ciphertexts(ctx, client, rng, shape, axis):
    data = rng.integers(0, 9, shape) / 8.0
    count = data.size if axis is None else shape[axis]
    fit = lt.fit_sort(count, (0, 1), 8, 1 / 8)
    def program(a):
        return lt.sort(a, bits=8, gap=1 / 8, axis=axis)

    error = sorted_within(ctx, client, data, program, {"range": (0, 1)}, np.sort(data, axis=axis), fit)
    assert error.max() < 2.0**-8


@pytest.mark.slow
def test_rows_over_two_ciphertexts_and_views(ctx, client, rng):
    data = rng.integers(0, 5, 600) / 4.0
    fit = lt.fit_sort(600, (0, 1), 6, 1 / 4)
    error = sorted_within(ctx, client, data, lambda a: lt.sort(a[::-1], bits=6, gap=1 / 4), {"range": (0, 1)}, np.sort(data), fit)
    assert error.max() < 2.0**-6


@pytest.mark.slow
def test_domains_away_from_zero_leave_zeros_behind(ctx, client, rng):
    data = rng.integers(0, 5, 5) / 4.0 + 3
    def program(a):
        return lt.sort(a, bits=8, gap=1 / 4)

    ctx.use(client.server_keys(lambda a: program(a).sum(), lt.Shape((5,), None, (3, 4))))
    y = program(client.encrypt(data, range=(3, 4)))
    assert np.abs(client.decrypt(y).unmarked() - np.sort(data)).max() < 2.0**-8
    assert abs(client.decrypt(y.sum()).unmarked() - data.sum()) < 2.0**-5
    assert y.range.low < 3 and y.range.high > 4 and y.range.high < 4.2


@pytest.mark.slow
def test_without_encryption_and_with_a_context_that_bootstraps_by_itself(rng):
    data = rng.uniform(-1, 1, 20)
    results = []
    for auto in (False, True):
        ctx = lt.Context(PRESET, "not-encrypted", auto_bootstrap=auto)
        client = lt.keygen(ctx)
        y = lt.sort(client.encrypt(data, range=(-1, 1)), bits=10)
        results.append(y)
        assert np.abs(client.decrypt(y) - np.sort(data)).max() < lt.fit_sort(20, (-1, 1), 10).error
    assert results[0].level <= results[1].level


@pytest.mark.slow
def test_a_debugger_finds_the_claims_true(ctx, client, rng):
    data = rng.integers(0, 3, 4) / 2.0
    def program(a):
        return lt.sort(a, bits=6, gap=1 / 2)

    ctx.use(client.server_keys(program, lt.Shape((4,), None, (0, 1))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lt.debug(ctx, client):
            y = program(client.encrypt(data, range=(0, 1)))
    assert np.abs(client.decrypt(y).unmarked() - np.sort(data)).max() < 2.0**-6


@pytest.mark.slow
def test_one_value_and_two_without_bootstrapping():
    ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    client = lt.keygen(ctx)
    ctx.use(client.server_keys(lambda a: lt.sort(a, bits=3, gap=0.9), lt.Shape((2,), None, (0, 1))))
    one = client.encrypt([0.25], range=(0, 1))
    assert lt.sort(one) is one
    for data in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]):
        y = lt.sort(client.encrypt(data, range=(0, 1)), bits=3, gap=0.9)
        assert np.abs(client.decrypt(y).unmarked() - np.sort(data)).max() < 2.0**-3
    with pytest.raises(lt.LevelError, match="sort: had level 6; needs .* levels for 3 stages of .*bootstrapping"):
        lt.sort(client.encrypt([1.0, 0.0, 1.0], range=(0, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("use, error, message", [
    (lambda x: lt.sort(x), lt.ValueError, "domain"), (lambda x: lt.sort(x, (1, 0)), lt.ValueError, "two finite ends"),
    (lambda x: lt.sort(x, (-1, 1), axis=1), lt.ShapeError, "axis=1 of 1"), (lambda x: lt.sort(x, (-1, 1), 30), lt.ValueError, "bits from 1 to 17"),
    (lambda x: lt.sort(x, (-1, 1), gap=2), lt.ValueError, "gap=2 in a domain of length 2"),
    (lambda x: lt.sort(x, (-1, 1), gap=0), lt.ValueError, "gap"), (lambda x: lt.sort(x[0], (-1, 1)), lt.ShapeError, "0 dimensions"),
    (lambda x: lt.sort(x * 1j, (-1, 1)), lt.UnsupportedError, "complex values"), (lambda x: lt.sort([1, 2]), lt.UnsupportedError, "list"),
    (lambda x: lt.fit_sort(0), lt.ValueError, "count"), (lambda x: lt.fit_sort(5)([1, 2]), lt.ShapeError, "5 along the last axis"),
    (lambda x: lt.fit_sort(2)([0.5, 1.5]), lt.ValueError, "values within -1 to 1"), (lambda x: lt.fit_sort(2)([0.5, np.nan]), lt.ValueError, "values"),
    (lambda x: lt.fit_sort(2)([0.5, 1j]), lt.UnsupportedError, "complex")])
def test_wrong_arguments(client, use, error, message):
    with pytest.raises(error, match=message):
        use(client.encrypt(np.zeros(4)))


def test_a_plan_says_when_its_bits_are_a_bound(ctx):
    def program(a):
        return lt.sort(a, (0, 1), 6, 1 / 2)

    for example, bound in ((lt.Shape((3,), None, (0, 1)), True), (np.array([0.0, 1.0, 0.5]), False)):
        assert any("bits are a bound" in note for note in ctx.plan(program, example).notes) is bound


def test_values_that_leave_the_domain(ctx):
    with pytest.raises(lt.ScaleError, match="sort.*domain 0 to 1"):
        ctx.plan(lambda a: lt.sort(a, (0, 1)), lt.Shape((4,), None, (-1, 1)))


@pytest.mark.slow
def test_two_clients_in_threads_and_a_recording(device, rng):
    ctx = lt.Context(PRESET, device, threads=1)
    shape = lt.Shape((4,), None, (0, 1))

    def program(a):
        return lt.sort(a, bits=6, gap=1 / 4)

    plan = ctx.plan(program, shape)
    data = rng.integers(0, 5, (2, 4)) / 4.0
    errors = []

    def run(row):
        client = lt.keygen(ctx)
        session = ctx.bind(client.server_keys(plan))
        y = program(session.adopt(client.encrypt(row, range=(0, 1))))
        errors.append(np.abs(client.decrypt(y).unmarked() - np.sort(row)).max())

    threads = [threading.Thread(target=run, args=(row,)) for row in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 2 and max(errors) < 2.0**-6
    client = lt.keygen(ctx)
    ctx.use(client.server_keys(plan))
    first, second = (client.encrypt(row, range=(0, 1)) for row in data)
    recorded = lt.record(program)
    for row, a in zip(data, (first, second)):
        assert np.abs(client.decrypt(recorded(a)).unmarked() - np.sort(row)).max() < 2.0**-6


# ---- the demo ----

@pytest.mark.slow
@pytest.mark.parametrize("mode", ["immediate", "replayed"])
def test_the_demo_sorts_draws_and_records(mode, device, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture, record = tmp_path / "sort.png", tmp_path / "sort.json"
    status = cli.main(["demo", "sort", "--preset", PRESET, "--device", device, "--size", "5", "--threads", "1", "--bits", "6",
                       "--output", str(picture), "--record", str(record),
                       "--recorded" if mode == "replayed" else "--no-recorded"])
    out = capsys.readouterr().out
    assert status == 0 and picture.stat().st_size > 10_000
    assert all(kind in out for kind in ("random", "sorted", "reversed", "duplicates", "6 stages", "peak memory"))
    row, = json.loads(record.read_text())
    assert row["name"] == "sort.run" and row["unit"] == "s" and row["value"] > 0
    assert row["params"]["values"] == 5 and row["params"]["stages"] == 6 and row["mean_error_bits"] > 5
    assert row["bootstraps"] > 0 and row["preset"] == PRESET and row["commit"] and row["mode"] == mode
    assert row["peak_bytes"] == pytest.approx(row["predicted_peak_bytes"], rel=0.01 if device == "cpu" else 0.05)


@pytest.mark.slow
def test_the_demo_plans_the_bits_and_keys_that_a_sort_has(monkeypatch):
    """A plan of the range alone claimed 6 bits less, because errors of all stages could add up."""
    monkeypatch.setattr(workload, "KINDS", ("random",))
    r = workload.run(PRESET, "cpu", 256, 10, threads=1)
    kept = r.rows[0].precision
    assert abs(r.predicted_bits - kept.mean) < 1 and r.predicted_worst_bits < kept.worst + 1
    made = workload.row(r)
    assert made["predicted_bits"] == r.predicted_bits and made["predicted_worst_bits"] == r.predicted_worst_bits
    ctx = lt.Context(PRESET, "cpu", threads=1)
    assert r.key_bytes == workload.planned(ctx, 256, 10).key_bytes
    bound = ctx.plan(lambda a: lt.sort(a, bits=10), lt.Shape((256,), None, (0, 1)))
    assert bound.bits[0][0] < r.predicted_bits - 3


@pytest.mark.slow
@pytest.mark.parametrize("values", ["the ends", "random"])
@pytest.mark.parametrize("name, meant", [("abs", np.abs), ("relu", lambda v: np.maximum(v, 0))])
def test_products_with_a_sign_keep_their_bits_at_a_small_scale_or_are_refused(name, meant, values):
    """Values at the ends lost up to 2^-5 with bits=13, because noise took them to where the next polynomial is steep.
    Nothing refused that. Other precisions were refused although they are kept."""
    ctx = lt.Context(lt.make_params(N=2**10, levels=18, scale=2**30, security=None), "cpu", threads=1)
    client, rng = lt.keygen(ctx), np.random.default_rng(1)
    x = rng.choice([-1.0, 1.0], 512) if values == "the ends" else rng.uniform(-1, 1, 512)
    kept = []
    for bits in range(10, 17):
        def program(a, bits=bits):
            return getattr(a, name)(1.0, bits)

        try:
            ctx.use(client.server_keys(program, lt.Shape((512,), None, (-1, 1))))
        except lt.PrecisionError as why:
            assert f"needs less than 2^-{bits}" in str(why)
            continue
        for options in ({"range": (-1, 1)}, {"like": x}):
            y = program(client.encrypt(x, **options))
            error = np.abs(client.decrypt(y).unmarked() - meant(x))
            assert error.max() < 2.0**-bits + 2.0**-12, (bits, error.max())
            assert -math.log2(error.mean()) > y.expected_bits - 1, (bits, error.mean(), y)
            assert -math.log2(error.max()) > y.expected_worst_bits - 1, (bits, error.max(), y)
        kept.append(bits)
    assert kept[:3] == [10, 11, 12] and kept[-1] < 16


@pytest.mark.parametrize("options, message", [(["sort", "--rows", "4"], "demo sort: had --rows.*it belongs to helr"),
                                              (["--size", "4", "--no-plot"], "demo helr: had --size.*it belongs to sort"),
                                              (["trees", "--repeat", "2"], "demo trees: had --repeat.*belongs to helr and sort"),
                                              (["trees", "--recorded"], "demo trees: had --recorded.*it belongs to helr and sort"),
                                              (["--encrypted", "0"], "demo helr: had --encrypted.*it belongs to"),
                                              (["--scales", "35", "--preset", "n16-d35-boot-v1"], "--preset beside --scales"),
                                              (["--scales", "35", "--output", "a.png"], "--output beside --scales"),
                                              (["sort", "--output", "a.png", "--no-plot"], "--output beside --no-plot")])
def test_options_that_a_demo_would_not_read_are_refused(options, message, capsys):
    assert cli.main(["demo", *options]) == 1
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.slow
@pytest.mark.parametrize("domain", [(-1, 1), (0, 4), (0, 1)])
def test_levels_that_a_first_stage_lacks_are_missed_before_it(ctx, client, device, domain):
    """Before, a part of the stage was computed first, and the remedy did not help."""
    bare, many = lt.Context(PRESET, device, threads=1), 0
    values = lt.keygen(bare).encrypt(np.full(8, 0.5), level=0, range=domain)
    with pytest.raises(lt.LevelError, match=r"^sort: had level 0; needs level \d, .*auto_bootstrap=True"):
        lt.sort(values)
    for level in range(1, 6):
        try:
            ctx.plan(lambda a: lt.sort(a), lt.Shape((8,), level, domain))
            many += 1
        except lt.LevelError as why:
            assert not many and f"sort: had level {level}; needs level " in str(why)
    assert many >= 2
    refreshing = lt.Context(PRESET, device, threads=1, auto_bootstrap=True)
    refreshing.plan(lambda a: lt.sort(a), lt.Shape((8,), 1, domain))
