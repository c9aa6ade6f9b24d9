"""Chooses the preset that runs a program at the least cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _native, arrays, errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.context import Context, presets
from ..ckks.plan import Plan
from ..common import devices, display, roles
from ..common.progress_bar import Task

_COLUMNS = ("preset", "time", "first run", "memory", "bits")


class Candidate(NamedTuple):
    """A preset that `choose` planned.

    - ``preset``: its name
    - ``bootstraps``: whether the context bootstraps by itself
    - ``seconds``: predicted time of a run after the first one
    - ``first_seconds``: predicted time of the first run, which also encodes the constants
    - ``bytes``: peak memory, keys included
    - ``bits``: expected mean precision of the least precise result
    - ``refused``: why the preset cannot be used; empty if it can

    The numbers are None if there is no plan.
    """

    preset: str
    bootstraps: bool
    seconds: float | None
    first_seconds: float | None
    bytes: int | None
    bits: float | None
    refused: str


@dataclass(frozen=True)
class Choice:
    """What `choose` found: ``preset`` and ``bootstraps`` for ``lt.Context(preset, auto_bootstrap=bootstraps)``, the
    ``plan`` with it, ``table`` of all candidates, the chosen one first, ``bits`` that were asked for, ``device``
    whose times were compared, and ``params`` of the name: for a set of one's own ``lt.Context(choice.params, ...)``."""

    preset: str
    bootstraps: bool
    plan: Plan
    table: tuple[Candidate, ...]
    bits: float
    device: str
    params: _native.Params

    @property
    def reason(self) -> str:
        """The reason for this choice, in a sentence."""
        fit = [c for c in self.table if not c.refused]
        first = self.table[0]
        others = "no other one does"
        if len(fit) > 1:
            others = f"the next takes {display.seconds(fit[1].seconds or 0)} ({fit[1].preset})"
        how = " with auto_bootstrap=True" if first.bootstraps else ""
        return (f"{first.preset}{how} runs the program with {first.bits:.1f} bits in "
                f"{display.seconds(first.seconds or 0)} (the first run: {display.seconds(first.first_seconds or 0)}) "
                f"and {display.size(first.bytes or 0)} on {self.device}; {others}")

    def _rows(self) -> list[tuple[str, ...]]:
        return [(c.preset + (" + bootstrapping" if c.bootstraps else ""),
                 *("" if took is None else display.seconds(took) for took in (c.seconds, c.first_seconds)),
                 "" if c.bytes is None else display.size(c.bytes), "" if c.bits is None else f"{c.bits:.1f}",
                 c.refused or ("chosen" if c is self.table[0] else "possible")) for c in self.table]

    def __repr__(self) -> str:
        rows = [(*_COLUMNS, "")] + self._rows()
        widths = [max(len(r[i]) for r in rows) for i in range(len(_COLUMNS))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(r, [*widths, 0])).rstrip() for r in rows]
        return "\n".join([self.reason, *lines])

    def _repr_html_(self) -> str:
        return display.table(
            f"Choice of a preset: {self.preset}", (*_COLUMNS, "verdict"), self._rows(), [self.reason])


def choose(program: Callable[..., Any], *inputs: Any, bits: float = 20, device: str | None = None,
           own: Sequence[_native.Params] = ()) -> Choice:
    """The cheapest preset that runs a program with the precision asked for: ``lt.choose(program, x, bits=20)``.

    Plans the program with every preset of 128-bit security, those with bootstrapping also with ``auto_bootstrap=True``,
    and takes the one with the least predicted time of a run whose constants are encoded, then the least memory.
    ``inputs``: arrays or `Shape`, as in ``ctx.plan``; state their ranges, because precision depends on them.
    ``bits``: mean precision of the least precise result.
    ``device``: whose times are compared, as for `Context`; ``"cuda"`` needs no GPU here (times are an H200's).
    ``own``: sets of `make_params` that are tried beside the presets, whatever their security.

    Nothing is encrypted and no key is made. ParameterError, with the reasons, if no preset is precise enough. Errors of
    the program itself are raised as they are. UnsupportedError for ciphertexts as inputs: they have a preset.
    """
    roles.require_function("choose", program)
    bits = arrays.as_real(bits, "choose", "bits")
    for x in inputs:
        if isinstance(x, Ciphertext):
            raise errors.UnsupportedError.explain(
                "choose", "a ciphertext, which has its parameters", "arrays or lt.Shape",
                "pass the values or their shape")
    on_gpu = isinstance(device, str) and device.partition(":")[0] == "cuda"
    kind = devices.named(device)[0] if on_gpu else devices.choose(device)[0]
    sets = [p for p in map(_native.preset, presets()) if p.secure] + _own_sets(own)
    tries = [(params, auto) for params in sets for auto in (False, True) if not auto or params.has_bootstrap]
    found: list[tuple[Candidate, Plan | None]] = []
    with Task("choosing a preset", len(tries)) as step:
        for params, auto in tries:
            found.append(_tried(params, auto, kind, program, inputs, bits))
            step.advance()
    found = _without_repeats(found)
    # If costs are equal, the stable sort keeps the order of the presets, which is by size.
    found.sort(key=lambda f: (bool(f[0].refused), f[0].seconds or 0.0, f[0].bytes or 0))
    table = tuple(candidate for candidate, _ in found)
    best, plan = found[0]
    if best.refused or plan is None:
        reasons = "\n".join(f"  {c.preset}: {c.refused}" for c in table)
        raise errors.ParameterError.explain(
            "choose", "a program that no preset runs", f"{bits:g} bits and enough levels",
            f"ask for fewer bits, use fewer levels, or state ranges of the inputs\n{reasons}")
    chosen = next(p for p in sets if p.name == best.preset)
    return Choice(best.preset, best.bootstraps, plan, table, bits, kind, chosen)


def _own_sets(own: Sequence[_native.Params]) -> list[_native.Params]:
    if isinstance(own, _native.Params):
        own = (own,)
    if not isinstance(own, (list, tuple)):
        raise errors.UnsupportedError.explain(
            "choose", f"own of type {type(own).__name__}", "a list of parameter sets", "pass what lt.make_params gives")
    out: list[_native.Params] = []
    for params in own:
        roles.require_kind("choose", params, _native.Params, "own is a list of what lt.make_params gives")
        if params.name in [p.name for p in out] or params.name in presets():
            raise errors.ParameterError.explain(
                "choose", f"two sets named {params.name}", "a name of its own for each", "give names to make_params")
        out.append(params)
    return out


def _tried(params: _native.Params, auto: bool, kind: str, program: Callable[..., Any], inputs: tuple[Any, ...],
           bits: float) -> tuple[Candidate, Plan | None]:
    name = params.name
    try:
        plan = Context._for_plans(params, kind, auto).plan(program, *inputs)
    except errors.Error as why:
        return Candidate(name, auto, None, None, None, None, f"{type(why).__name__}: {why}"), None
    if not plan.bits:
        raise errors.ShapeError.explain(
            "choose", "a program that returns no ciphertext", "encrypted results", "return them")
    least = min(mean for mean, _, _ in plan.bits)
    refused = "" if least >= bits else f"precision: {least:.1f} bits of {bits:g}"
    return Candidate(name, auto, plan.prepared_seconds, plan.seconds, plan.peak_bytes, least, refused), plan


def _without_repeats(found: list[tuple[Candidate, Plan | None]]) -> list[tuple[Candidate, Plan | None]]:
    """The candidates without those with auto_bootstrap that never bootstrapped by themselves. Those equal the
    candidates without auto_bootstrap."""
    by_name = {(c.preset, c.bootstraps): (c, p) for c, p in found}
    out = []
    for candidate, plan in found:
        plain = by_name.get((candidate.preset, False))
        if candidate.bootstraps and plain is not None:
            same = plain[1] is not None and plan is not None and plain[1].bootstraps == plan.bootstraps
            if same or (plan is None and plain[0].refused == candidate.refused):
                continue
        out.append((candidate, plan))
    return out
