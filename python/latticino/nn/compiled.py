"""Networks compiled for encrypted data: what is planned, run, shadowed and saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, arrays, errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context, presets
from ..ckks.plan import Plan
from ..claims import noise
from ..claims.known import Known, Range
from ..common import devices, display, roles
from ..common.layout import Layout
from ..common.locks import Lock
from ..common.progress_bar import Task
from ..programs.program import Program
from .lowered import Lowered
from .packing import Packing, with_moves
from .placement import Placement, Rates, placed, stand_in
from .plan import LayerPlan, NetworkPlan
from .run import Machine, Step
from .scaling import Scaled, scaled
from .shadow import Shadow

if TYPE_CHECKING:
    from ..ckks.client import Client, ServerKeys

_SAMPLES = 32  # of the calibration data, in which the noise of a plan is simulated
_MEAN = math.sqrt(2 / math.pi)  # of the size of a normal number, in units of its deviation


class Network:
    """What the owner of the data needs of a compiled network: how samples become ciphertexts, and results values.

    ``shape`` of a sample, ``result_shape``; ``images`` of a run: with 1, `encrypt` takes one sample, else an array of
    that many.
    """

    def __init__(self, preset: str, images: int, level: int, shape: tuple[int, ...], result_shape: tuple[int, ...],
                 packing: Layout, unit: float, bound: float, program: Plan) -> None:
        self.preset, self.images, self.level = preset, images, level
        self.shape, self.result_shape = shape, result_shape
        self._packing, self._unit, self._bound, self._program = packing, unit, bound, program

    def encrypt(self, client: Client, x: Any) -> Ciphertext:
        """A sample, or ``images`` of them, encrypted in the layout that the network reads.

        ShapeError for another shape, ValueError where values exceed what the network was calibrated for.
        """
        values = self._samples(x, "encrypt")
        if values.shape[0] != self.images:
            raise errors.ShapeError.explain(
                "encrypt", f"{values.shape[0]} samples", f"{self.images}, which a run takes",
                "pass as many, or compile with images= of another number")
        _require_params(client.context, self._program)
        most = float(np.abs(values).max())
        if most > self._bound:
            raise errors.ValueError.explain(
                "encrypt", f"values up to {most:.4g}", f"values within {self._bound:.4g}, for which it was calibrated",
                "prepare the data as those of the calibration, or calibrate with such values")
        ratio = self._bound / self._unit
        flat = client.encrypt(self._packing.rows(values / self._unit).reshape(-1), self.level, range=(-ratio, ratio))
        return flat._like(flat._parts, flat._known, layout=self._packing)

    def decrypt(self, client: Client, y: Ciphertext) -> arrays.PrivateArray:
        """The result of a run, of shape ``result_shape``, or (images, *result_shape)."""
        roles.require_kind("decrypt", y, Ciphertext, "enc(x) gives it")
        if y.shape != self._shape_of_results:
            raise errors.ShapeError.explain(
                "decrypt", f"an array of shape {y.shape}", f"a result of this network: {self._shape_of_results}",
                "pass what enc(x) gave")
        return client.decrypt(y)

    def server_keys(self, client: Client, show: bool | None = None) -> ServerKeys:
        """Exactly the keys that a run needs: the server's ``enc.context.use(keys)`` takes them."""
        _require_params(client.context, self._program)
        return client.server_keys(self._program, show=show)

    @property
    def _shape_of_results(self) -> tuple[int, ...]:
        return self.result_shape if self.images == 1 else (self.images, *self.result_shape)

    def _samples(self, x: Any, operation: str) -> np.ndarray:
        """Of shape (samples, *shape), in double precision."""
        array = arrays.as_numpy(x, operation)
        if array.dtype.kind == "c" or array.shape not in ((*array.shape[:1], *self.shape), self.shape):
            raise errors.ShapeError.explain(
                operation, f"numbers of shape {array.shape} and type {array.dtype}",
                f"real numbers of shape {self.shape}, or several of them along a first axis", "reshape the data")
        if not np.isfinite(array).all():
            raise errors.ValueError.explain(operation, "NaN or infinity", "finite numbers", "clean the data")
        return np.asarray(array, np.float64).reshape(-1, *self.shape)


class Compiled(Network):
    """A network that runs on encrypted data. Made by ``lt.nn.compile`` or ``lt.nn.load``.

    ``enc.plan`` says what it takes; ``enc.shadow(x)`` computes the same in float; ``enc(enc.encrypt(client, x))`` runs
    it once ``enc.context.use(enc.server_keys(client))`` has given the keys; ``enc.decrypt(client, y)``, or
    ``client.decrypt(y)``, gives the result.
    """

    def __init__(self, network: Scaled, placement: Placement, machine: Machine, context: Context, plan: NetworkPlan,
                 errors_: Sequence[float], device: str | None, memory: int | None) -> None:
        graph = network.graph
        first, last = graph.nodes[graph.inputs[0]], graph.nodes[graph.output]
        unit = network.units[graph.inputs[0]]
        super().__init__(context.params.name, machine.images, placement.level, first.shape, last.shape,
                         machine.packings[graph.inputs[0]].layout, unit, first.bound * unit, plan.program)
        self.plan = plan
        self._network, self._placement, self._machine = network, placement, machine
        self._errors, self._device, self._memory = tuple(errors_), device, memory
        self._shadow = Shadow(graph, network.units, placement.steps, self._errors)
        self._programs: dict[str, Program] = {}
        self._lock = Lock()

    @cached_property
    def context(self) -> Context:
        """The context that it runs in, on the device that it was compiled for."""
        context = Context(self.preset, self._device)
        if self._memory is not None:
            context._products.limit = max(0, self._memory - self.plan.key_bytes)
        else:
            context._products.limit = math.inf  # weights stay encoded
        return context

    def __call__(self, x: Ciphertext) -> Ciphertext:
        """The network of an encrypted sample, or of ``images`` of them.

        The first call records the run, later ones replay it. ContextError, ShapeError or LevelError for what
        `encrypt` did not make.
        """
        roles.require_kind("network", x, Ciphertext, "enc.encrypt(client, sample) makes it")
        self._require_input(x)
        with self._lock:
            program = self._programs.get(x._key)
            if program is None:
                self._programs.clear()  # a recording has memory of its own
                program = self._programs[x._key] = Program(self._run)
        with Task(f"running a network of {len(self._placement.steps)} steps"):
            y: Ciphertext = program(x)
        return y

    def _run(self, x: Ciphertext) -> Ciphertext:
        return self._result(self._machine.run(self._placement.steps, [x]))

    def _result(self, y: Ciphertext) -> Ciphertext:
        return y.reshape(self.result_shape) if self.images == 1 else y

    def _require_input(self, x: Ciphertext) -> None:
        if x.context._root is not self.context:
            raise errors.ContextError.explain(
                "network", "a ciphertext of another context", "one of enc.context",
                "make the client with lt.keygen(enc.context), or load the ciphertext there")
        if x.level != self.level or not x.layout.same(self._packing):
            raise errors.ShapeError.explain(
                "network", f"an array of shape {x.shape} at level {x.level}",
                f"one of shape {self._packing.shape} at level {self.level}, in the layout that the network reads",
                "encrypt with enc.encrypt(client, sample)")

    def shadow(self, x: Any, noise: bool = False) -> np.ndarray:
        """What the encrypted run computes, in float and in the clear: of shape (samples, *result_shape).

        ``x``: one sample or a batch of any length. ``noise``: with random errors of the sizes that are predicted.
        ValueError where a value leaves the range that a polynomial was fitted for, naming the layer.
        """
        samples = self._samples(x, "shadow")
        random = np.random.default_rng() if noise else None
        return self._shadow.results(samples.reshape(len(samples), -1), random)

    def __repr__(self) -> str:
        return (f"Compiled({self.shape} to {self.result_shape}, {len(self.plan.layers)} layers, {self.preset} on "
                f"{self.plan.device}, {self.plan.bootstraps} bootstrappings, {display.seconds(self.plan.seconds)}, "
                f"{self.plan.bits:.1f} bits)")

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()


def _require_params(context: Context, program: Plan) -> None:
    if context.params.hash != program.params_hash:
        raise errors.ContextError.explain(
            "network", f"a client of {context.params.name}", "one of the network's parameters",
            "make it with lt.keygen(enc.context)")


# ---- compiling ----

_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def compile(model: Any, sample: Any = None, *, calibration: Any = None, preset: str | None = None,
            device: str | None = None, bits: float = 8.0, memory: int | str | None = None, images: int = 1) -> Compiled:
    """A network for encrypted data: ``enc = lt.nn.compile(model, sample, calibration=batch)``.

    ``model``: a `Lowered` graph. ``calibration``: a batch of typical samples, shape (n, *shape of one); the precision
    that the plan predicts is that of a simulation on 32 of them. ``preset``: parameters; None: those of 128-bit
    security that take the least predicted time and leave ``bits`` of the largest result. ``device``: as of `Context`;
    ``"cuda"`` needs no GPU to compile. ``memory``: bytes of device memory that a run may take, or a text such as
    ``"16GiB"``; weights that do not fit beside keys are encoded at each run. ``images``: samples of one run, side by
    side in the slots.

    Nothing is encrypted and no key made. ParameterError or LevelError where the model is too deep, and OutOfMemoryError
    where the memory does not suffice.
    """
    if not isinstance(model, Lowered):
        raise errors.UnsupportedError.explain("compile", f"a {type(model).__name__}", "a lowered graph",
                                              "build it of lt.nn.Node")
    images = arrays.as_integer(images, "compile", "images", 1, 2**15)
    if device is not None:
        device = arrays.as_text(device, "compile", "device")
    given = calibration if calibration is not None else None if sample is None else np.asarray(sample)[None]
    samples = None if given is None else _calibration(model, given)
    return compiled(model, samples, preset, device, arrays.as_real(bits, "compile", "bits"),
                    None if memory is None else _as_bytes(memory), images)


def _calibration(graph: Lowered, given: Any) -> np.ndarray:
    """Samples of the shape of the input, without NaN."""
    x, shape = arrays.as_numpy(given, "compile"), graph.nodes[graph.inputs[0]].shape
    if x.dtype.kind == "c" or x.shape[1:] != shape or not len(x):
        raise errors.ShapeError.explain("compile", f"calibration data of shape {x.shape} and type {x.dtype}",
                                        f"real numbers of shape (n, {', '.join(map(str, shape))})",
                                        "stack samples along a first axis")
    if not np.isfinite(x).all():
        raise errors.ValueError.explain("compile", "NaN or infinity", "finite calibration data", "clean the data")
    return x.astype(np.float64)


def _as_bytes(memory: int | str) -> int:
    """Of a number, or a text such as "16GiB"."""
    if not isinstance(memory, str):
        return arrays.as_integer(memory, "compile", "memory", 1)
    text = memory.strip().upper().replace(" ", "")
    number = text.rstrip("BIKMGT")
    try:
        return int(float(number) * _UNITS[text[len(number):]])
    except (ValueError, LookupError, OverflowError) as why:
        raise errors.ValueError.explain("compile", f"memory={arrays.shown(memory)}", 'bytes, or a text such as "16GiB"',
                                        "correct it") from why


def compiled(graph: Lowered, samples: np.ndarray | None = None, preset: str | None = None, device: str | None = None,
             bits: float = 8.0, memory: int | None = None, images: int = 1) -> Compiled:
    """A lowered graph compiled: see `compile`. `samples`: of the calibration data, shape (n, *shape)."""
    if len(graph.inputs) != 1:
        raise errors.UnsupportedError.explain("compile", f"a model of {len(graph.inputs)} inputs", "one input",
                                              "join them along an axis, and slice in the model")
    network = scaled(graph)
    on_gpu = isinstance(device, str) and device.partition(":")[0] == "cuda"
    kind = "cuda" if on_gpu else devices.choose(device)[0]
    if samples is None:
        node = graph.nodes[graph.inputs[0]]
        samples = np.random.default_rng(0).uniform(-node.bound, node.bound, (_SAMPLES, *node.shape)) / 2
    if preset is not None:
        return _tried(network, preset, kind, device, samples, memory, images)
    return _chosen(network, kind, device, samples, bits, memory, images)


def _chosen(network: Scaled, kind: str, device: str | None, samples: np.ndarray, bits: float, memory: int | None,
            images: int) -> Compiled:
    """With the preset of 128-bit security that takes the least predicted time."""
    found: list[Compiled] = []
    refused: list[str] = []
    names = [name for name in presets() if _native.preset(name).secure]
    with Task("choosing a preset", len(names)) as task:
        for name in names:
            try:
                made = _tried(network, name, kind, device, samples, memory, images)
            except (errors.LevelError, errors.ScaleError, errors.UnsupportedError) as why:
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


def _tried(network: Scaled, preset: str, kind: str, device: str | None, samples: np.ndarray, memory: int | None,
           images: int) -> Compiled:
    context = Context._for_plans(preset, kind, False)
    graph = with_moves(network.graph, context.slots, images)
    network = _moved(network, graph)
    machine = Machine(graph, context.slots, images)
    placement = placed(Rates(machine, context))
    rows, own = _profiled(machine, placement, context)
    program = _planned(machine, placement, context)
    if memory is not None and program.peak_bytes > memory:
        program_weights = program.peak_bytes - program.constant_bytes
        if program_weights > memory:
            raise errors.OutOfMemoryError.explain(
                "compile", f"memory={display.size(memory)}", f"{display.size(program_weights)} without any weights",
                "allow more memory, or run fewer images at once")
    shadow = Shadow(graph, network.units, placement.steps, own)
    measured = _bits(shadow, samples[:_SAMPLES])
    layers = _by_layer(rows, machine, measured, context.params)
    plan = NetworkPlan(tuple(layers), program, preset, kind, images, placement.level, measured[graph.output],
                       tuple(program.notes))
    return Compiled(network, placement, machine, context, plan, own, device, memory)


def _moved(network: Scaled, graph: Lowered) -> Scaled:
    """With the units of the maps that `with_moves` put in: those of what they move."""
    units = {node.name: unit for node, unit in zip(network.graph.nodes, network.units)}
    out: list[float] = []
    for node in graph.nodes:
        out.append(units[node.name] if node.name in units else out[node.inputs[0]])
    return Scaled(graph, tuple(out))


class _Row(NamedTuple):
    """Of a step: what it took by itself, and the error that it added."""

    step: Step
    seconds: float
    bootstraps: int
    keys: int
    bytes: int
    error: float


def _profiled(machine: Machine, placement: Placement, context: Context) -> tuple[list[_Row], list[float]]:
    """What each step takes, and the errors of the input and of each step: from a dry run in which the operands of all
    steps are exact."""
    twin, recorder = Context._dry(context)
    graph = machine.graph
    first = graph.inputs[0]
    rows: list[_Row] = []
    sums = [0.0, 0, 0, 0]

    def watch(step: Step, y: Ciphertext) -> Ciphertext:
        now = [float(twin._native.predicted_seconds(*twin._timed)), twin.bootstraps, len(recorder.request),
               twin._products.bytes]
        took = [b - a for a, b in zip(sums, now)]
        sums[:] = now
        rows.append(_Row(step, took[0], int(took[1]), int(took[2]), int(took[3]), y._known.estimate.rms))
        bound = graph.nodes[step.node].bound
        return y._like(y._parts, Known.fresh(Range(-bound, bound), 0.0))

    packing = machine.packings[first]
    fresh = _fresh_error(context.params, placement.level, packing)
    machine.run(placement.steps, [stand_in(twin, packing, placement.level, graph.nodes[first].bound)], watch)
    return rows, [fresh, *(row.error for row in rows)]


def _fresh_error(params: _native.Params, level: int, packing: Packing) -> float:
    return noise.fresh(params, params.scale(level), packing.slots)


def _planned(machine: Machine, placement: Placement, context: Context) -> Plan:
    """Keys, memory and time of the run."""
    first = machine.graph.inputs[0]
    packing, bound = machine.packings[first], machine.graph.nodes[first].bound
    error = _fresh_error(context.params, placement.level, packing)
    return context.plan(lambda x: machine.run(placement.steps, [x]),
                        stand_in(context, packing, placement.level, bound, error))


def _bits(shadow: Shadow, samples: np.ndarray) -> list[float]:
    """Of each node: precision relative to its bound, from a noisy shadow of samples."""
    flat = samples.reshape(len(samples), -1)
    exact = shadow.layers(flat)
    noisy = shadow.layers(flat, np.random.default_rng(1))
    out = []
    for node, a, b in zip(shadow.graph.nodes, exact, noisy):
        error = _MEAN * float(np.sqrt(((a - b) ** 2).mean())) / node.bound
        out.append(-math.log2(error) if error > 0 else math.inf)
    return out


def _by_layer(rows: Sequence[_Row], machine: Machine, bits: Sequence[float], params: _native.Params) -> list[LayerPlan]:
    """Steps of one layer that follow one another, as one row. A bootstrapping belongs to the layer after it."""
    titles: list[str] = []
    for row in reversed(rows):
        waits = row.step.form is not None and titles
        titles.append(titles[-1] if waits else machine.graph.nodes[row.step.node].title)
    out = []
    for _, group in groupby(zip(reversed(titles), rows), key=itemgetter(0)):
        out.append(_layer([row for _, row in group], machine, bits, params))
    return out


def _layer(group: Sequence[_Row], machine: Machine, bits: Sequence[float], params: _native.Params) -> LayerPlan:
    own = [row for row in group if row.step.form is None]
    last, level = own[-1].step.node, group[0].step.level
    operations: dict[str, int] = {}
    for row in own:
        node = machine.graph.nodes[row.step.node]
        name = f"degree {node.series.degree}" if node.series is not None else node.op
        operations[name] = operations.get(name, 0) + 1
    return LayerPlan(
        machine.graph.nodes[last].title, ", ".join(k if n == 1 else f"{n} {k}" for k, n in operations.items()),
        machine.packings[last].text, level, int(params.limbs(level)), sum(row.bootstraps for row in group),
        sum(t.diagonals for row in own for t in machine.transforms[row.step.node]),
        sum(row.keys for row in group), sum(row.bytes for row in group), sum(row.seconds for row in group), bits[last])
