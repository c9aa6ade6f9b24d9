"""Profiles: counts and lines are right, and nothing stays replaced afterwards."""

import threading

import numpy as np
import pytest

import latticino as lt
from latticino.programs import profiling


@pytest.fixture(scope="module")
def own(device):
    ctx = lt.Context("test-n10-boot-insecure", device, threads=1, auto_bootstrap=True)
    return ctx, lt.keygen(ctx)


def row(p, name):
    found = [r for r in p.rows if r.name == name]
    assert len(found) == 1, (name, [(r.name, r.where) for r in p.rows])
    return found[0]


def test_operations_by_name_and_line(own, rng):
    ctx, client = own
    x = rng.uniform(-1, 1, 512)

    def program(a):
        b = a * a
        for _ in range(3):
            b = b.rotate(1)
        return lt.dot([b, b], [b, b])

    ctx.use(client.server_keys(program, x))
    with lt.profile(ctx) as p:
        y = program(client.encrypt(x))
        client.decrypt(y)
    product, turn = row(p, "multiply"), row(p, "rotate")
    assert (product.count, product.levels, product.key_switches) == (1, 1, 1)
    assert (turn.count, turn.levels, turn.key_switches) == (3, 0, 3) and turn.where.startswith("test_profile.py:")
    assert product.where != turn.where
    assert (row(p, "dot").key_switches, row(p, "dot").levels) == (1, 1), "one switch for the sum of products"
    assert row(p, "encrypt").count == row(p, "decrypt").count == 1
    assert turn.bytes_moved > turn.bytes > 0
    assert 0 < sum(r.seconds for r in p.rows) <= p.seconds * 1.001
    assert row(p, "(outside)").key_switches == 0
    plan = ctx.plan(lambda a: a.rotate(1), lt.Shape((512,), ctx.level - 1))
    assert 3 * plan.bytes_moved == turn.bytes_moved, "as planned"


def test_what_is_inside_counts_with_the_outermost(own, rng):
    ctx, client = own
    x = rng.uniform(-0.9, 0.9, 512)

    def program(a):
        return a * 0.5

    low = lt.Shape((512,), 0)
    ctx.use(client.server_keys(program, low))
    a = client.encrypt(x, level=0)
    with lt.profile(ctx) as p:
        program(a)
    assert [r.name for r in p.rows] == ["multiply", "(outside)"]
    product = row(p, "multiply")
    assert product.key_switches > 10 and product.levels < 0
    stages = [f"bootstrap.{s}" for s in ("mod_raise", "coeff_to_slot", "eval_mod", "slot_to_coeff")]
    assert set(stages) < set(product.parts) and product.parts["bootstrap"] <= product.seconds
    assert sum(product.parts[s] for s in stages) <= product.parts["bootstrap"]
    assert "  bootstrap.eval_mod" in str(p)


def test_recorded_programs_count_their_replays(own, rng):
    ctx, client = own
    program = lt.record(lambda a: (a * a).rotate(1))
    x = client.encrypt(rng.uniform(-1, 1, 512))
    ctx.use(client.server_keys(program._function, np.zeros(512)))
    program(x)
    with lt.profile(ctx) as p:
        for _ in range(3):
            program(x)
    assert (row(p, "program").count, row(p, "program").key_switches) == (3, 6)


def test_tfhe_counts_lookups():
    ctx = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    owner = lt.keygen(ctx)
    ctx.use(owner.server_keys())
    a = owner.encrypt([1, 2, 3], "u8")
    plan = ctx.plan(lambda v: lt.where(v > 1, v + 1, v), a)
    with lt.profile(ctx) as p:
        lt.where(a > 1, a + 1, a)
    assert sum(r.lookups for r in p.rows) == plan.bootstrappings
    assert {r.name for r in p.rows} == {"where", "greater", "add", "(outside)"} and "lookups" in str(p)


def test_errors_threads_and_other_contexts(own, rng):
    ctx, client = own
    x = client.encrypt(rng.uniform(-1, 1, 8))
    other = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    mine = lt.keygen(other)
    with lt.profile(ctx) as p:
        with pytest.raises(lt.ShapeError):
            _ = x + np.ones(3)
        assert mine.encrypt([1.0]) + 1 is not None
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()
        with pytest.raises(lt.UnsupportedError, match="outer block"), lt.profile(ctx):
            pass
    names = [r.name for r in p.rows]
    assert names.count("add") == 2 and "encrypt" not in names


def test_nothing_stays_behind(own):
    ctx, _ = own
    before = {name: vars(lt.Ciphertext)[name] for name in ("__add__", "rotate", "bootstrap")}, lt.dot
    with pytest.raises(ZeroDivisionError), lt.profile(ctx):
        assert vars(lt.Ciphertext)["rotate"] is not before[0]["rotate"]
        raise ZeroDivisionError
    assert {name: vars(lt.Ciphertext)[name] for name in before[0]} == before[0] and lt.dot is before[1]
    assert not profiling._Wrapped.profiles
    assert ctx._native.observed["records"] == 0


def test_contexts_without_a_device_are_refused(own):
    for thing in (lt.Context("test-n10-boot-insecure", "not-encrypted"),
                  lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted"), "ctx"):
        with pytest.raises(lt.UnsupportedError):
            lt.profile(thing)


def test_a_profile_is_shown(own):
    pytest.importorskip("matplotlib").use("Agg")
    ctx, client = own
    with lt.profile(ctx.bind(client.server_keys())) as p:
        assert client.encrypt(np.zeros(8)) + 1 is not None
    assert "<table" in p._repr_html_() and "add" in p._repr_html_() and str(p) == repr(p)
    axes = p.plot()
    assert axes.get_xlabel() == "seconds" and len(axes.patches) == len(p.rows)


def test_operations_are_ranges_of_profilers_on_gpus(own, rng, monkeypatch):
    """Ranges are begun by name and ended in order, even if an operation fails. CPUs have none."""
    ctx, client = own
    ranges = []

    def push(name):
        ranges.append(name)

    def pop():
        ranges.append("end")

    monkeypatch.setattr(profiling._native, "push_range", push)
    monkeypatch.setattr(profiling._native, "pop_range", pop)
    x = rng.uniform(-1, 1, 512)
    ctx.use(client.server_keys(lambda a: [a * a, a.rotate(1), a.mean()], x))
    a = client.encrypt(x)
    with lt.profile(ctx) as p:
        a * a
        assert ranges == (["multiply", "end"] if ctx.device.startswith("cuda") else [])
        ranges.clear()
        monkeypatch.setattr(p, "_gpu", True)
        a.rotate(1)
        with pytest.raises(lt.KeyError):
            a.rotate(3)
        assert ranges == ["rotate", "end", "rotate", "end"]
        ranges.clear()
        client.decrypt(a.mean())
    assert {"mean", "decrypt"} <= set(ranges) and ranges.count("end") == len(ranges) // 2
    depth = np.cumsum([-1 if name == "end" else 1 for name in ranges])
    assert depth.min() == 0 and depth[-1] == 0
    ranges.clear()
    a * a
    assert ranges == []
