"""The file `latticino`: help without a build, and no traceback if the reader of its output closes the pipe."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def launcher(monkeypatch):
    """Its functions, with this interpreter as the environment's, and without set-up."""
    loader = SourceFileLoader("launcher_of_test", str(ROOT / "latticino"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "PYTHON", sys.executable)

    def never(*_, **__):
        raise AssertionError("a set-up was begun")

    for name in ("setup", "build", "environment", "add_requirements"):
        monkeypatch.setattr(module, name, never)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("words", [["explain", "--help"], ["params", "-h"]])
def test_help_needs_no_build(launcher, words, monkeypatch, capfdbinary):
    monkeypatch.setattr(sys, "argv", ["latticino", *words])
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    monkeypatch.setenv("COLUMNS", "100")
    assert launcher.main() == 0
    assert capfdbinary.readouterr().out.startswith(b"usage: latticino " + words[0].encode())


def test_help_that_cannot_be_shown_is_set_up_for(launcher, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["latticino", "explain", "--help"])
    for python in ("/none/python", "/bin/false"):
        monkeypatch.setattr(launcher, "PYTHON", python)
        with pytest.raises(AssertionError, match="set-up"):
            launcher.main()
    monkeypatch.setattr(sys, "argv", ["latticino", "bench", "service-kills", "--help"])
    with pytest.raises(AssertionError, match="set-up"):  # its packages may be all that is missing
        launcher.main()


def test_commands_take_the_place_of_the_launcher(launcher, monkeypatch):
    """So that Ctrl-C and SIGTERM reach the processes, and nothing kills them a quarter of a second later."""
    became = []
    monkeypatch.setattr(os, "execve", lambda *words: became.append(words))
    monkeypatch.setattr(launcher, "setup", lambda **_: "build/x")
    monkeypatch.setattr(launcher, "add_requirements", lambda _: None)
    for words in (["demo", "--rows", "4"], ["python", "-c", "pass"], ["bench", "service-kills"], ["serve", "x"]):
        monkeypatch.setattr(sys, "argv", ["latticino", *words])
        launcher.main()
        program, arguments, _ = became.pop()
        assert program == sys.executable and arguments[-1] == words[-1] and not became


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["test", "--help"]])
def test_whoever_reads_may_have_enough(words):
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run([sys.executable, ROOT / "latticino", *words], stdout=writes, stderr=subprocess.PIPE, text=True,
                          env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"})
    os.close(writes)
    assert (done.returncode, done.stderr) == (1, "")


def installed():
    """The script that pip makes for the entry point."""
    with open(ROOT / "pyproject.toml") as file:
        module, _, function = re.search(r'^latticino = "(.*)"$', file.read(), re.M)[1].partition(":")
    return [sys.executable, "-c", f"import sys; from {module} import {function}; sys.exit({function}())", "info"]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["launcher", "installed"])
def test_an_interrupt_while_a_command_loads_prints_nothing(launcher, way):
    command = installed() if way == "installed" else launcher.program("info", [])
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, PYTHONPATH=str(ROOT / "python"), PYTHONVERBOSE="1"))
    for line in child.stderr:  # loads a module of the package, and many follow
        if "latticino.errors" in line:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=300)
    assert child.returncode == -signal.SIGINT and out == "" and "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize("way", ["signal.SIG_IGN", "signal.default_int_handler"])
def test_the_entry_point_leaves_the_interrupt_as_it_was(way):
    """A shell lets background processes ignore it."""
    words = installed()
    words[2] = words[2].replace("sys.exit(main())", f"import signal; signal.signal(2, {way}); main(); print(signal.getsignal(2))")
    done = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
    assert done.returncode == 0 and done.stdout.startswith("latticino "), done.stderr
    assert done.stdout.splitlines()[-1] == str(eval(way))


def ninja():
    """The ninja of this environment, with which the launcher builds."""
    path = Path(sys.executable).parent / "ninja"
    if not path.exists():
        pytest.skip("this environment has no ninja")
    return str(path)


TWO = """
import importlib.util, os, sys, time
from importlib.machinery import SourceFileLoader
from pathlib import Path
sys.dont_write_bytecode = True
loader = SourceFileLoader("launcher_of_test", sys.argv[1])
launcher = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(launcher)
launcher.ROOT, launcher.VENV = sys.argv[2], sys.argv[2] + "/.venv"
launcher.stream, launcher.must, launcher.pip_install = lambda *_: None, lambda *_: sys.argv[2], lambda _: []
def make(folder):
    os.makedirs(folder)  # fails where another process makes it
    print("made", flush=True)
    time.sleep(2)
launcher.make_environment = make
launcher.environment()
"""


@pytest.mark.slow
def test_of_two_commands_at_once_one_sets_up_and_the_other_waits(tmp_path):
    (tmp_path / "requirements.txt").write_text("")
    command = [sys.executable, "-c", TWO, str(ROOT / "latticino"), str(tmp_path)]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while "made" not in first.stdout.readline():
        assert first.poll() is None
    second = subprocess.run(command, capture_output=True, text=True)
    assert first.wait() == 0 and (second.returncode, second.stderr) == (0, "")
    assert "waiting for it" in second.stdout and "made" not in second.stdout


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_build_that_was_interrupted_goes_on(launcher, tmp_path, interrupted):
    """ninja 1.13.0 ends with 0 after an interrupt. Tests would then run with what was built before."""
    again, flag = tmp_path / "again", tmp_path / "flag"
    (tmp_path / "build.ninja").write_text(
        "rule touch\n  command = touch $out\n"
        f"rule last\n  command = if [ -e {flag} ]; then rm {flag}; kill -INT $$PPID; sleep 20; fi; touch $out\n"
        f"build {tmp_path}/a: touch\nbuild {again}: last {tmp_path}/a\n")
    if interrupted:
        flag.touch()
    command = [ninja(), "-C", str(tmp_path)]
    try:
        launcher.compiled(command, dict(os.environ))
    except SystemExit:  # other versions of ninja fail
        assert interrupted and not again.exists()
        launcher.compiled(command, dict(os.environ))
    assert again.exists() and not flag.exists()


@pytest.fixture
def wheels(launcher, monkeypatch):
    monkeypatch.setitem(sys.modules, "launcher", launcher)
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    import wheels
    yield wheels
    sys.modules.pop("wheels", None)


def test_a_wheel_for_later_systems_alone_is_refused_and_said_before(wheels, tmp_path, monkeypatch):
    name = "latticino-0.1.0-cp312-abi3-manylinux_2_{}_x86_64.whl"
    for minor in (35, 36, 38):
        (tmp_path / name.format(minor)).write_bytes(b"")
    wheels.check_platform(tmp_path / name.format(35)), wheels.check_platform(tmp_path / name.format(36))
    with pytest.raises(SystemExit, match="C library 2.36, that of Debian 12; build it there"):
        wheels.check_platform(tmp_path / name.format(38))
    for version, told in (("2.36", None), ("2.39", "2.39"), ("3.1", "3.1"), ("2.4", None)):
        monkeypatch.setattr(wheels.platform, "libc_ver", lambda version=version: ("glibc", version))
        assert wheels.newer_library() == told
    monkeypatch.setattr(wheels.platform, "libc_ver", lambda: ("", ""))
    assert wheels.newer_library() is None


# The C libraries of systems that jobs run on, by words in the name of a container or a runner.
LIBRARIES = {"ubuntu-22.04": (2, 35), "ubuntu22.04": (2, 35), "bookworm": (2, 36), "debian:12": (2, 36),
             "ubuntu-24.04": (2, 39), "ubuntu24.04": (2, 39), "trixie": (2, 41), "debian:13": (2, 41)}


def jobs():
    """The text of each job of the workflows."""
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        text = re.sub(r"(^|\s)#.*", "", path.read_text().partition("\njobs:\n")[2])
        for name, body in re.findall(r"^  ([\w-]+):\n((?:(?:    .*)?\n)+)", text + "\n", re.MULTILINE):
            yield f"{path.stem}/{name}", body


def makes_wheels(job):
    """Whether a job makes wheels, all of which the command checks."""
    parts = re.findall(r"test --more ?(.*)", job)  # all parts if none is named
    named = [word for part in parts for word in part.split()]
    if any("matrix.part" in part for part in parts):
        named += re.search(r"part: \[(.*)\]", job)[1].split(", ")
    return "./latticino wheel" in job or "package" in named or "" in parts


def library(job):
    """The C library of the container that a job runs in, or of its runner."""
    where = (re.search(r"^    container: (.*)$", job, re.MULTILINE) or re.search(r"^    runs-on: (.*)$", job, re.MULTILINE))[1]
    found = [version for word, version in LIBRARIES.items() if word in where]
    assert len(found) == 1, f"{where}: which C library does it have?"
    return found[0]


def test_jobs_make_wheels_where_the_command_accepts_them(wheels):
    making = {name: job for name, job in jobs() if makes_wheels(job)}
    assert {name: library(job) for name, job in making.items() if library(job) > wheels.NEWEST_PLATFORM} == {}
    assert set(making) == {"ci/package", "wheels/wheel", "wheels/cuda-wheel"}
    for job in making.values():  # git of a container trusts no checkout that somebody else owns
        assert "container:" not in job or "safe.directory" in job.partition("./latticino")[0]


def test_there_is_a_job_for_each_wheel():
    built = {name: job for name, job in jobs() if "./latticino wheel" in job}
    supported = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    stable = re.search(r'py-api = "cp3(\d+)"', (ROOT / "pyproject.toml").read_text())[1]
    own = [version for version in supported if int(version.partition(".")[2]) <= int(stable)]
    assert len(own) == 3
    for job in built.values():
        assert re.findall(r'"([\d.]+)"', re.search(r"^        python: \[(.*)\]", job, re.MULTILINE)[1]) == own
    cuda = [name for name, job in built.items() if "wheel --cuda" in job]
    assert cuda == ["wheels/cuda-wheel"] and re.search(r"container: nvidia/cuda:\S+-devel-", built[cuda[0]])  # has nvcc


def test_a_job_on_a_later_system_is_found(wheels):
    job = "    runs-on: {}\n    steps:\n      - run: ./latticino {}\n"
    assert library(job.format("ubuntu-24.04", "wheel")) > wheels.NEWEST_PLATFORM >= library(job.format("ubuntu-22.04", "wheel"))
    for command, makes in (("wheel --out dist", True), ("test --more package", True), ("test --more", True), ("test", False),
                           ("test --more ${{ matrix.part }}\n        part: [fuzz, package]", True),
                           ("test --more ${{ matrix.part }}\n        part: [fuzz, secrets]", False)):
        assert makes_wheels(job.format("ubuntu-24.04", command)) == makes
