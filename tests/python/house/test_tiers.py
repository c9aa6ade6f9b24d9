"""Tests that hang are ended and named, and none that fails, hangs or does not run is counted as passed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ENDINGS = Path(os.environ.get("LATTICINO_BUILD", ""), "endings")  # tests/programs/endings.cc
HANGS = """
import signal, time
import pytest

@pytest.mark.seconds(1)
def test_waits():
    time.sleep(600)

def test_goes_on():
    pass

@pytest.mark.seconds(1)
def test_hears_no_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(600)
"""


@pytest.fixture
def tiers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    import tiers
    yield tiers
    sys.modules.pop("tiers", None)


@pytest.mark.slow
def test_a_test_that_hangs_is_ended_and_named(tmp_path, child_environment, tiers):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_hangs.py").write_text(HANGS)
    report = tmp_path / "report.xml"

    def run(*options):
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}",
                               *options], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=child_environment)

    done = run("-k", "not hears")
    assert "TimeoutError: test_hangs.py::test_waits took over 1 s" in done.stdout
    assert tiers.counted(report, done.returncode) == tiers.Counts(passed=1, failed=1)
    report.unlink()
    done = run("-k", "hears")
    assert done.returncode and "in test_hears_no_signal" in done.stderr
    assert tiers.counted(report, done.returncode) == tiers.Counts(failed=1)
    done = run(*tiers.in_processes(2))
    assert "crashed while running 'test_hangs.py::test_hears_no_signal'" in done.stdout and "in test_hears_no_signal" in done.stderr
    assert tiers.counted(report, done.returncode) == tiers.Counts(passed=1, failed=2)


def test_counts_of_a_report(tmp_path, tiers):
    report = tmp_path / "report.xml"
    report.write_text("""<testsuite><testcase/><testcase/><testcase><failure/></testcase><testcase><error/></testcase>
        <testcase><skipped message="no torch"/></testcase><testcase><skipped message="needs a GPU"/></testcase>
        <testcase><skipped message="SKIP"/><system-out>Skipped: no CUDA device</system-out></testcase></testsuite>""")
    assert tiers.counted(report, 1) == tiers.Counts(passed=2, failed=2, skipped=1, gpu=2)
    report.write_text("<testsuite><testcase/></testsuite>")
    assert tiers.counted(report, 0) == tiers.Counts(passed=1)
    assert tiers.counted(report, 1) == tiers.Counts(passed=1, failed=1)  # a failed status without a failed test


# A build folder's tests, of programs that are built already.
PROJECT = """cmake_minimum_required(VERSION 3.24)
project(endings NONE)
enable_testing()
include([[{discover}]])
foreach(folder {folders})
  add_executable(${{folder}}_tests IMPORTED)
  set_target_properties(${{folder}}_tests PROPERTIES IMPORTED_LOCATION "{programs}/${{folder}}")
  latticino_discover(${{folder}}_tests ${{folder}} ${{PROJECT_SOURCE_DIR}} 20)
endforeach()
"""


def found(name):
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


@pytest.fixture
def ctest(tmp_path, tiers, capfd):
    """Runs ctest on programs of GoogleTest by the folders whose names they carry. Returns the counts, and what was printed."""
    def run(folders, options=()):
        text = PROJECT.format(discover=ROOT / "cmake" / "discover.cmake", folders=" ".join(folders), programs=tmp_path)
        project = tmp_path / "CMakeLists.txt"
        if not project.exists() or project.read_text() != text:
            project.write_text(text)
            subprocess.run([found("cmake"), "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja",
                            f"-DCMAKE_MAKE_PROGRAM={found('ninja')}"], check=True)
        return tiers.ctest(found("ctest"), tmp_path / "build", options), capfd.readouterr().out
    return run


@pytest.mark.slow
@pytest.mark.skipif(not ENDINGS.exists(), reason="LATTICINO_BUILD names no folder with the program endings")
def test_each_case_of_googletest_counts_as_it_ended(tmp_path, tiers, ctest):
    """A case that crashed, hung, or ended early without an error has failed, and so has one that skipped but then ended with one.
    All others are counted as GoogleTest says."""
    shutil.copy(ENDINGS, tmp_path / "unit")
    shutil.copy(ENDINGS, tmp_path / "kat")
    both, printed = ctest(["unit", "kat"])
    one = tiers.Counts(passed=5, failed=9, skipped=1, gpu=2)
    assert both == one + one
    for name in ("Fails.Expects", "Fails.ThenSkips", "Skips.ThenEndsBadly", "Crashes.ByASignal", "Crashes.AfterItSkipped",
                 "EndsEarly.WithStatus0", "Hangs.ForAMinute", "Sets/Parameter.IsText/1", "Typed.IsSmall<1>"):
        assert re.search(rf"- kat\.{name} \(|^kat\.{name} failed", printed, re.MULTILINE), name
    for options, counts in {("-L", "kat", "-E", "Hangs"): tiers.Counts(5, 8, 1, 2), ("-R", r"^unit\.(Passes|Skips)\."): tiers.Counts(2, 1, 1, 2),
                            ("-R", r"^kat\.Sets/Parameter\."): tiers.Counts(2, 1), ("-R", "^kat.Passes"): tiers.Counts(2),
                            ("-R", "EndsEarly", "-L", "kat"): tiers.Counts(failed=1), ("-R", "None"): tiers.Counts(failed=1)}.items():
        assert ctest(["unit", "kat"], options)[0] == counts, options


@pytest.mark.slow
@pytest.mark.skipif(not ENDINGS.exists(), reason="LATTICINO_BUILD names no folder with the program endings")
def test_programs_without_cases_fail(tmp_path, tiers, ctest):
    """One that was not built, one that cannot say its cases, and a list of cases that an interrupted run cut short."""
    shutil.copy(ENDINGS, tmp_path / "unit")
    counts, printed = ctest(["unit", "kat"], ["-R", r"Passes|_NOT_BUILT"])
    assert counts == tiers.Counts(passed=2, failed=1) and "kat_tests_NOT_BUILT" in printed
    (listed,) = (tmp_path / "build").glob("unit_tests*_tests.cmake")
    listed.write_text("\n".join(line for line in listed.read_text().splitlines() if "Fails" not in line))
    assert ctest(["unit", "kat"], ["-R", r"^unit\.(Passes|Fails)\."])[0] == tiers.Counts(passed=2, failed=2)
    (tmp_path / "kat").write_text("#!/bin/sh\necho no library >&2\nexit 127\n")
    (tmp_path / "kat").chmod(0o755)
    counts, printed = ctest(["unit", "kat"], ["-R", "Passes"])
    assert counts.failed and "no library" in printed


def test_the_filters_look_at_suites(tiers):
    """The names of cases may contain what the filters look for in those of suites."""
    chosen = dict(zip(tiers.QUICK[::2], tiers.QUICK[1::2], strict=True))
    gpu = dict(zip(tiers.ON_THE_GPU[::2], tiers.ON_THE_GPU[1::2], strict=True))

    def left_out(options, name):
        return bool(re.search(options["--exclude-regex"], name))

    for name in ("unit.SwitchWords.A", "unit.Sets/SwitchWords.A/0", "unit.Bootstrap.A", "unit.BootstrapForms.B"):
        assert left_out(chosen, name), name
    for name in ("unit.BootstrapKeys.A", "unit.Modulus.Bootstrap.A", "kat.Bootstrap.A", "unit.SwitchWordsOfOthers.A"):
        assert not left_out(chosen, name), name
    for name in ("unit.TfheFiles.A", "unit.Keys/TfheGates.A/0", "property.RotationsOfX.A", "property.Sets/RotationsInLargeBatches.A"):
        assert left_out(gpu, name), name
    for name in ("unit.Files.TfheKeys", "unit.Evaluator.RotationsOfSlots/1", "unit.Sets/Evaluator.RotationsIn"):
        assert not left_out(gpu, name), name
