"""Compiled networks as saved programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..nn import files
from ..nn.compiled import Compiled
from ..nn.placement import stand_in
from ..ops.scalar import taken
from . import sizes
from .program import After, AnyContext, Input, Output, SavedProgram


class SavedNetwork(SavedProgram):
    """A compiled network that `lt.load_program` read. ``network``: the same as `lt.nn.load` gives it."""

    scheme = "ckks"
    auto_bootstrap = False

    def __init__(self, network: Compiled, parameters: Any, digest: str) -> None:
        self.network, self.parameters, self.digest = network, parameters, digest
        self.plan, self.scalars = network.plan.program, {}
        context = Context._for_plans(parameters, "cpu", False)
        first = network._machine.packings[network._machine.graph.inputs[0]]
        x = stand_in(context, first, network.level, network._bound / network._unit)
        self.inputs = (Input(x.shape, str(x.dtype), x.level, x.scale, x.range, sizes.of_fresh(x),
                             sizes.most_of(parameters, x.level, len(x._parts))),)
        last = network._machine.packings[network._machine.graph.output].layout
        level = self.plan.levels[-1]
        self.outputs = (Output(network._shape_of_results, "float64", level, network.plan.bits,
                               sizes.most_of(parameters, level, last.count)),)

    def encrypt(self, client: Any, *values: Any) -> tuple[Ciphertext, ...]:
        """See `lt.nn.Network.encrypt`: a sample, or as many as a run takes."""
        self._require_count("encrypt", values)
        return (self.network.encrypt(client, values[0]),)

    def decrypt(self, client: Any, result: Any) -> Any:
        """See `lt.nn.Network.decrypt`."""
        return self.network.decrypt(client, result)

    def __call__(self, x: Ciphertext) -> Ciphertext:
        """The network as a function of arrays."""
        return self.network._run(x)

    def compute(self, session: AnyContext, arrays: Sequence[Any], numbers: Mapping[str, Any] | None = None,
                after: After | None = None) -> Any:
        self._require_context(session)
        self._require_count("run", arrays)
        taken(self.scalars, numbers or {})
        x = self._of_session(session, 0, arrays[0], Ciphertext)
        self.network._require_form(x)
        self._keep_weights(session._root)
        return self.network._run(x, after)

    compute.__doc__ = SavedProgram.compute.__doc__

    def client_bytes(self) -> bytes:
        """What `lt.nn.Network.save` writes, which `lt.nn.load` reads."""
        return files.to_bytes(self.network._head("client"), {})

    def _keep_weights(self, context: Context) -> None:
        """Lets the context keep the encoded weights beside those of other networks."""
        room = self.network.plan.weight_bytes
        with context._lock:
            kept = _kept.setdefault(context, set())
            if self.digest not in kept:
                kept.add(self.digest)
                context._products.limit += room


_kept: WeakKeyDictionary[Context, set[str]] = WeakKeyDictionary()  # digests of networks whose weights a context keeps
