"""Parameter sets of your own, and the costs of sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native, arrays, errors
from ..common import devices, display, roles
from .context import Context
from .plan import Shape

_OPERATION = "make_params"
_FAR = 10**18  # larger numbers are out of every range


def make_params(N: int = 2**16, levels: int | Sequence[float] | None = None, scale: float | None = None, *,
                word: int | None = None, bootstrapping: bool = False, dnum: int | None = None,
                secret: str | int = "ternary", security: int | None = 128, quantum: bool = False,
                name: str | None = None) -> _native.Params:
    """A checked parameter set of your own: ``lt.make_params(N=2**14, levels=6, scale=2**33)``.

    ``N``: ring degree, a power of two from 2**10 to 2**17. A ciphertext has N/2 slots.

    ``levels``: how many multiplications can follow one another. With ``bootstrapping`` it counts those that remain
    after a bootstrapping. None: as many as fit. A list gives each level a scale of its own. Its first entry is the
    scale of level 0, its last that of fresh ciphertexts. With ``bootstrapping`` its last three belong to SlotToCoeff.

    ``scale``: the factor by which values are multiplied, the same at all levels, up to 2**60. None: 2**40.
    ``word``: every prime is below 2**word, 24 to 31. None: 31.
    ``dnum``: digits of a key switch. None: the cheapest count. If ``levels`` is None too, it is at most 4. For N below
    2**15 and for 2**17 it is at most 8.
    ``secret``: ``"ternary"`` (uniform), or the number of coefficients that are not 0.
    ``security``: 128, 192 or 256 bits by published tables. ``quantum=True`` takes the tables for quantum computers.
    None: no security, for tests. The set is then named insecure, and contexts warn.
    ``name``: None for a name that is made from the arguments.

    The same arguments give the same set. `Context`, `choose`, `save_params` and `parameter_costs` take it;
    ``explain()`` prints it.

    ParameterError says what limits a request, and names changes that were tried and that are accepted. ValueError for
    arguments of a wrong kind.
    """
    ring = _count(N, "N")
    scales, count = None, 0
    if levels is not None and ((isinstance(levels, Sequence) and not isinstance(levels, (str, bytes)))
                               or (isinstance(levels, np.ndarray) and levels.ndim > 0)):
        scales = [math.log2(arrays.as_real(x, _OPERATION, f"levels[{i}]", 0)) for i, x in enumerate(levels)]
    elif levels is not None:
        count = _count(levels, "levels")
        count = -1 if count == 0 else count
    if scales is not None and scale is not None:
        raise errors.ParameterError.explain(
            _OPERATION, "a list of scales and a scale", "one of them", "leave scale out, or say how many levels")
    weight = 0
    if not isinstance(secret, str):
        weight = _count(secret, "secret")
        weight = -1 if weight == 0 else weight
    elif secret != "ternary":
        raise errors.ValueError.explain(
            _OPERATION, f"secret={arrays.shown(secret)}", "'ternary' or a weight", "say one of them")
    log_scale = 40.0 if scale is None else math.log2(arrays.as_real(scale, _OPERATION, "scale", 0))
    if name is not None and not arrays.as_text(name, _OPERATION, "name"):
        raise errors.ParameterError.explain(_OPERATION, "name=''", "at least one letter", "ask for name=None")
    try:
        return _native.make_params(
            ring, log_scale, scales, count, _given(word, "word"),
            arrays.as_flag(bootstrapping, _OPERATION, "bootstrapping"),
            _given(dnum, "dnum"), weight, _given(security, "security"),
            arrays.as_flag(quantum, _OPERATION, "quantum"), name or "")
    except errors.ParameterError as why:
        text = str(why)
        for field, value in (("levels=", levels if scales is None else None), ("word=", word), ("dnum=", dnum),
                             ("security=", security), ("a secret of weight ", None if secret == "ternary" else secret)):
            if value is not None and _count(value, field) == 0:  # the core is given -1 for it, and names that
                text = text.replace(f"had {field}-1", f"had {field}0")
        raise errors.ParameterError(text, _OPERATION) from None


def _count(x: Any, name: str) -> int:
    if isinstance(x, (bool, np.bool_)):
        raise errors.ValueError.explain(_OPERATION, f"{name}={x}", "an integer", "correct it")
    return max(-_FAR, min(arrays.as_integer(x, _OPERATION, name), _FAR))


def _given(x: Any, name: str) -> int:
    """The number. 0 stands for None, and -1 for an explicit 0, which is out of range."""
    return 0 if x is None else _count(x, name) or -1


@dataclass(frozen=True)
class ParameterCosts:
    """What a set costs.

    ``ciphertext_bytes``: size of a fresh ciphertext. ``key_bytes``: size of one evaluation key for fresh ciphertexts.
    ``seconds``: predicted times on ``device``, by operation. ``"product"`` is of two fresh ciphertexts, ``"rotation"``
    of one. ``"bootstrapping"`` is of full slots; sets without bootstrapping lack it.
    ``bits``: expected mean precision of a product of values in [-1, 1]."""

    device: str
    ciphertext_bytes: int
    key_bytes: int
    seconds: dict[str, float]
    bits: float

    def __str__(self) -> str:
        lines = [f"a fresh ciphertext   {display.size(self.ciphertext_bytes)}",
                 f"an evaluation key    {display.size(self.key_bytes)}",
                 *(f"{name:<20} {display.seconds(value)} predicted ({self.device})"
                   for name, value in self.seconds.items())]
        if not math.isnan(self.bits):
            lines.append(f"bits of a product    {self.bits:.1f}")
        return "\n".join(lines)


def parameter_costs(params: str | _native.Params, device: str | None = None) -> ParameterCosts:
    """Bytes and predicted times of a set, a preset's name or parameters: ``print(lt.parameter_costs(params))``.

    From plans: nothing is encrypted and no key made. Times are those once constants are encoded.
    ``device`` as for `choose`: ``"cuda"`` gives an H200's times and needs no GPU. A set with no level has no product:
    its ``bits`` are NaN. ParameterError for unknown names."""
    kind = devices.choose(None)[0] if device is None else devices.named(device)[0]
    if not isinstance(params, str):
        roles.require_kind("parameter_costs", params, _native.Params,
                           "name a preset, or take what lt.make_params gives")
    context = Context._for_plans(params, kind, False)
    fresh = Shape((context.slots,), None, (-1, 1))
    seconds, bits = {}, math.nan
    turned = context.plan(lambda x: x.rotate(1), fresh)
    if context.params.default_level > 0:
        product = context.plan(lambda x, y: x * y, fresh, fresh)
        seconds["product"], bits = product.prepared_seconds, product.bits[0][0]
    seconds["rotation"] = turned.prepared_seconds
    if context.params.has_bootstrap:
        seconds["bootstrapping"] = context.plan(
            lambda x: x.bootstrap(), Shape((context.slots,), 0, (-1, 1))).prepared_seconds
    limbs = context.params.limbs(context.params.default_level)
    return ParameterCosts(kind, 2 * 4 * context.params.n * limbs, turned.key_bytes, seconds, bits)
