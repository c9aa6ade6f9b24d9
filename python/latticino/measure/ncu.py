"""Nsight Compute: runs a program under `ncu`, and reads what it prints.

Imports nothing of the package: bench/counters.py loads it by its path, without the extension.
"""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

ALWAYS = ("--csv", "--print-units", "base", "--clock-control", "none")
SHOWN = 2000  # number of characters of the profiler's output that a message repeats
# Namespaces before a kernel's name. Those without a name are spelled in three ways.
SPACES = re.compile(r"(?:(?:\(anonymous namespace\)|<?unnamed>|\w+)::)*")
METRIC = re.compile(r"[a-z]\w*__\w+(?:\.\w+)*")
UNKNOWN = re.compile(r"metric", re.IGNORECASE)


class ProfilerError(RuntimeError):
    """The profiler stopped early, or counted something else than expected. ``said``: all of its output."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


@dataclass
class Launch:
    """One launch of a kernel, with its counters by the profiler's names."""

    number: str
    kernel: str
    values: dict[str, float] = field(default_factory=dict)


@dataclass
class Profile:
    """The result of one run of the profiler, and the counters that were requested and that it did not give."""

    launches: list[Launch]
    missing: tuple[str, ...]
    said: str = ""


def base_name(kernel: str) -> str:
    """``void a::b::key_inner<S<8>>(Args)`` -> ``key_inner``. ncu 2025.3 leaves brackets out, as in
    ``void unnamed>::key_inner<unnamed>::S<8>>(unnamed>::Args)``."""
    named = kernel.strip().removeprefix("void ")
    found = re.match(r"\w+", named[SPACES.match(named).end():])  # type: ignore[union-attr]  # matches nothing as well
    return found[0] if found else kernel


def parsed(text: str) -> list[Launch]:
    """The launches of ncu's CSV in the order in which they ran. A counter without a number is left out. Lines of the
    profiled program and of the profiler may be between them."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    launches: dict[str, Launch] = {}
    for row in csv.DictReader(lines):
        if row["ID"] == "ID":
            continue  # the output of several runs, each with its own header
        key = f"{row['ID']}:{row['Kernel Name']}"
        launch = launches.setdefault(key, Launch(row["ID"], row["Kernel Name"]))
        try:
            launch.values[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue  # n/a: a counter that this GPU does not have
    return list(launches.values())


def named_as_unknown(said: str, metrics: Sequence[str]) -> set[str]:
    """Those of the counters that an error message of the profiler names."""
    return {word for line in said.splitlines() if "==ERROR==" in line and UNKNOWN.search(line)
            for word in METRIC.findall(line) if word in metrics}


def unlisted(listed: str, metrics: Sequence[str]) -> set[str]:
    """The counters that `ncu --query-metrics` does not list; none if its output is not a list."""
    known = {words[0] for line in listed.splitlines() if (words := line.split()) and METRIC.fullmatch(words[0])}
    return {m for m in metrics if m.partition(".")[0] not in known} if known else set()


def _run(command: Sequence[str], limit: float) -> tuple[int, str, str]:
    """Status, output and errors of a command. ProfilerError if it does not exist or takes longer than the limit."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
    except OSError as why:
        raise ProfilerError(f"{command[0]} cannot be run ({why.strerror})") from why
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the profiled program too
        out, err = process.communicate()
        raise ProfilerError(f"{command[0]} took more than {limit:.0f} s\n{' '.join(command)}\n"
                            f"{_end(out, err)}", out + err) from None
    return process.returncode, out, err


def _cause(said: str) -> str:
    """The text that the profiler uses for its error."""
    return " ".join(line.strip("= ") for line in said.splitlines() if line.startswith("==ERROR=="))


def _end(out: str, err: str) -> str:
    return f"{out[-SHOWN:]}{err[-SHOWN:]}"


def profile(program: Sequence[str], metrics: Sequence[str], options: Sequence[str] = (), limit: float = 600,
            say: Callable[[str], None] = print) -> Profile:
    """Runs a program under ncu. Counters that ncu refuses are reported and left out, and it runs again with the others.
    """
    asked = list(metrics)
    queried = False
    while asked:
        command = ["ncu", *ALWAYS, *options, "--metrics", ",".join(asked), *program]
        status, out, err = _run(command, limit)
        launches = parsed(out)
        if status == 0 and launches:
            break
        refused = named_as_unknown(out + err, asked)
        if not refused and not queried:
            queried = True
            listed = _run(["ncu", "--query-metrics"], limit)
            refused = unlisted(listed[1], asked)
        if not refused:
            raise ProfilerError(f"ncu ended with status {status} and {len(launches)} launches. {_cause(out + err)}\n"
                                f"{' '.join(command)}\n{_end(out, err)}", out + err)
        say(f"ncu refuses {', '.join(sorted(refused))}: left out")
        asked = [m for m in asked if m not in refused]
    else:
        raise ProfilerError(f"ncu knows none of the counters {', '.join(metrics)}")
    counted = {name for launch in launches for name in launch.values}
    missing = tuple(m for m in metrics if m not in counted)
    if missing:
        say(f"without {', '.join(missing)}: this GPU or this profiler does not give them")
    return Profile(launches, missing, out)


def merged(profiles: Sequence[Profile]) -> list[Launch]:
    """The launches of several runs of one program, with the counters of all runs. ProfilerError if the launches differ.
    """
    first, *others = profiles
    launches = [Launch(x.number, x.kernel, dict(x.values)) for x in first.launches]
    for other in others:
        names = [[base_name(x.kernel) for x in p.launches] for p in (first, other)]
        if names[0] != names[1]:
            raise ProfilerError(f"two runs of one program with {len(names[0])} and {len(names[1])} launches, or with "
                                "other kernels")
        for launch, more in zip(launches, other.launches):
            launch.values.update(more.values)
    return launches


def summed(launches: Sequence[Launch], names: Mapping[str, str], weight: str = "gpu__time_duration.sum"
           ) -> dict[str, float]:
    """The counters of several launches as one, under our names: sums of amounts, and weighted means of fractions and
    ratios. A counter that one of the launches lacks is left out, because a sum without it would be too low."""
    out: dict[str, float] = {}
    for metric, ours in names.items():
        if not launches or any(metric not in x.values for x in launches):
            continue
        if metric.endswith(".sum"):
            out[ours] = sum(x.values[metric] for x in launches)
            continue
        weights = [x.values.get(weight, 0.0) for x in launches]
        if len(launches) == 1:
            weights = [1.0]
        if sum(weights) > 0:
            out[ours] = sum(x.values[metric] * w for x, w in zip(launches, weights)) / sum(weights)
    return out
