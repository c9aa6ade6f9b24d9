"""Lowered graphs compiled: a preset, levels, a plan and the noise that it predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import _native, arrays, errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context, presets
from ..claims import noise
from ..claims.known import Range
from ..common import devices, display
from ..common.progress_bar import Task
from . import rewrites
from .activations import BITS as FIT_BITS
from .balancing import balanced
from .compiled import Compiled
from .estimators import ensemble, features, has_trees, last
from .forests import comparing, graphs, trees
from .graph import Graph
from .halves import filling
from .halves.values import across
from .lowered import Lowered
from .maps import splitting
from .maps.transforms import Transform, with_moves
from .memory import fitted, planned
from .packing import Packing, groups_for
from .placement import Placement, Rates, placed, prepared_seconds, stand_in
from .plan import LayerPlan, NetworkPlan
from .products.arranging import arranged
from .ranges import MARGIN, Normal
from .reading import captured, collected, read
from .run import Machine, Step, by_layer, result_of_layer
from .shadow import Added, Errors, Shadow, bits_of
from .units import Scaled, scaled

_FEW_PRODUCTS = 1 << 14  # products of numbers; more of them take several times as long as a product of matrices
_SAMPLES = 32  # number of calibration inputs on which the noise of a plan is simulated
_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def compile(model: Any, sample: Any = None, *, calibration: Any = None, preset: str | None = None,
            device: str | None = None, bits: float = 8.0, memory: int | str | None = None, images: int = 1,
            margin: float = MARGIN, fits: Mapping[str, Any] | None = None, fit_bits: float = FIT_BITS) -> Compiled:
    """A network for encrypted data: ``enc = lt.nn.compile(model, sample, calibration=batch)``.

    ``model``: a ``torch.nn.Module`` or an exported program of PyTorch, an estimator of scikit-learn, a graph of
    ``latticino.nn.graph``, or a `Lowered` one. ``sample``: inputs along a first axis, which PyTorch's models are
    followed on. ``calibration``: a thousand or more typical inputs along a first axis (the sample where there is none):
    values are bounded by ``margin`` times the largest ones, activations fitted to them, and the precision simulated on
    32 of them. ``fits``: for activations, by the name of their layer: "composite", "polynomial", a degree, or monomial
    coefficients; for comparisons of decision trees the gap, as a share of the largest distance from a threshold; for
    argmax and thresholds how close values may be, in their own units.
    ``fit_bits``: how close activations are, relative to their largest value.

    ``preset``: the parameters. None takes those of 128-bit security with the least predicted time that leave ``bits``
    of precision relative to the largest result. ``device``: as of `Context`; ``"cuda"`` needs no GPU to compile.
    ``memory``: bytes of device memory that a run may take, or a text such as ``"16GiB"``. Weights that do not fit stay
    there as integers, which take far less memory, and every run expands them.
    ``images``: inputs of one run, side by side in the slots, and half of them in imaginary parts where that is
    predicted to be faster.

    Nothing is encrypted and no key is made. UnsupportedError names a layer that cannot run encrypted. ValueError if
    divisors, or arguments of roots and logarithms, are not above 0 for the calibration data. ParameterError or
    LevelError if the model is too deep, OutOfMemoryError if the memory does not suffice.
    """
    images = arrays.as_integer(images, "compile", "images", 1, 2**15)
    device = None if device is None else arrays.as_text(device, "compile", "device")
    if preset is not None and not isinstance(preset, _native.Params):
        preset = arrays.as_text(preset, "compile", "preset")
    limit, wanted = None if memory is None else as_bytes(memory), arrays.as_real(bits, "compile", "bits")
    data = sample if calibration is None else calibration
    if isinstance(model, Lowered):
        return compiled(model, None if data is None else _calibration(model, data), preset, device, wanted, limit,
                        images)
    model = captured(model, sample)
    if has_trees(model):
        data = calibration = collected(data, (features(model),))  # because it is read for each form
    elif isinstance(model, Graph) and rewrites.multiplies(model):
        data = calibration = collected(data, model.shape_in)

    def made(form: str) -> Compiled:
        with Task("reading the model"):
            found = read(model, sample, calibration=calibration, margin=margin, bits=fit_bits, fits=fits, form=form)
        lowered, factors = balanced(found.lowered, found.largest)
        enc = compiled(lowered, found.samples / factors, preset, device, wanted, limit, images)
        enc.reading, enc._normal, enc._decision = found, found.normal, found.model.decision
        notes = [*enc.plan.notes, *found.notes]
        if factors.min() < 1:
            enc._normal = (found.normal or Normal.plain(factors.shape)).times(factors)
            notes.append(f"features of very different sizes: {np.count_nonzero(factors < 1)} of {factors.size} are "
                         "divided by factors before they are encrypted, and may not exceed bounds of their own")
        enc.plan = replace(enc.plan, notes=tuple(notes), gap=found.gap)
        return enc

    if has_trees(model):
        enc, notes = _fastest(made, model, images)
    elif isinstance(model, Graph) and rewrites.multiplies(model):
        enc, notes = _with_products(made, rewrites.multiplies(model))
    else:
        enc, notes = made(""), []
    if enc.plan.bits < wanted:  # where `preset` names the parameters
        notes.append(f"the result has {enc.plan.bits:.1f} bits, fewer than bits={wanted:g}")
    if enc.result_unit != 1:
        notes.append(f"an encrypted result is divided by {enc.result_unit:g}: enc.decrypt multiplies by it, "
                     "client.decrypt does not")
    enc.plan = replace(enc.plan, notes=(*enc.plan.notes, *notes))
    return enc


def _fastest(make: Callable[[str], Compiled], model: Any, images: int) -> tuple[Compiled, list[str]]:
    """Compiles a model with decision trees in the form with the least predicted time. Also returns what was compared.
    """
    of = ensemble(*last(model))
    found, form = _in_forms(make, graphs.forms(of, images))
    enc = found[form]
    count = sum(len(trees.comparisons(tree)) for tree in of.trees)
    ways = comparing.ways({name: other.plan.seconds for name, other in found.items()}, form)
    return enc, [*ways, *comparing.tables(enc.plan, count * images)]


def _with_products(make: Callable[[str], Compiled], count: int) -> tuple[Compiled, list[str]]:
    """Compiles a model with products of two encrypted matrices in the form with the least predicted time. ``count``:
    the number of products of numbers in the largest of them. If it is large, one form is only tried if the other is not
    possible."""
    found, form = _in_forms(make, rewrites.FORMS, count > _FEW_PRODUCTS)
    words = {"matmul": "as such", "elementwise": "as products of numbers"}
    times = ", ".join(f"{words[name]} {display.seconds(enc.plan.seconds)}" for name, enc in found.items())
    return found[form], [f"products of encrypted matrices are computed {words[form]} (predicted for the run: {times})"]


def _in_forms(make: Callable[[str], Compiled], names: Sequence[str],
              enough: bool = False) -> tuple[dict[str, Compiled], str]:
    """Compiles a model in each of these forms that is possible, or only in the first possible one (`enough`). Returns
    the one with the least predicted time."""
    found: dict[str, Compiled] = {}
    refused: list[errors.Error] = []
    for form in names:
        if enough and found:
            break
        try:
            found[form] = make(form)
        except (errors.LevelError, errors.ParameterError, errors.OutOfMemoryError, errors.UnsupportedError) as why:
            refused.append(why)
    if not found:
        raise refused[0]
    return found, min(found, key=lambda name: (found[name].plan.seconds, found[name].plan.peak_bytes))


def _calibration(graph: Lowered, given: Any) -> np.ndarray:
    """Inputs of the shape of the graph's, without NaN."""
    x, shape = arrays.as_numpy(given, "compile"), graph.nodes[graph.inputs[0]].shape
    if x.dtype.kind == "c" or x.shape[1:] != shape or not len(x):
        raise errors.ShapeError.explain("compile", f"calibration data of shape {x.shape} and type {x.dtype}",
                                        f"real numbers of shape (n, {', '.join(map(str, shape))})",
                                        "stack inputs along a first axis")
    if not np.isfinite(x).all():
        raise errors.ValueError.explain("compile", "NaN or infinity", "finite calibration data", "clean the data")
    return x.astype(np.float64)


def as_bytes(memory: int | str, least: int = 1) -> int:
    """Bytes from a number, or from a text such as "16GiB"; ValueError for less than ``least``."""
    if not isinstance(memory, str):
        return arrays.as_integer(memory, "compile", "memory", least)
    text = memory.strip().upper().replace(" ", "")
    number = text.rstrip("BIKMGT")
    cause: Exception | None = None
    try:
        size = int(float(number) * _UNITS[text[len(number):]])
        if size >= least:
            return size
    except (ValueError, LookupError, OverflowError) as why:
        cause = why
    raise errors.ValueError.explain("compile", f"memory={arrays.shown(memory)}", 'bytes, or a text such as "16GiB"',
                                    "correct it") from cause


def compiled(graph: Lowered, samples: np.ndarray | None = None, preset: str | None = None, device: str | None = None,
             bits: float = 8.0, memory: int | None = None, images: int = 1, filled: bool | None = None) -> Compiled:
    """A lowered graph compiled: see `compile`. `samples`: of the calibration data, shape (n, *shape). `filled`: whether
    imaginary halves of slots hold images; None for what is predicted to be faster."""
    if len(graph.inputs) != 1:
        raise errors.UnsupportedError.explain("compile", f"a model of {len(graph.inputs)} inputs", "one input",
                                              "join them along an axis, and slice in the model")
    if not filling.are_consistent(graph, False):
        raise errors.UnsupportedError.explain("compile", "a graph with splits or joins of halves", "one without them",
                                              "leave them out: the library puts them in")
    network = scaled(graph)
    on_gpu = isinstance(device, str) and device.partition(":")[0] == "cuda"
    kind = devices.named(device)[0] if on_gpu else (
        "cpu" if device == devices.NOT_ENCRYPTED else devices.choose(device)[0])
    if samples is None:
        node = graph.nodes[graph.inputs[0]]
        samples = np.random.default_rng(0).uniform(-node.bound, node.bound, (_SAMPLES, *node.shape)) / 2
    search = _Search(network, kind, device, samples[:_SAMPLES], memory, images, filled)
    return search.chosen(bits) if preset is None else search.tried(preset)


@dataclass(frozen=True)
class _Search:
    """The network for which presets are tried, and what several presets share: by slots, and by the convolutions that
    are split."""

    network: Scaled
    kind: str
    device: str | None
    samples: np.ndarray
    memory: int | None
    images: int
    filled: bool | None = None
    _machines: dict[tuple[int, int, bool], tuple[Scaled, Machine]] = field(default_factory=dict)
    _groups: dict[tuple[int, bool], int] = field(default_factory=dict)
    _transforms: dict[tuple[object, ...], Transform] = field(default_factory=dict)

    @cached_property
    def _splitting(self) -> splitting.Splitting:
        return splitting.Splitting(self.network, self.samples)

    def chosen(self, bits: float) -> Compiled:
        """The network compiled for the preset of 128-bit security that takes the least predicted time."""
        found: list[Compiled] = []
        refused: list[str] = []
        names = [name for name in presets() if _native.preset(name).secure]
        with Task("choosing a preset", len(names)) as task:
            for name in sorted(names, key=lambda name: int(_native.preset(name).n)):
                # A larger ring takes longer, unless it saves ciphertexts.
                n = _native.preset(name).n
                if not any(_native.preset(f.preset).n < n and f.alone for f in found):
                    try:
                        made = self.tried(name)
                    except (errors.LevelError, errors.ScaleError, errors.UnsupportedError,
                            errors.OutOfMemoryError) as why:
                        refused.append(f"  {name}: {why}")
                    else:
                        if made.plan.bits >= bits:
                            found.append(made)
                        else:
                            refused.append(f"  {name}: {made.plan.bits:.1f} bits of {bits:g}")
                task.advance()
        if not found:
            raise errors.ParameterError.explain(
                "compile", "a network that no preset runs", f"{bits:g} bits and enough levels",
                "ask for fewer bits, or simplify the model\n" + "\n".join(refused))
        return min(found, key=lambda c: (c.plan.seconds, c.plan.peak_bytes))

    def tried(self, preset: str) -> Compiled:
        """The network compiled for one preset, with imaginary halves of slots filled or empty: whichever is predicted
        to be faster within the memory."""
        context = Context._for_plans(preset, self.kind, False)
        found = sorted(_with_halves(self, context), key=lambda f: f.placement.seconds)
        made: list[Compiled] = []
        refused: list[errors.OutOfMemoryError] = []
        for each in found:
            try:
                made.append(self._made(each, context, _on_halves(found, each)))
            except errors.OutOfMemoryError as why:
                refused.append(why)
            else:
                if not made[-1].plan.light:  # all of its weights are encoded, so the others would be slower
                    break
        if not made:
            raise min(refused, key=lambda why: why.needed)
        return min(made, key=lambda enc: enc.plan.seconds)

    def _made(self, found: _Found, context: Context, notes: Sequence[str]) -> Compiled:
        network, machine, placement = found
        graph = network.graph
        samples = _enough(self.samples)
        steps = placement.steps
        exact = Shadow(graph, network.units, steps, Errors.none(steps), network.units).layers(samples)
        rows, own = _profiled(machine, placement, context, _sizes(graph, steps, exact))
        first = machine.packings[graph.inputs[0]]
        program = planned(machine, placement, context, _fresh_error(context.params, placement.level, first))
        program.notes = [*program.notes, *notes]
        shadow = Shadow(graph, network.units, steps, own, network.units)
        measured = [bits_of(noisy - values, node.bound) for node, values, noisy in zip(
            graph.nodes, exact, shadow.layers(samples, np.random.default_rng(1)))]
        layers = _by_layer(rows, machine, measured, context.params)
        plan = NetworkPlan(tuple(layers), program, context.params.name, self.kind, self.images, placement.level,
                           measured[graph.output], tuple(program.notes), halves=machine.filled)
        if self.memory is not None:
            machine, plan = fitted(machine, placement, context, plan, self.memory)
        return Compiled(network, placement, machine, context, plan, own, self.device)

    def splits(self, slots: int, filled: bool) -> dict[int, splitting.Split]:
        each = across(self.images, filled) // self.groups(slots, filled)
        return splitting.splittable(self.network.graph, slots, each)

    def groups(self, slots: int, filled: bool) -> int:
        """The number of groups that the images of a run form; if `filled`, only those in real parts count."""
        if (slots, filled) not in self._groups:
            each = across(self.images, filled)
            self._groups[slots, filled] = groups_for(self.network.graph, slots, each)
        return self._groups[slots, filled]

    def machine(self, slots: int, least: int, filled: bool) -> tuple[Scaled, Machine]:
        """The machine in which those convolutions are split whose planes have `least` channels or more; 0 splits
        none."""
        if (slots, least, filled) not in self._machines:
            network = self.network
            if least:
                some = {i: split for i, split in self.splits(slots, filled).items() if split.each >= least}
                network = self._splitting.split(some)
            groups = self.groups(slots, filled)
            if filled:
                network = filling.filled(network)
                graph = with_moves(network.graph, slots, across(self.images, True), groups, True)
            else:
                graph = with_moves(arranged(network.graph, slots, self.images), slots, self.images, groups)
            machine = Machine(graph, slots, self.images, groups, self._transforms, filled)
            self._machines[slots, least, filled] = _moved(network, graph), machine
        return self._machines[slots, least, filled]


class _Found(NamedTuple):
    network: Scaled
    machine: Machine
    placement: Placement


def _with_halves(search: _Search, context: Context) -> list[_Found]:
    """The network with images in real parts alone, and in both halves of slots if there are several images and real
    parts alone take several ciphertexts."""
    if search.filled is not None:
        return [_fastest_maps(search, context, search.filled)]
    alone = _fastest_maps(search, context, False)
    one = search.images == 1 or all(p.count == 1 for p in alone.machine.packings)
    if one or search.network.graph.products:
        return [alone]
    try:
        return [alone, _fastest_maps(search, context, True)]
    except (errors.LevelError, errors.ScaleError):  # a factor needed a level that the network does not have
        return [alone]


def _on_halves(found: Sequence[_Found], chosen: _Found) -> list[str]:
    """A note on what was chosen, if there was a choice. The first one was predicted to be the fastest."""
    if len(found) == 1:
        return []
    seconds = {each.machine.filled: display.seconds(each.placement.seconds) for each in found}
    halves = "filled" if chosen.machine.filled else "empty"
    why, limit = ("", "") if chosen is found[0] else (" to fit the memory", " without a limit of memory")
    return [f"imaginary halves of slots are {halves}{why} (predicted for the run{limit}: filled {seconds[True]}, "
            f"empty {seconds[False]})"]


def _fastest_maps(search: _Search, context: Context, filled: bool) -> _Found:
    """The network with each convolution in one map or in two, whichever is predicted to be faster. Those of the largest
    gaps are tried first, as long as that helps."""
    network, machine = search.machine(context.slots, 0, filled)
    rates = Rates(machine, context)
    best = _Found(network, machine, placed(rates))
    for least in sorted({split.each for split in search.splits(context.slots, filled).values()}, reverse=True):
        network, machine = search.machine(context.slots, least, filled)
        try:
            placement = placed(Rates(machine, context, rates))
        except errors.LevelError:  # they take one level each
            break
        if placement.seconds >= best.placement.seconds:
            break
        best = _Found(network, machine, placement)
    return best


def _moved(network: Scaled, graph: Lowered) -> Scaled:
    """The units of all nodes. Maps that `with_moves` inserted have the units of what they move."""
    units = {node.name: unit for node, unit in zip(network.graph.nodes, network.units)}
    out: list[float] = []
    for node in graph.nodes:
        out.append(units[node.name] if node.name in units else out[node.inputs[0]])
    return Scaled(graph, tuple(out))


class _Row(NamedTuple):
    """The cost of a step by itself."""

    step: Step
    seconds: float
    bootstraps: int
    keys: int
    bytes: int


def _enough(samples: np.ndarray) -> np.ndarray:
    """The samples as rows. Few samples are repeated, because one draw of an error tells little of its size."""
    flat = samples.reshape(len(samples), -1)
    return np.resize(flat, (max(len(flat), _SAMPLES), flat.shape[1]))


def _sizes(graph: Lowered, steps: Sequence[Step], values: Sequence[np.ndarray]) -> dict[int, float]:
    """The root mean square of the values of nodes that are bootstrapped, or that only products of matrices read. A
    bootstrapping takes more from large values, and an error of one factor is multiplied by the other. Most values are
    far smaller than the largest."""
    factors = {j for i in graph.products for j in graph.nodes[i].inputs}
    users = graph.users
    alone = [j for j in factors if all(graph.nodes[i].op == "matmul" for i in users[j]) and j != graph.output]
    return {j: float(np.sqrt((values[j] ** 2).mean())) for j in {*alone, *(s.node for s in steps if s.form)}}


def _profiled(machine: Machine, placement: Placement, context: Context,
              sizes: Mapping[int, float]) -> tuple[list[_Row], Errors]:
    """The cost of each step, and the errors of the input and of each step. They come from a dry run in which the
    operands of all steps are exact. Bringing an operand to the level of the step adds an error; it is noted by itself,
    and the operand is exact again. ``sizes`` of nodes whose values are known better than by their bound."""
    twin, recorder = Context._dry(context)
    graph, params = machine.graph, context.params
    first = graph.inputs[0]
    rows: list[_Row] = []
    added: list[Added] = []
    operands: list[float] = []  # errors of the operands of the current step
    sums = [0.0, 0, 0, 0]

    def watch_operand(step: Step, k: int, x: Ciphertext) -> Ciphertext:
        operands.append(x._known.estimate.rms)
        return x._like(x._parts, _native.Known.fresh(x._known.estimate.range, 0.0))

    def watch(step: Step, y: Ciphertext) -> Ciphertext:
        now = [prepared_seconds(twin), twin.bootstraps, len(recorder.request),
               twin._products.bytes]
        took = [b - a for a, b in zip(sums, now)]
        sums[:] = now
        rows.append(_Row(step, took[0], int(took[1]), int(took[2]), int(took[3])))
        maps = machine.transforms[step.node] if step.form is None else ()
        rotated = tuple(t.error_before(params, step.level, params.scale(step.level)) for t in maps)
        added.append(Added(y._known.estimate.rms, tuple(operands), rotated))
        operands.clear()
        bound = graph.nodes[step.node].bound
        return y._like(y._parts, _native.Known.fresh(Range(-bound, bound, rms=sizes.get(step.node)), 0.0))

    packing = machine.packings[first]
    fresh = _fresh_error(context.params, placement.level, packing)
    machine.without_errors_before().run(
        placement.steps, [stand_in(twin, packing, placement.level, graph.nodes[first].bound)], watch, watch_operand)
    return rows, Errors(fresh, tuple(added))


def _fresh_error(params: _native.Params, level: int, packing: Packing) -> float:
    return noise.fresh(params, params.scale(level), packing.slots)


def _by_layer(rows: Sequence[_Row], machine: Machine, bits: Sequence[float], params: _native.Params) -> list[LayerPlan]:
    """One row per layer."""
    groups = by_layer(machine.graph, [row.step for row in rows])
    return [_layer([rows[k] for k in numbers], machine, bits, params) for numbers in groups]


def _layer(group: Sequence[_Row], machine: Machine, bits: Sequence[float], params: _native.Params) -> LayerPlan:
    own = [row for row in group if row.step.form is None]
    last = result_of_layer([row.step for row in group], range(len(group)))
    level = group[0].step.level
    operations: dict[str, int] = {}
    for row in own:
        node = machine.graph.nodes[row.step.node]
        series = node.series
        name = node.op if series is None else "square" if series.is_square else f"degree {series.degree}"
        operations[name] = operations.get(name, 0) + 1
    return LayerPlan(
        machine.graph.nodes[last].title, ", ".join(k if n == 1 else f"{n} {k}" for k, n in operations.items()),
        machine.packings[last].text, level, int(params.limbs(level)), sum(row.bootstraps for row in group),
        sum(t.diagonals for row in own for t in machine.transforms[row.step.node]),
        sum(row.keys for row in group), sum(row.bytes for row in group), sum(row.seconds for row in group), bits[last])
