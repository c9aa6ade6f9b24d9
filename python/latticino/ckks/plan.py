"""Dry runs: what a program needs, before anything is generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..claims.known import as_range, fresh
from ..common import roles
from ..common.layout import Layout
from ..ops.scalar import Numbers, Scalar
from . import notebook
from .ciphertext import Ciphertext

if TYPE_CHECKING:
    from .context import Context


class Shape(NamedTuple):
    """A ciphertext for a plan: its shape, its level (None: fresh), and the range of its values: ``(low,
    high)`` or an ``lt.Range``. None: complex values of modulus up to 1 are assumed, so state the range of real values,
    whose plans are often cheaper."""

    shape: tuple[int, ...]
    level: int | None = None
    range: Any = None


class RepackRoute(NamedTuple):
    """How tables' results come back to CKKS: docs/switching.md.

    ``route``: ``"ring"`` or ``"matvec"``; ``product_slots`` of the latter's products; ``seconds``
    predicted for the way back; ``key_bytes`` of the keys that it alone needs.
    """

    route: str
    product_slots: int
    seconds: float
    key_bytes: int


@dataclass
class Plan:
    """What a program needs. ``print`` it for a table.

    - ``keys``: label and highest level of every evaluation key; ``key_bytes``: what they take
    - ``constant_bytes``: of encoded matrices
    - ``peak_bytes``: all device memory at the worst moment, keys, constants and inputs included. Results of earlier
      runs that you keep come on top
    - ``recorded_peak_bytes``: the same if the program is recorded, because a recording keeps its memory between runs
    - ``levels``: of the results
    - ``bootstraps``: of CKKS; ``lookups``: bootstrappings of TFHE, one for each value that goes through a table
    - ``seconds``: predicted time of the first run, which encodes the constants
    - ``prepared_seconds``: predicted time of a later run, which finds the constants encoded, such as a replay
    - ``bytes_moved``, ``operations``: data that the program moves, and records that it submits
    - ``switching``: bytes of the keys of each set of switching
    - ``repack_routes``: the route from tables back to slots, by set, slots and the route asked for
    - ``products``: bytes of the keys of route ``"matvec"``, by set, slots and slots of its products
    - ``bits``: expected precision of each result, mean and worst value, and what that rests on (``"assumed"``,
      ``"declared"`` or ``"calibrated"``: arrays as examples are sample data)
    - ``notes``: what was chosen on the way, and why, such as forms of bootstrapping

    Times follow from rates measured on an NVIDIA H200, which are scaled for an H100, or for the CPU on one machine of
    its instruction set (AVX-512, AVX2 or neither), at as many of the context's threads as have a core.
    """

    params_hash: str
    keys: dict[_native.KeyLabel, int]
    key_bytes: int
    constant_bytes: int
    peak_bytes: int
    recorded_peak_bytes: int
    levels: tuple[int, ...]
    bootstraps: int
    seconds: float
    prepared_seconds: float
    bytes_moved: int
    operations: int
    bytes_by_name: dict[str, int] = field(default_factory=dict)
    bytes_by_key: dict[_native.KeyLabel, int] = field(default_factory=dict)
    switching: dict[str, int] = field(default_factory=dict)
    repack_routes: dict[tuple[str, int, str], RepackRoute] = field(default_factory=dict)
    products: dict[tuple[str, int, int], int] = field(default_factory=dict)
    lookups: int = 0
    bits: tuple[tuple[float, float, str], ...] = ()
    notes: list[str] = field(default_factory=list)

    def __or__(self, other: Plan) -> Plan:
        """The plan of running both programs: the union of their keys."""
        roles.require_kind("plan", other, Plan, "ctx.plan(program, x) makes it")
        if self.params_hash != other.params_hash:
            raise errors.ContextError.explain(
                "plan", "plans for different parameters", "one parameter set", "plan both in one context")
        keys, sizes = dict(self.keys), dict(self.bytes_by_key)
        for label, level in other.keys.items():
            if level >= keys.get(label, level):
                keys[label], sizes[label] = level, other.bytes_by_key[label]
        switching, products = self.switching | other.switching, self.products | other.products
        key_bytes = sum(sizes.values()) + sum(switching.values()) + sum(products.values())
        constants = self.constant_bytes + other.constant_bytes
        working = max(p.peak_bytes - p.key_bytes - p.constant_bytes for p in (self, other))
        arenas = sum(p.recorded_peak_bytes - p.key_bytes - p.constant_bytes for p in (self, other))
        names = self.bytes_by_name.keys() | other.bytes_by_name.keys()
        return Plan(
            self.params_hash, keys, key_bytes, constants,
            key_bytes + constants + working, key_bytes + constants + arenas, self.levels + other.levels,
            self.bootstraps + other.bootstraps, self.seconds + other.seconds,
            self.prepared_seconds + other.prepared_seconds,
            self.bytes_moved + other.bytes_moved, self.operations + other.operations,
            {n: self.bytes_by_name.get(n, 0) + other.bytes_by_name.get(n, 0) for n in names}, sizes, switching,
            self.repack_routes | other.repack_routes, products, self.lookups + other.lookups, self.bits + other.bits,
            list(dict.fromkeys(self.notes + other.notes)))

    def __str__(self) -> str:
        mib = 2**20
        lines = [
            f"evaluation keys    {len(self.keys)}, {self.key_bytes / mib:,.0f} MiB",
            f"encoded matrices   {self.constant_bytes / mib:,.0f} MiB",
            f"peak memory        {self.peak_bytes / mib:,.0f} MiB",
            f"result levels      {', '.join(map(str, self.levels))}",
            *(f"expected bits      {mean:.1f}, worst value {worst:.1f} ({kind})" for mean, worst, kind in self.bits),
            f"bootstrappings     {self.bootstraps}",
            *([f"table lookups      {self.lookups:,}"] if self.lookups else []),
            f"data moved         {self.bytes_moved / 2**30:,.2f} GiB",
            f"predicted time     {self.seconds:.3g} s, {self.prepared_seconds:.3g} s once all constants are encoded",
        ]
        lines += [f"tables of {slots:<8} back by route {way.route}"
                  for (_, slots, _), way in self.repack_routes.items()]
        lines += self.notes
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook.plan(self)


def dry_run(context: Context, program: Callable[..., Any], examples: Sequence[Any],
            scalars: Mapping[str, Scalar]) -> Plan:
    """The plan of a program, for arguments like these and for numbers of these ranges."""
    twin, run = context._dry()
    inputs = [stand_in(twin, context, x) for x in examples]
    input_bytes = twin._native.live_bytes
    twin._native.note_allocations()
    with Numbers(scalars, twin).given() as numbers:
        result = program(*inputs, **numbers)
        roles.require_run("plan", result)
        results = _ciphertexts(result)
    report = twin._native.report
    constants = twin._bootstrapping.native.bytes + twin._encodings.bytes + twin._switchers.bytes
    products = {(name, *shape): size for name, keys in twin._switchers.keys.items()
                for shape, size in keys.products.items()}
    switching = {name: keys.bytes - sum(keys.products.values()) for name, keys in twin._switchers.keys.items()}
    # In the twin, only switching keys take memory, as they will on the device; other keys do not.
    key_bytes = run.key_bytes + sum(switching.values()) + sum(products.values())
    peak = max(report["peak_bytes"], twin._native.peak_bytes)
    seconds = twin._native.predicted_seconds(*twin._timed)
    # A recording has copies of its inputs, and each run returns copies of its results. Other memory that the program
    # keeps belongs to the keys: the sums of their digits.
    made = sum(r.nbytes for r in results)
    in_memory = input_bytes + constants + key_bytes - run.key_bytes
    kept = max(0, twin._native.live_bytes - in_memory - made)
    copies = 2 * input_bytes + made
    peak_bytes = run.key_bytes + max(peak, input_bytes + constants)
    return Plan(
        params_hash=context.params.hash,
        keys=dict(run.request),
        key_bytes=key_bytes,
        constant_bytes=constants,
        peak_bytes=peak_bytes,
        recorded_peak_bytes=max(peak_bytes, key_bytes + constants + kept + copies + twin._native.arena_bytes),
        levels=tuple(r.level for r in results),
        bootstraps=twin.bootstraps,
        seconds=seconds,
        prepared_seconds=seconds - twin._native.predicted_preparation(*twin._timed),
        bytes_moved=report["bytes_moved"],
        operations=report["operations"],
        bytes_by_name=dict(report["bytes_by_name"]),
        bytes_by_key={label: _native.key_bytes(twin._native, label, level) for label, level in run.request},
        switching=switching,
        repack_routes=dict(twin._switchers.routes),
        products=products,
        lookups=report["ciphertexts_by_name"].get("BlindRotate", 0),
        bits=tuple((*r._known.bits(r.size, r._full), r._known.kind) for r in results),
        notes=list(twin._notes))


def stand_in(twin: Context, context: Context, x: Any) -> Ciphertext:
    """A ciphertext without data, in the shape that `x` would have once encrypted."""
    level, scale, known, sample = twin.level, None, None, None
    layout, stated = None, _native.Range.unit_disc()
    if isinstance(x, Ciphertext):
        if x.context._root is not context._root:
            raise errors.ContextError.explain(
                "plan", "an example of another context", "ciphertexts of this one", "encrypt it here")
        shape, level, scale, slots = x.shape, x.level, x.scale, x.slots
        layout, known = x.layout, x._known
        if known.shadow:  # there are no values in a plan
            known = known.detached(x.size, x._full)
    else:
        if isinstance(x, Shape):
            shape = arrays.as_shape(x.shape, "plan", 2**16 * twin.slots)
            level = twin.level if x.level is None else arrays.as_integer(x.level, "plan", "level")
            if not 0 <= level <= twin.params.top_level:
                raise errors.LevelError.explain(
                    "plan", f"level {arrays.shown(level)}", f"a level from 0 to {twin.params.top_level}",
                    "leave it out")
            stated = stated if x.range is None else as_range(x.range)
        else:
            sample = arrays.as_numpy(x, "plan")
            arrays.as_slots(sample, "plan")
            shape = sample.shape
        slots = arrays.slots_for(int(np.prod(shape)), twin.slots, "plan")
    scale = twin.params.scale(level) if scale is None else scale
    layout = Layout.plain(shape, slots) if layout is None else layout
    parts = [_native.shape_only(twin._native, level, scale, slots) for _ in range(layout.count)]
    if known is None:
        known = fresh(stated, noise.fresh(twin.params, scale, slots), sample)
    return Ciphertext(twin, parts, layout, known)


def _ciphertexts(result: Any) -> list[Ciphertext]:
    if isinstance(result, Ciphertext):
        return [result]
    if isinstance(result, (tuple, list)):
        return [c for r in result for c in _ciphertexts(r)]
    return _ciphertexts(list(result.values())) if isinstance(result, Mapping) else []
