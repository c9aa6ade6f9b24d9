"""Limbs and bytes of packed and unpacked chains by the size of words, from 28 to 64 bits (paper: BitPacker, Figs. 11,
13 to 15). Chains are planned with real primes. Nothing runs on them: residues of this library have at most 31 bits."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from .records import Row

LOG_N = 16
WORDS = (28, 32, 36, 40, 44, 48, 52, 56, 60, 64)
TOLERANCE = 0.5  # bits of log2 Q, as in the paper
MAX_TERMINALS = 4
GRID = 0.25  # bits between candidates for terminals
DNUM = 3
BASE = 55.0
WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # these bases decide every number below 2^64
# Scales of bootstrapping in the paper (Sec. 5): CoeffToSlot, EvalMod, SlotToCoeff; and levels of each.
BOOTSTRAPPINGS = {"BS19": (52.0, 55.0, 30.0), "BS26": (54.0, 60.0, 40.0)}
LEVELS = (4, 8, 3)
APPLICATIONS = (35.0, 45.0)
MAX_LOG_Q = 1596.0  # log2 Q of the paper's sets


def is_prime(n: int) -> bool:
    """Miller-Rabin, for n below 2^64."""
    if n < 2 or any(n % p == 0 for p in WITNESSES):
        return n in WITNESSES
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for a in WITNESSES:
        x = pow(a, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def primes_below(bound: int, log_n: int) -> Iterator[int]:
    """Primes that are 1 modulo 2N, from the largest down."""
    step = 2 << log_n
    return (n for n in range((bound - 2) // step * step + 1, step, -step) if is_prime(n))


def primes_near(log_size: float, width: float, log_n: int) -> Iterator[int]:
    """Primes that are 1 modulo 2N within ``width`` bits of a size, nearest first."""
    step = 2 << log_n
    middle = round(2**log_size / step)
    least, most = math.ceil(2 ** (log_size - width) / step), math.floor(2 ** (log_size + width) / step)
    for distance in range(most - least + 1):
        for k in sorted({middle - distance, middle + distance}):
            if max(1, least) <= k <= most and is_prime(k * step + 1):
                yield k * step + 1


@dataclass(frozen=True)
class Schedule:
    """log2 of the modulus of each level, from the base up, and how many of them a program uses."""

    name: str
    log_q: tuple[float, ...]
    scales: tuple[float, ...]
    used: int


def schedules() -> list[Schedule]:
    """The paper's bootstrapping scales under applications of 35 and 45 bits, with as many levels as its modulus has."""
    out = []
    for (name, sizes), application in itertools.product(BOOTSTRAPPINGS.items(), APPLICATIONS):
        above = [s for size, count in zip(reversed(sizes), reversed(LEVELS)) for s in [size] * count]
        levels = int((MAX_LOG_Q - BASE - sum(above)) / application)
        scales = (*[application] * levels, *above)
        log_q = tuple(itertools.accumulate(scales, initial=BASE))
        out.append(Schedule(f"{name}, {application:.0f} bits", log_q, scales, levels))
    return out


@dataclass(frozen=True)
class Packed:
    """One level: its mains, the largest primes below the word, and its terminals."""

    mains: int
    terminals: tuple[int, ...]

    @property
    def limbs(self) -> int:
        return self.mains + len(self.terminals)


class Packer:
    """The fewest primes for each level, each with at most four terminals of its own (paper: Listing 7)."""

    def __init__(self, word: int, most_log_q: float, log_n: int = LOG_N) -> None:
        self.word, self.log_n = word, log_n
        self.mains = list(itertools.islice(primes_below(2**word, log_n), math.ceil(most_log_q / word) + 1))
        self.sums = [0.0, *itertools.accumulate(math.log2(q) for q in self.mains)]
        near = {next(primes_near(i * GRID, GRID, log_n), None) for i in range(int(log_n / GRID), int(word / GRID) + 1)}
        # Sizes on a grid, without the words that levels take whole.
        self.candidates = sorted(q for q in near if q and q < self.mains[-1])
        self.logs = [math.log2(q) for q in self.candidates]

    def level(self, log_q: float) -> Packed:
        for limbs in range(max(1, math.ceil((log_q - TOLERANCE) / self.word)), len(self.mains) + MAX_TERMINALS):
            for count in range(min(MAX_TERMINALS, limbs) + 1):
                mains = limbs - count
                if mains >= len(self.sums):
                    continue
                rest = log_q - self.sums[mains]
                if count == 0 and abs(rest) <= TOLERANCE:
                    return Packed(mains, ())
                if count and (chosen := self.terminals(rest, count)):
                    return Packed(mains, chosen)
        raise ValueError(f"log2 Q = {log_q} in words of {self.word} bits")

    def terminals(self, rest: float, count: int) -> tuple[int, ...] | None:
        """`count` different candidates whose product is 2^`rest`, within the tolerance. None if there are none."""
        if not self.logs or not count * self.logs[0] - TOLERANCE <= rest <= count * self.logs[-1] + TOLERANCE:
            return None
        for others in itertools.combinations(range(len(self.logs)), count - 1):
            last = rest - sum(self.logs[i] for i in others)
            at = bisect.bisect_left(self.logs, last - TOLERANCE)
            while at < len(self.logs) and self.logs[at] <= last + TOLERANCE:
                if at not in others:
                    return tuple(self.candidates[i] for i in (*others, at))
                at += 1
        return None


def unpacked(schedule: Schedule, word: int) -> tuple[list[int], int]:
    """The number of limbs of each level, if each level has as many primes of equal size as its scale has words. Also
    the number of these primes that the ring does not have."""
    sizes = [(BASE, math.ceil(BASE / word)), *((s, math.ceil(s / word)) for s in schedule.scales)]
    limbs = list(itertools.accumulate(count for _, count in sizes))
    missing = 0
    for size in set(sizes):
        needed = sum(count for s, count in sizes if (s, count) == size)
        each = size[0] / size[1]
        there = itertools.islice(primes_near(each, TOLERANCE / size[1], LOG_N), needed)
        missing += needed - sum(1 for _ in there)
    return limbs, missing


def rows() -> list[Row]:
    """One row for each schedule, word and kind of chain."""
    out: list[Row] = []
    for schedule, word in itertools.product(schedules(), WORDS):
        packer = Packer(word, schedule.log_q[-1])
        packed = [packer.level(q).limbs for q in schedule.log_q]
        whole, missing = unpacked(schedule, word)
        for chain, limbs, lacking in (("packed", packed, 0), ("unpacked", whole, missing)):
            out.append(_row(schedule, word, chain, limbs, lacking))
    return out


def _row(schedule: Schedule, word: int, chain: str, limbs: list[int], missing: int) -> Row:
    limb_bytes = (word / 8) * 2**LOG_N
    alpha = math.ceil(limbs[-1] / DNUM)
    return {"name": "bitpacker.count", "value": round(sum(limbs) / len(limbs), 4), "unit": "limbs per level",
            "params": {"N": 2**LOG_N, "word": word, "schedule": schedule.name, "chain": chain},
            "levels": len(limbs), "limbs_top": limbs[-1], "limbs_used": limbs[schedule.used],
            "ciphertext_bytes": int(2 * limbs[schedule.used] * limb_bytes),
            "key_bytes": int(2 * DNUM * (limbs[-1] + alpha) * limb_bytes),
            "bits_used": round(schedule.log_q[-1] / (limbs[-1] * word), 4), "primes_missing": missing}
