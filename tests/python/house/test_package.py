"""What the package contains besides code: stubs, versions."""

import re
import shutil
import subprocess
import sys
import typing
from importlib.metadata import version
from pathlib import Path

import pytest

import latticino as lt

ROOT = Path(__file__).resolve().parents[3]


def test_the_committed_stub_is_what_the_extension_offers(tmp_path, child_environment):
    pytest.importorskip("nanobind")
    pinned = re.search(r"^nanobind==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE).group(1)
    if version("nanobind") != pinned:  # each version writes stubs in its own style
        pytest.skip(f"nanobind {version('nanobind')} is installed; the stub is that of {pinned}")
    made = tmp_path / "_native.pyi"
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-m", "latticino._native", "-o", made], check=True,
                   capture_output=True, env=child_environment)
    assert (ROOT / "python/latticino/_native.pyi").read_text() == made.read_text(), (
        "write it again: ./latticino python -m nanobind.stubgen -m latticino._native -O python/latticino")


def test_the_extension_exports_its_entry_alone():
    nm = shutil.which("nm")
    if nm is None or sys.platform != "linux":
        pytest.skip("needs nm on Linux")
    listed = subprocess.run([nm, "-D", "--defined-only", lt._native.__file__], check=True, capture_output=True, text=True)
    assert {line.split()[-1] for line in listed.stdout.splitlines()} == {"PyInit__native"}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="typing.get_overloads is of Python 3.11")
def test_each_scheme_has_its_types():
    """A type checker sees a client of CKKS for a context of CKKS."""
    for function in (lt.keygen, lt.load_ciphertext, lt.from_bytes, lt.load_server_keys, lt.load_client):
        seen = [o.__annotations__ for o in typing.get_overloads(function)]
        assert [a["context"] for a in seen[:2]] == ["Context", "tfhe.Context"]
        for overload in seen:  # from_bytes has two overloads for arrays and two for keys
            assert overload["return"].startswith("tfhe.") == (overload["context"] == "tfhe.Context")


def test_versions_agree():
    project = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE).group(1)
    assert lt.__version__ == project
    # The only place with the version: CMake reads it from there.
    assert not re.search(r"VERSION \d+\.\d+\.\d+", (ROOT / "CMakeLists.txt").read_text())
