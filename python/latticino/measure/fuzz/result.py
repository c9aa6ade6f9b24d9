"""The result of one random program."""

from __future__ import annotations

from dataclasses import dataclass, field


class WrongValue(AssertionError):
    """A value that differs from the plain one."""


@dataclass(frozen=True)
class Claimed:
    """Bits that a result claimed, and bits that were measured: mean and worst slot."""

    kind: str  # "calibrated" on a sample that is available, "fitted" of such a program with fits, else "declared"
    slots: int
    claimed_mean: float
    claimed_worst: float
    mean: float
    worst: float


@dataclass(frozen=True)
class Result:
    """The result of a program, with the name by which it can be run again. ``wrong`` says which value was wrong; it is
    empty if none was."""

    program: str
    steps: int
    wrong: str = ""
    claims: list[Claimed] = field(default_factory=list)
    refused: str = ""  # the error of a program that exceeds the limits of the parameters
