"""Runs the tests of C++ and of Python in tiers, and counts them. `./latticino test` uses it after the build."""

import os
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, fields
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
# Tests of CKKS and switching get their device from outside. Tests that only concern TFHE name theirs.
ON_THE_GPU = ["--label-regex", "^(unit|kat|property|noise)$", "--exclude-regex", "Tfhe|RotationsOf|RotationsIn"]
MAX_AT_ONCE = 4  # number of processes: the largest tests take gigabytes of memory, also on the GPU
# Without the suites that take more than three seconds.
QUICK = ["--label-exclude", "^(conformance|emulation|noise)$", "--exclude-regex",
         r"^unit\.(Sets/)?(Switch(Matvec|RoundTrip|Words)|Bootstrap(Forms|Choice)?)$"]
NEEDS_GPU = re.compile(r"no CUDA device|built without CUDA|needs a GPU")
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


def counted(path, status, suites=None):
    """The counts of a JUnit file. A run that ends badly without naming a test counts as one that failed. The tests of ctest are
    suites: each that ran to its end left a report of its cases in the folder `suites`."""
    counts = Counts()
    if Path(path).exists():
        for case in ElementTree.parse(path).iter("testcase"):
            counts += cases_of(case, suites) if suites else counted_case(case)
    if status and not counts.failed:
        counts.failed = 1
    return counts


def cases_of(suite, reports):
    """The counts of a suite's own report. One that ends badly without it counts as one test that failed."""
    failed = suite.find("failure") is not None or suite.find("error") is not None
    report = Path(reports, suite.get("name").replace("/", "-") + ".xml")
    return counted(report, failed) if report.exists() else Counts(failed=1)


def counted_case(case):
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return Counts(failed=1)
    if skipped is None:
        return Counts(passed=1)
    lacks_gpu = NEEDS_GPU.search((skipped.get("message") or "") + (case.findtext("system-out") or ""))
    return Counts(gpu=1) if lacks_gpu else Counts(skipped=1)


def ctest(program, folder, options, environ=None):
    """The C++ tests of a build folder that ctest's options choose. Prints what failed, and how far it is every ten seconds."""
    report, suites = Path(folder, "ctest.xml"), Path(folder, "suites")  # cmake/tests.cmake names the latter
    report.unlink(missing_ok=True)
    shutil.rmtree(suites, ignore_errors=True)
    command = [program, "--test-dir", folder, "--output-on-failure", "--no-tests=error", "--output-junit", str(report),
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
    return counted(report, process.wait(), suites)


def processes():
    """How many tests run at the same time."""
    return int(os.environ.get("LATTICINO_JOBS") or min(os.cpu_count() or 1, MAX_AT_ONCE))


def in_processes(count):
    """Pytest's options. If a test ends its process, the run ends too, because a new process would run into the same
    test again."""
    order = ["--dist", "loadfile", "--no-loadscope-reorder"]  # the option of tests/conftest.py: the longest files first
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
