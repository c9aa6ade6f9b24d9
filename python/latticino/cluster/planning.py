"""`latticino plan`: predicted seconds and traffic of a batch over several workers, and of key switches over several
devices. See docs/scaling.md, which derives the formulas."""

from __future__ import annotations

import argparse
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import errors
from ..ckks.context import Context
from ..ckks.plan import Shape
from ..common import display
from ..common.options import count
from ..saved.files import load_program
from ..saved.networks import SavedNetwork
from ..saved.program import SavedClient, SavedProgram
from ..serve.models import Facts, Model
from .engines import slots
from .executor import require_following, shares_of

NVLINK = 380e9  # bytes per second that NCCL's gathers reach of an H200's 450 GB/s: NVIDIA/nccl, issue 1264
COLLECTIVE = 12e-6  # seconds that a gather takes, however little data it moves; an assumption
DEVICES = (2, 4, 8)  # numbers of devices among which the limbs of a key switch may be divided
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_WORD = 4  # bytes per coefficient of a limb


@dataclass(frozen=True)
class Traffic:
    """Bytes that are sent over the network: ``keys`` and ``programs`` to all workers, ``inputs``, ``between`` (results
    that are inputs of the next program, written and read), and ``results`` at most."""

    keys: int
    programs: int
    inputs: int
    between: int
    results: int

    @property
    def at_first(self) -> int:
        """Bytes that a worker needs before it can compute."""
        return self.keys + self.programs

    @property
    def of_batch(self) -> int:
        return self.inputs + self.between + self.results


@dataclass(frozen=True)
class Prediction:
    """Times of a batch, in seconds: ``one`` run of all programs once their constants are encoded, ``encoding`` them in
    the first run, ``computing`` of the worker that has the most to do, ``first`` and ``moving`` of the traffic."""

    one: float
    encoding: float
    computing: float
    first: float
    moving: float
    traffic: Traffic

    @property
    def seconds(self) -> float:
        """Seconds of the whole batch, if nothing overlaps."""
        return self.first + self.moving + self.encoding + self.computing


@dataclass(frozen=True)
class Switch:
    """A key switch on one device and on several: ``limbs`` of the ciphertext, ``bytes`` that a device receives in all
    of both gathers where there are infinitely many, ``seconds`` on one device."""

    level: int
    limbs: int
    bytes: int
    seconds: float

    def divided(self, devices: int, rate: float, start: float = COLLECTIVE) -> float:
        """Seconds on so many devices, with ``rate`` bytes per second between them. A gather takes ``start`` seconds in
        addition."""
        return self.seconds / devices + self.bytes * (devices - 1) / devices / rate + 2 * start


def predicted(programs: Sequence[SavedProgram], sizes: Sequence[int], workers: int, inputs: int,
              link: float) -> Prediction:
    """The costs of a batch of so many inputs. ``sizes``: bytes of the files of the programs; ``link``: bytes per
    second."""
    facts = [Model(program, answers=False).facts() for program in programs]
    seconds = [program.prepared_seconds for program in programs]
    encoding = sum(program.predicted_seconds for program in programs) - sum(seconds) if inputs else 0.0
    shares = [slots(share, workers) for share in shares_of(seconds)]
    loads = [sum(inputs * s / len(own) for s, own in zip(seconds, shares) if slot in own) for slot in range(workers)]
    if len(programs) == 1:
        loads = [math.ceil(inputs / workers) * seconds[0]]
    # The last program of a pipeline begins when the programs before it have computed the first item.
    computing = max(loads) + (sum(seconds) - max(seconds) if inputs else 0.0)
    results = [fact.result_bytes for fact in facts]
    traffic = Traffic(
        keys=sum(len(own) * key_file_bytes(fact) for own, fact in zip(shares, facts)),
        programs=sum(len(own) * size for own, size in zip(shares, sizes)),
        inputs=inputs * facts[0].request_bytes, between=2 * inputs * sum(results[:-1]), results=inputs * results[-1])
    return Prediction(sum(seconds), encoding, computing, traffic.at_first / link, traffic.of_batch / link, traffic)


def key_file_bytes(facts: Facts) -> int:
    """Bytes of a bundle's file. Seeds replace half of each key, and for TFHE half or more."""
    return facts.key_bytes // 2


def key_switches(program: SavedProgram, device: str) -> list[Switch]:
    """The key switch at the highest level that the program's keys are for, and halfway to level 0."""
    levels = program.keys.values() if program.scheme == "ckks" else ()
    if not levels:
        return []
    return [_switch(program.parameters, device, level) for level in sorted({max(levels), max(levels) // 2},
                                                                           reverse=True)]


def _switch(params: Any, device: str, level: int) -> Switch:
    context = Context._for_plans(params, device, False)
    plan = context.plan(lambda x: x.conj(), Shape((params.max_slots,), level))
    limbs = int(params.limbs(level))
    # First all limbs before ModUp, then the auxiliary ones of both halves of the product before ModDown.
    moved = (limbs + 2 * auxiliary(params)) * int(params.n) * _WORD
    return Switch(level, limbs, moved, plan.seconds)


def auxiliary(params: Any) -> int:
    """The number of primes of P, which is that of a digit."""
    return int(params.alpha)


# ---- the command ----


def add(command: Any) -> None:
    """Adds `latticino plan` to the parser."""
    sub = command("plan", _plan, "predict seconds and traffic of saved programs over several workers (docs/scaling.md)")
    sub.add_argument("programs", nargs="+", type=Path, help="a file that lt.save_program wrote; several files are a "
                     "pipeline")
    sub.add_argument("--workers", type=count(1, 4096), default=1, help="number of processes, each with its device; "
                     "default: 1")
    sub.add_argument("--inputs", type=count(1), default=1, help="number of inputs of the batch; default: 1")
    sub.add_argument("--link", type=rate, default="25Gb/s", help="rate of the network to the folder of blobs, such "
                     "as 25Gb/s or 3GB/s; default: 25Gb/s")
    sub.add_argument("--device", choices=("cpu", "cuda"), help="the device whose times are predicted: cpu or cuda (an "
                     "H200); default: that of the program")


def rate(text: str) -> float:
    """Bytes per second of a text such as 25Gb/s (bits) or 3GB/s (bytes)."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([kMGT]?)([bB])/s", text)
    if found:
        value = float(found[1]) * _FACTORS[found[2]] / (8 if found[3] == "b" else 1)
        if 1e3 <= value <= 1e15:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is no rate such as 25Gb/s or 3GB/s")


def _plan(args: argparse.Namespace) -> int:
    programs = [load_program(path, args.device) for path in args.programs]
    for k, (one, following) in enumerate(itertools.pairwise(programs)):
        require_following(k, one, following)
    kinds = {args.device or kind_of(program) for program in programs}
    if len(kinds) > 1:
        raise errors.UnsupportedError.explain("plan", "programs for a CPU and for a GPU", "one kind of device",
                                              "pass --device")
    made = predicted(programs, [path.stat().st_size for path in args.programs], args.workers, args.inputs, args.link)
    print(described(made, programs, args.workers, args.inputs, args.link))
    print(switching(programs, kinds.pop(), args.link))
    return 0


def kind_of(program: SavedProgram) -> str:
    """The kind of device that a program is planned for."""
    if isinstance(program, SavedNetwork):
        return str(program.network.plan.device).partition(":")[0]
    planned = program._planned if isinstance(program, SavedClient) else None
    return str(getattr(planned, "device", "cpu")).partition(":")[0]


def described(made: Prediction, programs: Sequence[SavedProgram], workers: int, inputs: int, link: float) -> str:
    """The table of a batch, as text."""
    alone = predicted(programs, [0] * len(programs), 1, inputs, math.inf)
    traffic, several = made.traffic, "s" if workers > 1 else ""
    rows = [
        ("one run", f"{display.seconds(made.one)}, and {display.seconds(made.encoding)} for encoding in the first one"),
        (f"{inputs:,} runs, 1 worker", f"{display.seconds(alone.computing)}, without traffic"),
        (f"on {workers:,} worker{several}", display.seconds(made.computing)),
        ("keys, programs", f"{display.size(traffic.at_first)} to all workers at first, {display.seconds(made.first)}"),
        ("inputs", display.size(traffic.inputs)),
        *([("between programs", display.size(traffic.between))] if len(programs) > 1 else []),
        ("results", f"{display.size(traffic.results)} at most"),
        ("their traffic", display.seconds(made.moving)),
        ("in all", f"{display.seconds(made.seconds)}, {alone.computing / made.seconds:.2f} times as fast as 1 worker "
         "without traffic")]
    lines = [f"{name:22} {value}" for name, value in rows]
    if made.moving > made.computing:
        lines.append("the network is the limit: more workers do not help; a faster --link does, and final=True where "
                     "results are answers")
    return "\n".join(lines)


def switching(programs: Sequence[SavedProgram], device: str, link: float) -> str:
    """A text on what dividing the limbs of a key switch among several devices would save: see docs/scaling.md."""
    found = {s.level: s for program in programs for s in key_switches(program, device)}
    if not found:
        return "limb-parallel key switching: not for this program, which has no key switches of CKKS"
    ways = [("--link", link)] if device == "cpu" else [("NVLink", NVLINK), ("--link", link)]
    lines = ["limb-parallel key switching (not implemented; predicted):"]
    for level in sorted(found, reverse=True):
        s = found[level]
        for name, rate in ways:
            times = {g: s.divided(g, rate) for g in DEVICES}
            best = min(times, key=lambda g: times[g])
            verdict = (f"pays: {s.seconds / times[best]:.1f} times as fast on {best} devices"
                       if times[best] < s.seconds else "does not pay")
            each = ", ".join(f"{g}: {display.seconds(t)}" for g, t in times.items())
            lines.append(f"  level {level}, {s.limbs} limbs, by {name}: 1 device: {display.seconds(s.seconds)}, {each}"
                         f"; {verdict}")
    return "\n".join(lines)
