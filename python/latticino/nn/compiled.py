"""Networks compiled for encrypted data: what is planned, run, shadowed and saved."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from .. import arrays, errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..claims.known import flat_index
from ..common import display, roles
from ..common.layout import Layout
from ..common.locks import Lock
from ..common.once import once
from ..common.progress_bar import Task
from ..programs.program import Program
from . import files
from . import keys as keys_of
from .halves.values import across, as_range, packed, unpacked
from .labels.decisions import Decision
from .placement import Placement
from .plan import NetworkPlan
from .run import Machine, Step, by_layer, result_of_layer
from .shadow import Errors, Shadow, bits_of
from .units import Scaled

if TYPE_CHECKING:
    from ..ckks.client import Client, ServerKeys
    from .ranges import Normal
    from .reading import Reading


class Network(roles.Handle):
    """The part of a compiled network that the owner of the data needs: it encrypts samples and decrypts results.

    ``shape`` of a sample, ``result_shape``; ``images`` of a run: with 1, `encrypt` takes one sample, else an array of
    that many. With ``plan.halves`` an encrypted result holds two images in each complex number, which `decrypt`
    separates. ``result_unit``: what an encrypted result is divided by, 1 unless results are above 32 or below 1/32;
    `decrypt` multiplies by it. If the network ends with argmax, a threshold or a sign, an encrypted result has numbers
    near 0 and 1, and `decrypt` gives labels, booleans or signs.
    """

    def __init__(self, preset: str, images: int, level: int, shape: tuple[int, ...], result_shape: tuple[int, ...],
                 packing: Layout, unit: float, bound: float, program: Plan, result_unit: float = 1.0,
                 filled: bool = False) -> None:
        self.preset, self.images, self.level = preset, images, level
        self.shape, self._held_shape = shape, result_shape
        self._packing, self._unit, self._bound, self._program = packing, unit, bound, program
        self.result_unit = result_unit
        self._filled = filled  # whether imaginary parts hold half of the images
        self._refreshes: tuple[keys_of.Refresh, ...] = ()  # the bootstrappings that some of the keys are for
        self._normal: Normal | None = None  # units of each value of a sample, if it has units of its own
        self._decision: Decision | None = None  # what the result means, if it is that of a comparison

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the decrypted result of a sample."""
        return self._held_shape if self._decision is None else self._decision.shape

    def encrypt(self, client: Client, x: Any) -> Ciphertext:
        """A sample, or ``images`` of them, encrypted in the layout that the network reads.

        ShapeError for another shape, ValueError if values exceed what the network was calibrated for.
        """
        values = self._samples(x, "encrypt")
        if values.shape[0] != self.images:
            raise errors.ShapeError.explain(
                "encrypt", f"{values.shape[0]} samples", f"{self.images}, which a run takes",
                "pass as many, or compile with images= of another number")
        _require_params(client.context, self._program)
        values = self._in_units(values, "encrypt")
        self._require_within(values, "encrypt")
        held = packed(values / self._unit, self._filled)
        flat = client.encrypt(self._packing.rows(held).reshape(-1), self.level,
                              range=as_range(self._bound / self._unit, self._filled))
        known = flat._known.taken(self._packing.shape, flat_index(self._packing.places))
        return flat._like(flat._parts, known, layout=self._packing)

    def _in_units(self, values: np.ndarray, operation: str) -> np.ndarray:
        """The input in the units that the graph reads. ValueError, naming a feature, if it is outside of its range."""
        if self._normal is None:
            return values
        if not self._normal.clips:
            self._normal.require_within(operation, values, self._bound)
        return np.clip(self._normal(values), -self._bound, self._bound)

    def _require_within(self, values: np.ndarray, operation: str) -> None:
        """ValueError, naming a sample, if a value of the input exceeds the bound."""
        if float(np.abs(values).max(initial=0.0)) > self._bound:
            of_samples = np.abs(values).reshape(len(values), -1).max(axis=1)
            sample = int(of_samples.argmax())
            raise errors.ValueError.explain(
                operation, f"values up to {of_samples[sample]:.4g} in sample {sample}",
                f"values within {self._bound:.4g}, for which it was calibrated",
                "prepare the data as those of the calibration, calibrate with such values, or compile with a larger "
                "margin")

    def decrypt(self, client: Client, y: Ciphertext) -> arrays.PrivateArray:
        """The result of a run, of shape ``result_shape``, or (images, *result_shape).

        Labels are integers (int64). Comparisons with a threshold are booleans, or numbers if the model makes numbers of
        them. Signs are -1 and 1, or 0 close to 0. `UndecidedWarning` if values are too close to tell them apart.
        """
        roles.require_kind("decrypt", y, Ciphertext, "enc(x) gives it")
        if y.shape != self._shape_of_results:
            raise errors.ShapeError.explain(
                "decrypt", f"an array of shape {y.shape}", f"a result of this network: {self._shape_of_results}",
                "pass what enc(x) gave")
        values = client.decrypt(y)
        if self._filled:
            values = cast(arrays.PrivateArray, unpacked(values, self.images))
        if self.result_unit != 1:
            values = cast(arrays.PrivateArray, values * self.result_unit)
        if self._decision is None:
            return values
        found = cast(arrays.PrivateArray, self._decided("decrypt", values if self.images > 1 else values[None]))
        return found if self.images > 1 else cast(arrays.PrivateArray, found[0])

    def _decided(self, operation: str, values: np.ndarray) -> np.ndarray:
        """The results that numbers of shape (samples, ...) mean, with a warning if some are undecided."""
        if self._decision is None:
            return values
        self._decision.warn(operation, self._decision.undecided(values))
        return self._decision.of(values)

    def server_keys(self, client: Client, show: bool | None = None) -> ServerKeys:
        """The keys that a run needs, and no others. The server's ``enc.context.use(keys)`` takes them."""
        _require_params(client.context, self._program)
        return client.server_keys(self._program, show=show)

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("a network", "its files", "use save, and lt.nn.load in the other process")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what the owner of the data needs: neither weights nor keys. `lt.nn.load` gives a `Network`."""
        files.write(arrays.as_path(path, "save"), self._head("client"), {})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"kind": kind, "preset": self.preset, "params": self._program.params_hash, "images": self.images,
                "level": self.level, "shape": list(self.shape), "result_shape": list(self._held_shape),
                "unit": self._unit, "bound": self._bound, "result_unit": self.result_unit, "halves": self._filled,
                "slots": self._packing.slots, "ciphertexts": self._packing.count, "runs": self._packing.runs(),
                **files.of_normal(self._normal), **files.of_decision(self._decision),
                **keys_of.of_plan(self._program, self._refreshes)}

    def __repr__(self) -> str:
        return (f"Network({self.shape} to {self.result_shape}, {self.images} a run, {self.preset}, "
                f"{len(self._program.keys)} keys)")

    @property
    def _shape_of_results(self) -> tuple[int, ...]:
        each = across(self.images, self._filled)
        return self._held_shape if self.images == 1 else (each, *self._held_shape)

    def _samples(self, x: Any, operation: str) -> np.ndarray:
        """The samples as an array of shape (samples, *shape), in double precision."""
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
    it once ``enc.context.use(enc.server_keys(client))`` has given the keys; ``enc.decrypt(client, y)`` gives the
    result, and ``client.decrypt(y)`` the same divided by ``enc.result_unit``.
    """

    def __init__(self, network: Scaled, placement: Placement, machine: Machine, context: Context, plan: NetworkPlan,
                 errors_: Errors, device: str | None) -> None:
        graph = network.graph
        first, last = graph.nodes[graph.inputs[0]], graph.nodes[graph.output]
        unit = network.units[graph.inputs[0]]
        super().__init__(context.params.name, machine.images, placement.level, first.shape, last.shape,
                         machine.packings[graph.inputs[0]].layout, unit, first.bound * unit, plan.program,
                         network.units[graph.output], machine.filled)
        self.plan = plan
        self.threads = 0  # CPU threads for the context; 0: all cores
        self.key_budget: int | None = None  # of the context, in bytes; None: no limit
        # the steps by which the model was read: its graph, ranges and fits; not in files
        self.reading: Reading | None = None
        self._network, self._placement, self._machine = network, placement, machine
        self._errors, self._device = errors_, device
        self._shadow = Shadow(graph, network.units, placement.steps, self._errors, network.shown)
        self._refreshes = tuple(sorted({keys_of.Refresh(machine.packings[s.node].slots, s.level, s.form)
                                        for s in placement.steps if s.form}))
        self._recorded: tuple[Any, str, Program] | None = None  # by context or session, and by key
        self._lock = Lock()

    @once
    def context(self) -> Context:
        """The context that it runs in, on the device that it was compiled for."""
        context = Context(self.preset, self._device, threads=self.threads, key_budget=self.key_budget)
        context._products.limit = math.inf  # so that the plan counts all weights, encoded or as integers
        return context

    @property
    def alone(self) -> bool:
        """Whether each layer's values lie in one ciphertext."""
        return all(p.count == 1 for p in self._machine.packings)

    def __call__(self, x: Ciphertext) -> Ciphertext:
        """The network of an encrypted sample, or of ``images`` of them.

        The first call encodes the weights and records the run, later ones replay it.
        ContextError or ShapeError for what `encrypt` did not make.
        """
        roles.require_kind("network", x, Ciphertext, "enc.encrypt(client, sample) makes it")
        self._require_input(x)
        with self._lock.own:
            held, key, program = self._recorded or (None, "", None)
            if program is None or held is not x.context or key != x._key:
                # Only one recording is kept, because each takes memory of its own.
                program = Program(self._run)
                self._recorded = x.context, x._key, program
        # A replay has no steps to report, so its progress has no parts.
        with Task("running a network") if program.recorded else nullcontext():
            y: Ciphertext = program(x)
        return y

    def _run(self, x: Ciphertext, after: Callable[[float], None] | None = None) -> Ciphertext:
        """``after``: called after each step with the part of the run that is done. An exception that it raises ends the
        run."""
        steps = len(self._placement.steps)
        with Task("running a network", steps) as task:
            def watch(_: Step, y: Ciphertext) -> Ciphertext:
                task.advance()
                if after is not None:
                    after(task.done / steps)
                return y

            return self._result(self._machine.run(self._placement.steps, [x], watch))

    def _result(self, y: Ciphertext) -> Ciphertext:
        return y.reshape(self._held_shape) if self.images == 1 else y

    def _require_input(self, x: Ciphertext) -> None:
        if x.context._root is not self.context:
            raise errors.ContextError.explain(
                "network", "a ciphertext of another context", "one of enc.context",
                "make the client with lt.keygen(enc.context), or load the ciphertext there")
        self._require_form(x)

    def _require_form(self, x: Ciphertext) -> None:
        if x.level != self.level or not x.layout.same(self._packing):
            raise errors.ShapeError.explain(
                "network", f"an array of shape {x.shape} at level {x.level}",
                f"one of shape {self._packing.shape} at level {self.level}, in the layout that the network reads",
                "encrypt with enc.encrypt(client, sample)")

    def shadow(self, x: Any, noise: bool = False) -> np.ndarray:
        """What the encrypted run gives, computed in float and in the clear: of shape (samples, *result_shape).

        ``x``: one sample or a batch of any length. ``noise``: with random errors of the sizes that are predicted.
        `UndecidedWarning` if a network that ends with a comparison leaves samples undecided: `undecided` says which.
        ValueError if a value leaves the range that a polynomial was fitted for, naming the layer, or if `encrypt`
        refuses a sample, naming the sample or the feature.
        """
        return self._decided("shadow", self._shadowed(x, "shadow", noise))

    def undecided(self, x: Any) -> np.ndarray:
        """Which results of `shadow` are undecided, as booleans of shape (samples, *result_shape).

        If a network ends with argmax or a threshold, values that are closer than ``plan.gap`` may leave a result
        undecided, which may be wrong then. Decided results are those of the network in the clear, but for the errors of
        its other layers. Networks without such a step have no undecided results. Errors as of `shadow`.
        """
        values = self._shadowed(x, "undecided", False)
        return np.zeros(values.shape, bool) if self._decision is None else self._decision.undecided(values)

    def _shadowed(self, x: Any, operation: str, noise: bool) -> np.ndarray:
        samples = self._in_units(self._samples(x, operation), operation)
        flat = samples.reshape(len(samples), math.prod(self.shape))
        beyond = np.abs(flat).max(axis=1, initial=0.0) > self._bound
        if beyond.any():
            # If they also leave the range of a layer, that error says more, so the layer is found first.
            self._shadow.results(flat[beyond])
            self._require_within(samples, operation)
        return self._shadow.results(flat, np.random.default_rng() if noise else None)

    def measured_bits(self, client: Client, x: Any) -> list[float]:
        """Measures the precision of each layer of ``plan.layers`` in encrypted runs, in bits, to compare with the plan.

        ``x``: one sample, or as many along a first axis as some runs take. Each is run encrypted; what layers give is
        decrypted and compared with the shadow, relative to the bound of the layer, as the plan's ``bits`` are. It needs
        the secret key and the weights in one process: for tests of a network, not for a service. ShapeError and
        ValueError as of `encrypt`.
        """
        samples = self._samples(x, "measured_bits")
        if not len(samples) or len(samples) % self.images:
            raise errors.ShapeError.explain(
                "measured_bits", f"{len(samples)} samples", f"a multiple of {self.images}, which a run takes",
                "pass as many, or compile with images= of another number")
        graph, steps = self._machine.graph, self._placement.steps
        last = [result_of_layer(steps, numbers) for numbers in by_layer(graph, steps)]
        exact = self._shadow.layers(self._in_units(samples, "measured_bits").reshape(len(samples), -1))
        found: dict[int, list[np.ndarray]] = {node: [] for node in last}
        with Task("measuring a network", len(samples) // self.images * len(steps)) as task:
            def watch(step: Step, y: Ciphertext) -> Ciphertext:
                if step.form is None and step.node in found:
                    values = unpacked(client.decrypt(y).unmarked(), self.images)
                    found[step.node].append(values.reshape(self.images, -1))
                task.advance()
                return y

            for at in range(0, len(samples), self.images):
                some = samples[at : at + self.images]
                self._machine.run(steps, [self.encrypt(client, some if self.images > 1 else some[0])], watch)
        return [bits_of(np.concatenate(found[node]) - self._machine.packings[node].entries(exact[node]),
                        graph.nodes[node].bound) for node in last]

    def _bits_of_results(self, errors: np.ndarray) -> float:
        """The precision of decrypted results with these errors, in the way that ``plan.bits`` states it."""
        graph = self._machine.graph
        return bits_of(errors / self.result_unit, graph.nodes[graph.output].bound)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes two files into a folder, which is made where there is none: ``client.network`` for the owner of the
        data, and ``server.network`` with the weights. `lt.nn.load` reads either one. Neither has keys."""
        folder = Path(arrays.as_path(path, "save"))
        try:
            folder.mkdir(exist_ok=True)
        except OSError as why:
            raise errors.FileError.explain("save", f"{path}: {why}", "a folder, or a name for one",
                                           "save to another path") from why
        super().save(folder / "client.network")
        with Task("writing a network"):
            files.CONTAINER.put(str(folder / "server.network"), self._server_file())

    def _server_file(self) -> bytes:
        """The bytes of the file with the weights."""
        graph, weights = files.of_graph(self._network.graph)
        plan = {name: getattr(self.plan, name) for name in ("device", "bits", "gap")}
        head = {**self._head("server"), "groups": self._machine.groups, "nodes": graph,
                "output": self._network.graph.output, "plan": plan, "light": list(self.plan.light),
                "units": list(self._network.units), "before": list(self._network.before),
                **files.of_errors(self._errors), "steps": files.of_steps(self._placement.steps),
                "layers": [asdict(layer) for layer in self.plan.layers]}
        return files.to_bytes(head, weights)

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
