"""CMake installs a library that find_package(latticino) finds, and a program builds on it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = os.environ.get("LATTICINO_BUILD")  # the launcher names the build folder

PROJECT = """
cmake_minimum_required(VERSION 3.24)
project(app CXX)
find_package(latticino 0.1 REQUIRED)
add_executable(app app.cc)
target_link_libraries(app PRIVATE latticino::latticino)
"""
PROGRAM = """
#include <iostream>

#include "ckks/evaluator.h"
#include "params/params.h"

int main() {
  const auto context = latticino::ckks::Context::create_dry(latticino::preset("test-n10-leveled-insecure"));
  const latticino::ckks::Evaluator evaluator(context, nullptr);
  std::cout << context->params().n() << std::endl;
}
"""


@pytest.mark.skipif(not BUILD, reason="LATTICINO_BUILD names no build folder")
def test_find_package(tmp_path):
    cmake = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True).stdout
    run(cmake, "--install", BUILD, "--prefix", tmp_path / "prefix", "--component", "library")
    assert (tmp_path / "prefix/include/latticino/ckks/evaluator.h").exists()
    app = tmp_path / "app"
    app.mkdir()
    (app / "CMakeLists.txt").write_text(PROJECT)
    (app / "app.cc").write_text(PROGRAM)
    run(cmake, "-S", app, "-B", app / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    run(cmake, "--build", app / "build")
    assert run(app / "build/app").strip() == "1024"
