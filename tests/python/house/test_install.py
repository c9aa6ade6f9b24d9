"""CMake installs a library that find_package(latticino) finds, and a program computes with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = os.environ.get("LATTICINO_BUILD")  # the launcher names the build folder
CONSUMER = Path(__file__).resolve().parents[2] / "consumer"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not BUILD, reason="LATTICINO_BUILD names no build folder")
def test_find_package(tmp_path):
    cmake = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    run(cmake, "--install", BUILD, "--prefix", tmp_path / "prefix", "--component", "library")
    run(cmake, "-S", CONSUMER, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    run(cmake, "--build", tmp_path / "build")
    run(tmp_path / "build" / "consumer")
