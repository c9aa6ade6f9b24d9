"""Time and memory of plans: encoding is separate from runs, the peak of a recording, weights that do not fit."""

import numpy as np
import pytest
from test_compiled import BOOT, calibrated, lenet, residual_block, wide
from test_lowered import rng

import latticino as lt
from latticino import _native
from latticino.ckks.context import Context
from latticino.nn.compiling import _Search, compiled
from latticino.nn.lowered import Affine, Node
from latticino.nn.maps.transforms import Transform
from latticino.nn.memory import Shared, _first, planned
from latticino.nn.placement import stand_in
from latticino.nn.units import scaled


def bits(x):
    return _native.ciphertexts_to_bytes(x._parts, "", None)


def three_maps():
    x = rng(9).uniform(-1, 1, (20, 512))
    maps = [Affine.dense(rng(k).normal(size=(512, 512)) / 23) for k in range(3)]
    nodes = [Node("x", "input", (), (512,))]
    nodes += [Node(f"fc{k}", "affine", (k,), (512,), maps=(m,), layer=f"fc{k}") for k, m in enumerate(maps)]
    return calibrated(nodes, x), x


def in_use(enc):
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    return client


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("make", [three_maps, residual_block])
def test_the_plan_has_the_peak_of_a_run(make, device, kind):
    """Recorded, and step by step. As planned for either kind of device, whose levels differ."""
    graph, x = make()
    enc = _Search(scaled(graph), kind, device, x, None, 1).tried(BOOT)
    client = in_use(enc)
    given = enc.encrypt(client, x[0])
    enc.context.reset_peak()
    for _ in range(3):
        y = enc(given)
    assert enc.context.peak_bytes == pytest.approx(enc.plan.peak_bytes, rel=0.02)
    del y
    enc._recorded = None  # a recording has memory of its own
    enc.context.reset_peak()
    enc._run(given)
    assert enc.context.peak_bytes == pytest.approx(enc.plan.program.peak_bytes, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("make", [three_maps, residual_block, lenet, wide])
def test_a_dry_run_knows_what_a_recording_keeps_and_does(make, device):
    """Its memory is exact to the byte, because positions of blocks depend on the requests and not on the device. A
    replay has as many records as the plan counts without encoding."""
    graph, x = make()
    enc = compiled(graph, x, BOOT, device)
    client = in_use(enc)
    given = enc.encrypt(client, x[0])
    enc(given)
    twin, _ = Context._dry(enc.context)
    first = enc._machine.packings[graph.inputs[0]]
    example = stand_in(twin, first, given.level, graph.nodes[graph.inputs[0]].bound)
    twin._native.note_allocations()
    held = enc._run(example)
    assert twin._native.arena_bytes == enc._recorded[2].arena_bytes > 0
    enc.context._native.observe(True)
    enc(given)
    enc.context.synchronize()
    report = twin._native.report
    assert report["preparation"]["operations"] > 0
    copies = 2  # copies of the inputs, and of the results
    planned_records = report["operations"] - report["preparation"]["operations"]
    assert enc.context._native.observed["records"] == planned_records + copies
    del held


@pytest.mark.slow
def test_encoding_is_no_part_of_later_runs():
    graph, x = three_maps()
    enc = compiled(graph, x, BOOT, "cpu")
    plan = enc.plan
    assert 0 < plan.seconds < plan.first_seconds
    assert plan.seconds == plan.program.prepared_seconds and plan.first_seconds == plan.program.seconds
    assert sum(layer.seconds for layer in plan.layers) == pytest.approx(plan.seconds, rel=0.01)
    assert f"{lt.common.display.seconds(plan.first_seconds - plan.seconds)} in the first run" in repr(plan)


def test_plans_tell_both_times():
    ctx = Context._for_plans(BOOT, "cpu", False)
    w = rng().normal(size=(64, 64))
    matrix, alone = (ctx.plan(f, lt.Shape((64,))) for f in (lambda x: x @ w, lambda x: x + x))
    assert 0 < matrix.prepared_seconds < matrix.seconds and alone.prepared_seconds == alone.seconds
    both = matrix | alone
    assert both.prepared_seconds == pytest.approx(matrix.prepared_seconds + alone.seconds)
    assert f"{matrix.prepared_seconds:.3g} s once all constants are encoded" in str(matrix)
    assert matrix.recorded_peak_bytes >= matrix.peak_bytes
    # The same map in two places is encoded once, and takes its time twice.
    twice = ctx.plan(lambda x: (x @ w) + (x @ w), lt.Shape((64,)))
    assert twice.seconds - twice.prepared_seconds == pytest.approx(matrix.seconds - matrix.prepared_seconds)
    assert twice.prepared_seconds > 1.9 * matrix.prepared_seconds


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_memory(share, device, monkeypatch):
    """If there is less memory than encoded weights take, some maps keep integers and expand them in each run: within
    the memory, as often as the plan says, and with the same bits. Too little memory is an error."""
    graph, x = three_maps()
    enc = compiled(graph, x, BOOT, device)
    with pytest.raises(lt.OutOfMemoryError, match="memory=") as caught:
        compiled(graph, x, BOOT, device, memory=1 << 10)
    assert "kept as integers" in str(caught.value)
    every = [s.node for s in enc._placement.steps if s.form is None and enc._machine.transforms[s.node]]
    least = planned(enc._machine.with_light(every), enc._placement,
                    Context._for_plans(BOOT, enc.plan.device, False)).recorded_peak_bytes
    assert least < enc.plan.peak_bytes
    memory = int(least + share * (enc.plan.peak_bytes - least))
    less = compiled(graph, x, BOOT, device, memory=memory)
    assert 0 < less.plan.expansions <= len(every) and less.plan.peak_bytes <= memory
    assert less.plan.seconds > enc.plan.seconds and less.plan.weight_bytes < enc.plan.weight_bytes
    assert f"{less.plan.expansions} of {len(every)} maps" in repr(less.plan)

    client = in_use(less)
    given = less.encrypt(client, x[0])
    less.context.reset_peak()
    got = [bits(less(given)) for _ in range(2)]
    assert less.context.peak_bytes <= memory
    assert less.context.peak_bytes == pytest.approx(less.plan.peak_bytes, rel=0.01)
    made = less._machine
    less._machine = enc._machine  # with all weights encoded
    assert [bits(less._run(given))] * 2 == got
    less._machine = made

    expanded = []
    apply = Transform.apply
    monkeypatch.setattr(Transform, "apply", lambda t, x, level, light=False, *more: (
        expanded.append(light), apply(t, x, level, light, *more))[1])
    less._run(given)
    nodes = {s.node for s in less._placement.steps if s.form is None} & set(less.plan.light)
    assert len(nodes) == less.plan.expansions
    assert sum(expanded) == sum(len(made.transforms[n]) for n in nodes)


@pytest.mark.slow
def test_files_keep_which_weights_are_integers(device, tmp_path):
    graph, x = three_maps()
    enc = compiled(graph, x, BOOT, device)
    less = compiled(graph, x, BOOT, device, memory=enc.plan.peak_bytes - 1)
    less.save(tmp_path / "less")
    again = lt.nn.load(tmp_path / "less" / "server.network", device)
    assert again.plan.light == less.plan.light and again._machine.light == less._machine.light
    assert repr(again.plan) == repr(less.plan)
    enc.save(tmp_path / "all")
    fitted = lt.nn.load(tmp_path / "all" / "server.network", device, memory=enc.plan.peak_bytes - 1)
    assert fitted.plan.light == less.plan.light
    with pytest.raises(lt.OutOfMemoryError, match="kept as integers"):
        lt.nn.load(tmp_path / "all" / "server.network", device, memory=1000)


@pytest.mark.slow
def test_a_file_is_fitted_into_less_memory_or_more(device, tmp_path):
    graph, x = three_maps()
    enc = compiled(graph, x, BOOT, device)
    some = compiled(graph, x, BOOT, device, memory=enc.plan.peak_bytes - 1)
    some.save(tmp_path / "some")
    memory = some.plan.peak_bytes - 1
    fewer = lt.nn.load(tmp_path / "some" / "server.network", device, memory=memory)
    want = compiled(graph, x, BOOT, device, memory=memory).plan
    assert len(fewer.plan.light) > len(some.plan.light) and fewer.plan.peak_bytes <= memory
    assert fewer.plan.light == want.light and repr(fewer.plan) == repr(want)
    assert sum(note.startswith("not enough memory") for note in fewer.plan.notes) == 1
    every = lt.nn.load(tmp_path / "some" / "server.network", device, memory=enc.plan.peak_bytes)
    assert every.plan.light == () and every._machine.light == frozenset() and repr(every.plan) == repr(enc.plan)


def test_the_cheapest_bytes_go_first():
    groups = sorted([Shared([1], 3.0, 10), Shared([2], 1.0, 10), Shared([3, 4], 1.0, 5)], key=lambda g: g.price)
    assert [g.nodes for g in groups] == [[2], [3, 4], [1]]
    assert [g.nodes for g in _first(groups, 10)] == [[2]] and len(_first(groups, 11)) == 2
    assert len(_first(groups, 100)) == 3 and _first(groups, 0) == []


def test_only_what_a_map_reads_is_brought_down(device):
    """A map that reads one of four ciphertexts, at a level below theirs: bits and errors are the same, and it takes
    less work."""
    x = rng(2).uniform(-1, 1, (20, 2048))
    w = np.zeros((512, 2048))
    w[:, 512:1024] = rng(3).normal(size=(512, 512)) / 23
    nodes = [Node("x", "input", (), (2048,)),
             Node("fc", "affine", (0,), (512,), maps=(Affine.dense(w),), layer="fc"),
             Node("sq", "mul", (1, 1), (512,), layer="sq"), Node("sq2", "mul", (2, 2), (512,), layer="sq2")]
    enc = compiled(calibrated(nodes, x), x, BOOT, device)
    client = in_use(enc)
    t, given = enc._machine.transforms[1][0], enc.encrypt(client, x[0])
    assert t.source.count == len(given._parts) == 4 and given.level > 2
    got, want = t.apply(given, 2), t.apply(given.to_level(2), 2)
    assert bits(got) == bits(want) and got._known.estimate.rms == want._known.estimate.rms
    twin, _ = Context._dry(Context._for_plans(BOOT, "cpu", False))
    dry = stand_in(twin, t.source, given.level, 1.0)
    moved = [twin._native.report["bytes_moved"]]
    for run in (lambda: t.apply(dry, 2), lambda: t.apply(dry, 2), lambda: t.apply(dry.to_level(2), 2)):
        run()
        moved.append(twin._native.report["bytes_moved"])
    _, alone, all_of_them = np.diff(moved)  # the first run encodes
    one = twin._native.report["bytes_moved"]
    dry._like(dry._parts[:1], dry._known).to_level(2)
    one = twin._native.report["bytes_moved"] - one
    assert all_of_them - alone == 3 * one > 0


PRESET = "test-n12-boot-insecure"


@pytest.mark.parametrize("slots", [256, 512, 2048])  # in a subring, and in the whole ring
@pytest.mark.parametrize("distances", [[0], [7], [0, 1, 5, 17, 40]])
def test_light_transforms_give_the_same_bits(slots, distances, device):
    """One ciphertext and several, with values of short periods among them."""
    ctx = lt.Context(PRESET, device)
    blocks = [(0, 0, distances), (1, 0, distances)]

    def program(x):
        part = x._parts[0].with_slots(slots)
        _native.LinearTransform.unknown(x.context._native, distances, slots, 4).apply(x._evaluator, part)
        several = _native.BlockTransform(x.context._native, blocks, 1, 2, slots, 4)
        several.encode_unknown(0, 0, len(distances)), several.encode_unknown(1, 0, len(distances))
        several.apply(x._evaluator, [part])
        return x

    client = lt.keygen(ctx)
    ctx.use(client.server_keys(ctx.plan(program, lt.Shape((2048,), 4))))
    x = client.encrypt(rng(1).uniform(-1, 1, 2048), 4)
    part = x._parts[0].with_slots(slots)
    rows = rng(2).normal(size=(len(distances), slots)).astype(complex)
    rows[-1] = np.tile(rows[-1][: min(slots, 64)], slots // min(slots, 64))
    heavy, light = (_native.LinearTransform(ctx._native, distances, rows, 4, light=light) for light in (False, True))
    want = _native.ciphertexts_to_bytes([heavy.apply(x._evaluator, part)], "", None)
    for _ in range(2):
        assert _native.ciphertexts_to_bytes([light.apply(x._evaluator, part)], "", None) == want
    assert light.rotations == heavy.rotations and light.bytes != heavy.bytes
    several = []
    for kept in (False, True):
        t = _native.BlockTransform(ctx._native, blocks, 1, 2, slots, 4, light=kept)
        for block in (0, 1):
            t.encode(block, 0, rows * (1 + block))
        several.append(_native.ciphertexts_to_bytes(t.apply(x._evaluator, [part]), "", None))
    assert several[0] == several[1]
