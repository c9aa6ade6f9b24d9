"""Compiled networks as saved programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from .. import errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context
from ..nn import files
from ..nn.compiled import Compiled, Network
from ..nn.packing import Packing
from ..nn.placement import stand_in
from ..ops.scalar import taken
from . import sizes
from .program import After, AnyContext, Input, Output, SavedProgram, misfits_of


class SavedNetworkClient(SavedProgram):
    """What clients need of a compiled network: what the ``save`` of an `lt.nn.Network` wrote. ``network``: the same as
    `lt.nn.load` gives it. It cannot run."""

    scheme = "ckks"
    auto_bootstrap = False

    def __init__(self, network: Network, digest: str, bits: float = math.nan, count: int | None = None) -> None:
        """``bits`` of a result, and the ``count`` of its ciphertexts, which the part for clients does not say. It is
        at most one for each value."""
        context = Context._for_plans(network.preset, "cpu", False)
        self.network, self.parameters, self.digest = network, context.params, digest
        self.plan, self.scalars = network._program, {}
        held = Packing(network._packing, both=network._filled)
        x = stand_in(context, held, network.level, network._bound / network._unit)
        self.inputs = (Input(x.shape, str(x.dtype), x.level, x.scale, x.range, sizes.fresh_bytes(x),
                             sizes.most_bytes(context.params, x.level, len(x._parts))),)
        shape, level = network._shape_of_results, self.plan.levels[-1]
        most = sizes.most_bytes(context.params, level, math.prod(shape) if count is None else count)
        self.outputs = (Output(shape, "complex128" if network._filled else "float64", level, bits, most),)

    def encrypt(self, client: Any, *values: Any) -> tuple[Ciphertext, ...]:
        """See `lt.nn.Network.encrypt`: a sample, or as many as a run takes."""
        self._require_count("encrypt", values)
        return (self.network.encrypt(client, values[0]),)

    def decrypt(self, client: Any, result: Any) -> Any:
        """See `lt.nn.Network.decrypt`."""
        return self.network.decrypt(client, result)

    def compute(self, session: AnyContext, arrays: Sequence[Any], numbers: Mapping[str, Any] | None = None,
                after: After | None = None) -> Any:
        """UnsupportedError, because the part for clients has no weights."""
        raise errors.UnsupportedError.explain(
            "run", "the part of a network that clients need", "the whole network", "run it where the service is")

    def client_bytes(self) -> bytes:
        """The files that `lt.nn.Network.save` writes and `lt.nn.load` reads."""
        return files.to_bytes(self.network._head("client"), {})


class SavedNetwork(SavedNetworkClient):
    """A compiled network that `lt.load_program` read. ``network``: the same as `lt.nn.load` gives it."""

    network: Compiled

    def __init__(self, network: Compiled, digest: str) -> None:
        machine = network._machine
        output = machine.graph.output
        last, bound = machine.packings[output], machine.graph.nodes[output].bound
        super().__init__(network, digest, network.plan.bits, last.count)
        context = Context._for_plans(network.preset, "cpu", False)
        self._misfits = misfits_of([stand_in(context, last, self.plan.levels[-1], bound, filled=True)])

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

    def _keep_weights(self, context: Context) -> None:
        """Lets the context keep the encoded weights together with those of other networks."""
        room = self.network.plan.weight_bytes
        with context._lock.own:
            kept = _kept.setdefault(context, set())
            if self.digest not in kept:
                kept.add(self.digest)
                context._products.limit += room


# digests of the networks whose weights a context keeps
_kept: WeakKeyDictionary[Context, set[str]] = WeakKeyDictionary()
