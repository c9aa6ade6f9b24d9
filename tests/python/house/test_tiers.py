"""Tests that hang are ended and named, and none that fails, hangs or does not run is counted as passed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
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


def test_counts_of_suites(tmp_path, tiers):
    """Cases count, not suites. A suite that ends badly counts as failed, whether or not it names a case, and so does one that
    left no report."""
    ran, cases = tmp_path / "ctest.xml", tmp_path / "suites"
    cases.mkdir()
    ran.write_text("""<testsuite><testcase name="unit.Good"/><testcase name="unit.Typed/Wrong.x"><failure/></testcase>
        <testcase name="unit.Crashes"><failure/></testcase><testcase name="unit.EndsEarly"/>
        <testcase name="unit.Leaks"><failure/></testcase></testsuite>""")
    (cases / "unit.Good.xml").write_text("""<testsuites><testsuite name="Good"><testcase name="A"/><testcase name="B"/>
        <testcase name="C"><skipped message="file:1&#x0A;no CUDA device"/></testcase></testsuite></testsuites>""")
    (cases / "unit.Typed-Wrong.x.xml").write_text("""<testsuites><testsuite><testcase name="A"/><testcase name="B"><failure/>
        <failure/></testcase></testsuite></testsuites>""")
    (cases / "unit.Leaks.xml").write_text("<testsuites><testsuite><testcase/><testcase/></testsuite></testsuites>")
    assert tiers.counted(ran, 8, cases) == tiers.Counts(passed=5, failed=4, gpu=1)
    ran.write_text("""<testsuite><testcase name="unit.Good"/></testsuite>""")
    assert tiers.counted(ran, 0, cases) == tiers.Counts(passed=2, gpu=1)
