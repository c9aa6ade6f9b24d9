"""Runs the tests of C++ and of Python in tiers, and counts them. `./latticino test` uses it after the build."""

import os
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, fields
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
# Tests of CKKS and switching get their device from outside. Tests that only concern TFHE name theirs.
ON_THE_GPU = ["--label-regex", "^(unit|kat|property|noise)$", "--exclude-regex",
              r"^[^.]*\.[^.]*(Tfhe|RotationsOf|RotationsIn)"]  # names of suites: folder.Suite.Case
MAX_AT_ONCE = 4  # number of processes: the largest tests take gigabytes of memory, also on the GPU
# Without the suites that take more than three seconds.
QUICK = ["--label-exclude", "^(conformance|emulation|noise)$", "--exclude-regex",
         r"^unit\.(Sets/)?(Switch(Matvec|RoundTrip|Words)|Bootstrap(Forms|Choice)?)\."]
NEEDS_GPU = re.compile(r"no CUDA device|built without CUDA|needs a GPU")
# What GoogleTest says last of a case.
PASSED, SKIPPED = re.compile(r"\[  PASSED  \] 1 test\."), re.compile(r"\[  SKIPPED \] \S+\s*$")
# A line of ctest for a finished test.
DONE = re.compile(r" *(\d+)/(\d+) Test +#\d+: (.+?) \.* *(?:\*\*\*)?(Passed|Skipped|Not Run).*")


@dataclass
class Counts:
    """The counts of test cases. `skipped` does not include those that only lack a GPU."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    gpu: int = 0

    def __add__(self, other):
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def counted(path, status, count=None):
    """The counts of a JUnit file. A run that ends badly without naming a test counts as one that failed. `count` counts one
    test, by default as `counted_case` does."""
    counts = Counts()
    if Path(path).exists():
        for case in ElementTree.parse(path).iter("testcase"):
            counts += (count or counted_case)(case)
    if status and not counts.failed:
        counts.failed = 1
    return counts


def counted_case(case):
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return Counts(failed=1)
    if skipped is None:
        return Counts(passed=1)
    lacks_gpu = NEEDS_GPU.search((skipped.get("message") or "") + (case.findtext("system-out") or ""))
    return Counts(gpu=1) if lacks_gpu else Counts(skipped=1)


def counted_by_googletest(case):
    """The count of a case that ctest ran. It also failed where GoogleTest does not confirm what ctest says, and then its output is
    printed. For ctest, a process that ends early with status 0 has passed; one that skips is skipped, even if its status is an
    error; and so is a program that was not built."""
    counts, output = counted_case(case), case.findtext("system-out") or ""
    if counts.failed or (PASSED if counts.passed else SKIPPED).search(output):
        return counts
    print(f"{case.get('name')} failed: its process did not end as one that {'passes' if counts.passed else 'skips'}\n{output}")
    return Counts(failed=1)


def ctest(program, folder, options, environ=None):
    """The C++ tests of a build folder that ctest's options choose. Prints what failed, and how far it is every ten seconds."""
    report = Path(folder, "ctest.xml")
    # The programs say their cases again: an interrupted run may have left a part of a list.
    for left in (report, *Path(folder).glob("*_tests.cmake")):
        left.unlink(missing_ok=True)
    command = [program, "--test-dir", folder, "--output-on-failure", "--no-tests=error", "--output-junit", str(report),
               "--test-output-truncation", "head",  # the end says how a case ended
               "-j", str(processes()), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               env=environ)
    shown, hidden = time.monotonic(), False
    for line in process.stdout:
        done = DONE.match(line)
        if done and time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"  {done[1]} of {done[2]}: {done[3]}", flush=True)
        # Tests that did not run are counted instead.
        hidden = (hidden or line.startswith("The following tests did not run")) and "tests FAILED" not in line
        if not done and not hidden and line.strip() and not re.match(r" *Start +\d+: ", line):
            print(line, end="", flush=True)
    return counted(report, process.wait(), counted_by_googletest)


def processes():
    """How many tests run at the same time."""
    return int(os.environ.get("LATTICINO_JOBS") or min(os.cpu_count() or 1, MAX_AT_ONCE))


def in_processes(count):
    """Pytest's options. If a test ends its process, the run ends too, because a new process would run into the same
    test again."""
    order = ["--dist", "loadfile", "--no-loadscope-reorder"]  # in the order of tests/conftest.py: the longest files first
    return ["-n", str(count), *order, "--max-worker-restart", "0"] if count > 1 else []


def pytest(python, folder, options):
    """The Python tests, with those of the documentation, in several processes. Each takes whole files, whose tests may share
    what they build; `-n 0` among the options runs all in one."""
    report = Path(folder, "pytest.xml")
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *in_processes(processes()),
               str(CHECKOUT / "tests")]
    status = subprocess.call([*command, *options], cwd=CHECKOUT, env=dict(os.environ, LATTICINO_BUILD=folder))
    return counted(report, status)


def summary(parts):
    """The last lines of a run; `parts` are (name, Counts, seconds)."""
    total = sum((counts for _, counts, _ in parts), Counts())
    for name, counts, seconds in parts:
        print(f"latticino: {name}: {counts} in {seconds:.0f} s")
    if total.gpu:
        print(f"latticino: {total.gpu} tests need a GPU and were left out: ./latticino test on a machine with a GPU and nvcc "
              "runs them")
    print(total, flush=True)
    return total


def timed(name, run, *arguments):
    start = time.monotonic()
    counts = run(*arguments)
    return name, counts, time.monotonic() - start
