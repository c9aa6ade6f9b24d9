"""Forms of bootstrapping: the choice, and that every kind of message keeps its precision."""

import re

import numpy as np
import pytest

import latticino as lt
from latticino import cli
from latticino.measure import records

SLOTS = 512


def message(kind, rng, imaginary):
    random = rng.uniform(-1, 1, SLOTS)
    x = {"constant": np.ones(SLOTS), "positive": rng.uniform(0, 0.9, SLOTS),
         "alternating": np.where(np.arange(SLOTS) % 2, -1.0, 1.0), "one slot": np.eye(1, SLOTS, 5)[0],
         "a hundredth": np.where(np.arange(SLOTS) % 100, 0, random), "random": random}[kind]
    return x + 1j * rng.permutation(x) * 0.5 if imaginary else x


@pytest.fixture(scope="module")
def refreshed(ctx, client):
    bundles = {}

    def run(x, level, kind="complex", **options):
        def program(a):
            return a.bootstrap(kind, **options)

        key = (level, kind, *sorted(options.items()))
        if key not in bundles:
            bundles[key] = client.server_keys(ctx.plan(program, lt.Shape(x.shape, level)))
        ctx.use(bundles[key])
        return program(client.encrypt(x, level=level))

    return run


@pytest.mark.parametrize("level", range(6))
@pytest.mark.parametrize("kind", ["constant", "positive", "alternating", "one slot", "a hundredth", "random"])
def test_every_message_keeps_its_precision(ctx, client, refreshed, rng, level, kind):
    first = level >= 3
    for imaginary in (False, True):
        x = message(kind, rng, imaginary)
        y = refreshed(x, level, "complex" if imaginary else "real")
        assert y.level == (ctx.level if first else ctx.params.level_after_bootstrap - 2)
        bits = lt.precision(client.decrypt(y), x).mean
        assert bits > 22 and bits > y.expected_bits - 1.5


def test_a_constant_is_refreshed_ten_times(client, refreshed):
    x = np.ones(SLOTS)
    for level in (0, 3):
        y = refreshed(x, level)
        for _ in range(9):
            y = y.to_level(level).bootstrap()
        assert lt.precision(client.decrypt(y), x).mean > 15


def test_random_data_keep_the_usual_order_and_its_levels(ctx, client, refreshed, rng):
    x = rng.uniform(-1, 1, SLOTS)
    y = refreshed(x, 0, random_like=True)
    assert y.level == ctx.params.level_after_bootstrap
    assert lt.precision(client.decrypt(y), x).mean > 14
    declared = client.encrypt(x, level=0, range=lt.Range(-1, 1, random=True)).bootstrap()
    assert declared.level == y.level
    assert ctx.bootstrap_form(0).output_level < y.level


def test_a_plan_says_what_was_chosen_and_why(ctx):
    plan = ctx.plan(lambda a: (a.bootstrap(), a.to_level(2).bootstrap(), a.bootstrap()), np.ones(SLOTS))
    assert len(plan.notes) == 2 and plan.bootstraps == 3
    assert "SlotToCoeff first with OverModRaise" in plan.notes[0] and "level 7" in plan.notes[0]
    # The form that was not chosen, with its predicted precision.
    assert re.search(r"; instead of the usual order, arcsine of degree 3.*: 2 levels, about \d+\.\d bits", plan.notes[0])
    assert "arcsine" in plan.notes[1] and "not declared random-like" in plan.notes[1]
    assert all(note in str(plan) for note in plan.notes)
    assert (plan | plan).notes == plan.notes


def test_the_callers_word_is_kept(ctx, client, refreshed, rng):
    x = rng.uniform(-1, 1, SLOTS)
    after = ctx.params.level_after_bootstrap
    assert refreshed(x, 4, slot_to_coeff_first=False, arcsine=1).level == after
    assert refreshed(x, 0, arcsine=7, log_message_ratio=6).level == after - 3
    form = ctx.bootstrap_form(5, slot_to_coeff_first=True, over_mod_raise=False)
    assert form.slot_to_coeff_first and not form.over_mod_raise and form.input_level == 3
    a = client.encrypt(x, level=2)
    with pytest.raises(lt.LevelError, match="SlotToCoeff first"):
        a.bootstrap(slot_to_coeff_first=True)
    for options in ({"arcsine": 4}, {"log_message_ratio": 40}):
        with pytest.raises(lt.ParameterError):
            a.bootstrap(**options)


@pytest.mark.parametrize("levels, expected", [(1, [7, 6, 5, 4, 3, 6, 5, 4, 3]), (2, [7, 5, 3, 5, 3]), (3, [7, 4, 4])])
def test_automatic_refreshes_stay_above_the_level_of_slot_to_coeff(device, levels, expected):
    own = lt.Context("test-n10-boot-insecure", device, auto_bootstrap=True)
    seen = []

    def program(a):
        for _ in expected:
            seen.append(a.level)
            a = a.polyval([0.1] * 2**levels)
        return a

    plan = own.plan(program, lt.Shape((SLOTS,), None, (-1, 1)))
    assert seen == expected
    assert plan.bootstraps == sum(level - levels < 3 for level in seen)


def test_automatic_refreshes_below_that_level_wait(device):
    own = lt.Context("test-n10-boot-insecure", device, auto_bootstrap=True)
    plan = own.plan(lambda a: a * 0.5 * 0.5, lt.Shape((SLOTS,), level=2))
    assert plan.bootstraps == 0 and plan.levels == (0,)
    assert own.plan(lambda a: a * 0.5 * 0.5, lt.Shape((SLOTS,), level=1)).bootstraps == 1
    # If an operation would end below it even from the highest level, this is no reason to refresh.
    assert own.plan(lambda a: a.polyval(np.ones(32)), lt.Shape((SLOTS,))).bootstraps == 0


@pytest.mark.slow
def test_automatic_refreshes_at_other_scales_take_the_most_precise_form(device):
    """At 2^35 SlotToCoeff first was taken, which keeps a bit less than the usual order with an arcsine. That needs no
    levels, so a refresh waits until they are used up."""
    own = lt.Context("n16-d35-boot-v1", device, auto_bootstrap=True)
    seen = []

    def program(a):
        for _ in range(21):
            seen.append(a.level)
            a = a * 0.5
        return a

    plan = own.plan(program, lt.Shape((own.slots,)))
    assert seen == [*range(18, -1, -1), 12, 11] and plan.bootstraps == 1
    random = own.plan(program, lt.Shape((own.slots,), None, lt.Range(-1, 1, random=True)))
    assert random.levels == (plan.levels[0] + 2,)  # without an arcsine
    note, = own.plan(lambda a: a.bootstrap(), lt.Shape((own.slots,), 5)).notes
    assert re.search(r"the usual order, arcsine of degree 3: it is predicted to be more precise.*13 levels after it, about "
                     r"20\.2 bits.*; instead of SlotToCoeff first with OverModRaise: 18 levels, about 19\.3 bits", note)


@pytest.mark.parametrize("program, want", [(lambda a: a.apply_lut(lambda v: v * v), lambda x: x * x),
                                           (lambda a: a.compare(0.0), lambda x: x > 0)])
def test_tables_refresh_first_where_levels_are_lacking(device, program, want):
    """They take three levels; an arcsine would leave two."""
    own = lt.Context("test-n10-boot-insecure", device, auto_bootstrap=True)
    client, x = lt.keygen(own), np.array([-0.9, -0.5, 0.4, 0.8])
    assert own.plan(program, lt.Shape((4,), 7)).bootstraps == 0
    for level in (0, 1, 2):
        plan = own.plan(program, lt.Shape((4,), level))
        # The note of a comparison is about equal values.
        levels, form = (note for note in plan.notes if not note.startswith("compare:"))
        assert plan.bootstraps == 1 and "takes 3 levels" in levels and "usual order" in form
        if level == 1:
            continue
        own.use(client.server_keys(plan))
        before = own.bootstraps
        assert np.abs(client.decrypt(program(client.encrypt(x, level=level))).real - want(x)).max() < 0.05
        assert own.bootstraps == before + 1


def test_two_refreshes_reach_what_one_does_not(device):
    """From level 0 one leads to level 4 at most, a second one to level 7."""
    own, c = lt.Context("test-n10-boot-insecure", device, auto_bootstrap=True), np.ones(31) / 31
    client, x = lt.keygen(own), np.array([-0.9, -0.5, 0.4, 0.8])
    plan = own.plan(lambda a: a.polyval(c), lt.Shape((4,), 0))
    assert plan.bootstraps == 2
    own.use(client.server_keys(plan))
    have = client.decrypt(client.encrypt(x, level=0).polyval(c))
    assert lt.precision(have, np.polynomial.polynomial.polyval(x, c)).mean > 10


def test_the_explanation_states_what_plans_choose(device):
    own = lt.Context("test-n10-boot-insecure", device)
    said = own.params.explain()
    for level in range(own.level + 1):
        for random in (False, True):
            note, = own.plan(lambda a: a.bootstrap(), lt.Shape((SLOTS,), level, lt.Range(-1, 1, random=random))).notes
            group = ("level 3 and more" if level >= 3 else "levels 0 to 2") + ", declared random-like" * random
            chosen, _, real = note.partition(": ")[2].partition("; real values ")
            assert f"  {group}: {chosen}\n" in said and "by themselves" in real, (level, random)
    # Predicted bits of random messages and of a constant, each with the worst slot.
    bits = [tuple(map(float, re.findall(r"\d+\.\d", line))) for line in said.splitlines() if "random messages" in line]
    assert len(bits) == 2 and all(len(b) == 4 and min(b) > 18 for b in bits)
    assert "by default" not in lt.preset("test-n10-leveled-insecure").explain()


@pytest.mark.slow
def test_automatic_refreshes_count_the_level_of_another_scale(device, rng):
    """A scale that is not the canonical one takes a level of a polynomial more."""
    own = lt.Context("test-n10-boot-insecure", device, auto_bootstrap=True)
    client, x, c = lt.keygen(own), rng.uniform(-1, 1, SLOTS), [0.1, 0.2, 0.3, 0.4]
    for level in range(1, 5):
        a = client.encrypt(x, level=level, scale=2.0**41)
        own.use(client.server_keys(own.plan(lambda a: a.polyval(c), a)))
        assert lt.precision(client.decrypt(a.polyval(c)), np.polynomial.polynomial.polyval(x, c)).mean > 20


@pytest.mark.slow
def test_the_command_measures_every_message_at_every_level(tmp_path, monkeypatch):
    path = tmp_path / "messages.json"
    command = ["bench", "messages", "--device", "cpu", "--preset", "test-n10-boot-insecure", "--record", str(path)]
    assert cli.main(command) == 0
    rows = records.read(path)
    kinds = {"constant", "positive", "alternating", "sparse", "one slot", "random"}
    assert {row["message"].split(",")[0] for row in rows} == kinds and len(rows) == 4 * 2 * len(kinds)
    for level in range(4):
        here = [row for row in rows if row["level"] == level]
        assert all(row["value"] > 18 and row["value"] > row["claimed_bits"] - 1 for row in here)
        assert all(("SlotToCoeff first" if level == 3 else "arcsine") in row["form"] for row in here)
    monkeypatch.setattr("latticino.measure.messages.TARGET", 60.0)
    monkeypatch.setattr("latticino.measure.messages.LEVELS", [3])
    assert cli.main(command) == 1
