"""The source distribution and wheels: built as any user would, and tested where there is no compiler and no GPU. What
`./latticino wheel` and `./latticino test --more package` run."""

import glob
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from launcher import PYTHON, ROOT, Step, deps, die, make_environment, must, nvcc, pip_command, pip_install, say, stream

from container import Container

# Debian 12, where these wheels are built, has this C library. Wheels that need a later one do not run there.
NEWEST_PLATFORM = (2, 36)
# The largest file that a package index accepts by default.
MAX_BYTES = 100_000_000
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "nvcc", "cmake", "ninja")


@dataclass
class Wheel:
    """A wheel that was built, with the results of its tests. Times are in seconds."""

    path: Path
    built: float
    installed: float = 0.0
    failed: bool = False

    @property
    def size(self):
        return self.path.stat().st_size

    def __str__(self):
        return f"{self.path.name}: {self.size / 1e6:.1f} MB, built in {self.built:.0f} s, installed in {self.installed:.1f} s"


def offline():
    """The environment of pip: where LATTICINO_DEPS names wheels, it takes all packages from there."""
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    if deps("wheels"):
        environ.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=deps("wheels"))
    return environ


def source_distribution(python, folder):
    """The sdist, which must hold every file of the repository."""
    with Step("source distribution"):
        stream([python, "-m", "build", "--sdist", "--outdir", str(folder), ROOT], "building the sdist", offline())
    path = Path(max(glob.glob(str(Path(folder, "latticino-*.tar.gz"))), key=os.path.getmtime))
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if Path(ROOT, ".git").exists():
        tracked = must(["git", "ls-files", "-z"], "listing files", cwd=ROOT).split("\0")
        lacking = sorted(name for name in tracked if name and name not in names and Path(ROOT, name).exists())
        if lacking:
            die(f"{path.name} lacks {len(lacking)} files of the repository, such as {lacking[0]}")
    return path


def build_wheel(interpreter, source, folder, cuda):
    """A wheel for this interpreter out of the sdist, named after the oldest C library that it runs with."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        python = make_environment(os.path.join(work, "environment"), interpreter)
        arguments = [f"--config-settings=cmake.define.LATTICINO_CUDA={'ON' if cuda else 'OFF'}"]
        environ = dict(offline(), CUDACXX=nvcc()) if cuda else offline()
        with Step(f"wheel for {interpreter}"):
            stream([*pip_command(python), "wheel", "--verbose", "--no-deps", "--wheel-dir", work, *arguments, str(source)],
                   "building a wheel", environ)
        plain, = glob.glob(os.path.join(work, "latticino-*.whl"))
        bin_folder = os.path.dirname(PYTHON)
        must([os.path.join(bin_folder, "auditwheel"), "repair", "--wheel-dir", os.path.join(work, "repaired"), plain],
             "auditwheel", env=dict(os.environ, PATH=bin_folder + os.pathsep + os.environ["PATH"]))
        path, = glob.glob(os.path.join(work, "repaired", "*.whl"))
        kept = Path(folder, os.path.basename(path))
        shutil.copy(path, kept)
    check_platform(kept)
    return Wheel(kept, built=time.monotonic() - start)


def newer_library():
    """The version of this machine's C library if it is later than `NEWEST_PLATFORM`."""
    name, told = platform.libc_ver()
    return told if name == "glibc" and tuple(map(int, told.split(".")[:2])) > NEWEST_PLATFORM else None


def check_platform(path):
    """Ends the program if the wheel needs a newer C library than Debian 12's, or is too large for a package index."""
    found = re.search(r"manylinux_(\d+)_(\d+)_", path.name)
    if not found or tuple(map(int, found.groups())) > NEWEST_PLATFORM:
        die(f"{path.name} does not run with the C library {'.'.join(map(str, NEWEST_PLATFORM))}, that of Debian 12; build it there, "
            "as a later compiler and C library bring what older systems lack, or run `pip wheel .` for machines like this one")
    if path.stat().st_size > MAX_BYTES:
        die(f"{path.name} has {path.stat().st_size / 1e6:.0f} MB; a package index takes {MAX_BYTES / 1e6:.0f}")


def try_installed(wheel, interpreter):
    """Installs the wheel in an environment without a compiler, and runs a program that does not know the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        python = make_environment(os.path.join(folder, "environment"), interpreter)
        environ = dict(offline(), PATH=os.path.dirname(python))
        for name in COMPILERS:
            if shutil.which(name, path=environ["PATH"]):
                die(f"a clean environment has {name}")
        start = time.monotonic()
        stream([*pip_install(python), str(wheel.path)], "installing the wheel", environ)
        wheel.installed = time.monotonic() - start
        program = Path(folder, "program.py")
        shutil.copy(Path(ROOT, "tests", "consumer", "installed.py"), program)
        wheel.failed |= subprocess.call([python, program], cwd=folder, env=environ) != 0


def try_extra(wheel, interpreter, extra):
    """Installs the wheel with an extra in an empty environment, and runs a program that needs the packages of that extra.
    True if it works."""
    with tempfile.TemporaryDirectory() as folder:
        python = make_environment(os.path.join(folder, "environment"), interpreter)
        environ = dict(offline(), PATH=os.path.dirname(python), PYTHONWARNINGS="ignore")
        with Step(f"the wheel with [{extra}]"):
            stream([*pip_install(python), f"{wheel}[{extra}]"], f"installing the wheel with [{extra}]", environ)
        program = shutil.copy(Path(ROOT, "tests", "consumer", f"extra_{extra}.py"), folder)
        return subprocess.call([python, program], cwd=folder, env=environ) == 0


def make(folder, interpreters, cuda):
    """The sdist and a wheel for each interpreter in the folder. A wheel of the stable ABI is built once, and tried with
    every interpreter that it is for."""
    newer = newer_library()
    if newer:
        say(f"this machine has the C library {newer}; the wheel may need it, and is refused then at the end")
    source = source_distribution(PYTHON, folder)
    say(f"{source.name}: {source.stat().st_size / 1e6:.1f} MB")
    wheels = []
    for interpreter in interpreters:
        major, minor = version(interpreter)
        wheel = next((w for w in wheels if "-abi3-" in w.path.name and (major, minor) >= (3, 12)), None)
        if wheel is None:
            wheel = build_wheel(interpreter, source, folder, cuda)
            wheels.append(wheel)
        try_installed(wheel, interpreter)
        say(f"{wheel}; Python {major}.{minor}")
    return source, wheels


def try_container(wheel):
    """Runs the steps of the Containerfile, and the commands of docs/production.md for it, without an image. Packages of Debian are
    this machine's. True if the service answers the job of a tenant, and ends when it is told to."""
    with tempfile.TemporaryDirectory() as folder:
        where = {"/opt/latticino": f"{folder}/opt", "/wheels": f"{folder}/wheels", "/src": ROOT, "/build": f"{folder}/build"}
        os.makedirs(where["/wheels"])
        shutil.copy(wheel, where["/wheels"])
        text = Path(ROOT, "Containerfile").read_text()
        for name, place in where.items():
            text = re.sub(rf"(?<![\w/]){re.escape(name)}(?![\w])", place, text)
        build, final = text.split("\nFROM ")[-2:]
        told = [f"pip wheel --no-deps --wheel-dir {where['/wheels']}", "LATTICINO_CUDA=OFF", ROOT]
        if not all(words in build for words in told):
            die("the Containerfile builds its wheel in another way than this test")
        with Step("the Containerfile's steps"):
            for step in re.findall(r"^RUN (.*)$", final, re.MULTILINE):
                if not re.match("apt-get|useradd", step):
                    stream(["sh", "-c", step], step, offline())
        with Step("the container's service"):
            failed = Container(folder).answers()
        if failed:
            say(f"the service of the Containerfile did not work: {failed}")
        return failed is None


def version(interpreter):
    """A version as numbers, for example (3, 12)."""
    told = must([interpreter, "-c", "import sys; print(*sys.version_info[:2])"], f"asking {interpreter} for its version")
    return tuple(map(int, told.split()))
