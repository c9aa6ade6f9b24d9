"""Installs other libraries in environments of their own. Each has a folder, and an interpreter that it was built for.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .._provenance import CHECKOUT, cpu_name
from . import peers
from .records import Row, stamped

# What to install for which Python, in order of preference. Each of OpenFHE's wheels is built for one Python version,
# but no tag of the wheel says so.
NEEDS = {
    "tenseal": {f"3.{minor}": ["tenseal==0.3.18", "numpy"] for minor in (11, 12, 13)},
    "openfhe": {"3.10": ["openfhe==1.6.1.0.22.4"], "3.12": ["openfhe==1.2.3.0.24.4"]},
}
FOLDER = CHECKOUT / ".deps" / "peers"


def measured(names: tuple[str, ...]) -> list[Row]:
    """The rows of the libraries that can be installed here. It prints a line for each that cannot."""
    rows = []
    for name in names:
        try:
            rows += [stamped({**row, "device": cpu_name()}) for row in _measure(name)]
        except (OSError, RuntimeError) as why:
            print(f"{name}: left out, {why}")
    for row in rows:
        print(f"{row['library']:24} {row['name']:24} N = {row['params']['N']}: {row['value']:10.2f} ms")
    return rows


def interpreter(name: str) -> tuple[str, str]:
    """A Python that the library has packages for, and its version; RuntimeError if there is none."""
    own = f"3.{sys.version_info.minor}"
    for version in sorted(NEEDS[name], key=lambda v: v != own):
        found = [sys.executable] if version == own else _installed(version)
        if found:
            return found[0], version
    raise RuntimeError(f"it needs one of the Pythons {', '.join(NEEDS[name])}, and none is installed")


def _installed(version: str) -> list[str]:
    """Interpreters of that version, on the path and under pyenv, that can be started."""
    shims = [shutil.which(f"python{version}")]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    built = sorted(root.glob(f"versions/{version}.*/bin/python"))
    found = [str(path) for path in (*shims, *built) if path]
    return [path for path in found if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0]


def _measure(name: str) -> list[Row]:
    python, version = interpreter(name)
    folder = FOLDER / f"{name}-{version}"
    if not (folder / "complete").exists():
        _install(NEEDS[name][version], version, folder)
    done = subprocess.run([python, peers.__file__, name], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(folder)))
    if done.returncode:
        raise RuntimeError(f"it failed: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def _install(packages: list[str], version: str, folder: Path) -> None:
    """Installs packages with the pip of this Python, for the version of the other Python, which may have no pip."""
    print(f"installing {' '.join(packages)} for Python {version} in {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
               "--only-binary=:all:", "--python-version", version, "--implementation", "cp", "--target", str(folder)]
    wheels = Path(os.environ.get("LATTICINO_DEPS", "")) / "wheels"
    if os.environ.get("LATTICINO_DEPS") and wheels.exists():
        command += ["--no-index", "--find-links", str(wheels)]
    done = subprocess.run([*command, *packages], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"it cannot be installed: {done.stderr.strip()[-300:]}")
    (folder / "complete").write_text(" ".join(packages) + "\n")
