"""CMake installs a static and a shared library that find_package(latticino) finds; the examples compute with both."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = os.environ.get("LATTICINO_BUILD")  # the launcher names the build folder
ROOT = Path(__file__).resolve().parents[3]
PUBLIC = sorted(p.name for p in (ROOT / "include/latticino").glob("*.h"))
# Small sets, because this tests the examples and not their speed.
EXAMPLES = {
    "bootstrapping": ["test-n10-boot-insecure"], "leveled": ["test-n10-leveled-insecure"],
    "tfhe_integers": ["test-tfhe-2-2-tiny-insecure"], "switching": ["test-n10-boot-insecure"], "own_parameters": [],
}
pytestmark = pytest.mark.skipif(not BUILD, reason="LATTICINO_BUILD names no build folder")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def cmake():
    return shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def installed(kind, prefix):
    components = {"static": ["library"], "shared": ["shared", "headers"]}[kind]
    if kind == "shared":
        run(cmake(), "--build", BUILD, "--target", "latticino_shared")
    for component in components:
        run(cmake(), "--install", BUILD, "--prefix", prefix, "--component", component)
    return prefix


@pytest.fixture(scope="module")
def prefixes(tmp_path_factory):
    return {kind: installed(kind, tmp_path_factory.mktemp(kind)) for kind in ("static", "shared")}


@pytest.mark.parametrize("kind", ["static", "shared"])
def test_only_public_headers_are_installed(prefixes, kind):
    include = prefixes[kind] / "include"
    found = sorted(str(p.relative_to(include)) for p in include.rglob("*") if p.is_file())
    assert found == sorted(f"latticino/{name}" for name in [*PUBLIC, "version.h"])
    libraries = {p.suffix for p in prefixes[kind].rglob("liblatticino.*") if not p.is_symlink()}
    assert libraries & {".a"} == ({".a"} if kind == "static" else set())


@pytest.mark.slow
def test_every_header_compiles_alone(prefixes, tmp_path):
    for name in [*PUBLIC, "version.h"]:
        source = tmp_path / f"{name}.cc"
        source.write_text(f"#include <latticino/{name}>\n#include <latticino/{name}>\nint main() {{}}\n")
        run(compiler(), "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", "-I",
            prefixes["static"] / "include", source)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g++", "clang++", "clang++-19"])
@pytest.mark.parametrize("standard", ["c++20", "c++2b"])
def test_programs_compile_without_a_warning(prefixes, name, standard):
    """Before, options by name and the comparison of two encrypted arrays gave warnings."""
    if not shutil.which(name):
        pytest.skip(f"no {name}")
    run(name, f"-std={standard}", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Wshadow", "-Werror",
        "-fsyntax-only", "-I", prefixes["static"] / "include", ROOT / "tests/programs/strict.cc")


PARENT = """
cmake_minimum_required(VERSION 3.24)
project(parent LANGUAGES CXX)
add_custom_target(docs)
foreach(name unit_tests endings array_programs empty)
  add_executable(${name} main.cc)
endforeach()
add_subdirectory(@ROOT@ latticino EXCLUDE_FROM_ALL)
add_executable(app main.cc)
target_link_libraries(app PRIVATE latticino::latticino)
install(TARGETS app)
"""


def test_a_project_can_contain_this_one(tmp_path):
    """Before, its tests came along: they needed GoogleTest and took the names of other targets. So did its build type
    and what it installs."""
    (tmp_path / "CMakeLists.txt").write_text(PARENT.replace("@ROOT@", str(ROOT)))
    (tmp_path / "main.cc").write_text("#include <latticino/latticino.h>\nint main() { return latticino::version()[0] != '0'; }\n")
    run(cmake(), "-S", tmp_path, "-B", tmp_path / "build", "-DLATTICINO_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    commands = {entry["file"]: entry["command"]
                for entry in json.loads((tmp_path / "build/compile_commands.json").read_text())}
    own = commands.pop(str(tmp_path / "main.cc"))
    assert str(ROOT / "include") in own and "ffp-contract" not in own and str(ROOT / "src") not in own
    assert all(" -O3 " in command for name, command in commands.items() if name.startswith(str(ROOT / "src/")))
    cache = (tmp_path / "build/CMakeCache.txt").read_text()
    assert re.search(r"^CMAKE_BUILD_TYPE:STRING=$", cache, re.MULTILINE)
    assert "liblatticino" not in (tmp_path / "build/cmake_install.cmake").read_text()
    assert not (tmp_path / "build/latticino/latticino-config.cmake").exists()


def snippets():
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path.stem in ("architecture", "cpp_api"):  # code inside the library; declarations
            continue
        for i, block in enumerate(re.findall(r"^```cpp\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)):
            yield pytest.param(block, id=f"{path.stem}-{i}")


@pytest.mark.slow
@pytest.mark.parametrize("block", snippets())
def test_snippets_of_the_documentation_compile(prefixes, tmp_path, block):
    lines = block.splitlines()
    outside = [line for line in lines if line.startswith(("#include", "namespace"))]
    inside = [line for line in lines if line not in outside]
    source = tmp_path / "snippet.cc"
    source.write_text("\n".join([
        "#include <latticino/latticino.h>", "#include <cmath>", *(x for x in outside if x.startswith("#")),
        "namespace lt = latticino;", "double sigmoid(double v);",
        "lt::Array program(const lt::Array& x, const lt::Array& y);",
        "void snippet(const lt::Array& x, const lt::Array& y) { {", *inside, "} }", ""]))
    run(compiler(), "-std=c++20", "-fsyntax-only", "-I", prefixes["static"] / "include", source)


def compiler():
    return os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


@pytest.mark.slow
def test_examples_build_and_run(tmp_path):
    """With the static library, then with the shared one instead: the same objects, linked again."""
    prefix, folder = tmp_path / "prefix", tmp_path / "build"
    objects = []
    for kind in ("static", "shared"):
        shutil.rmtree(prefix, ignore_errors=True)
        installed(kind, prefix)
        run(cmake(), "-S", ROOT / "examples", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        # The library's own compiler flags are not passed on to users.
        commands = (folder / "compile_commands.json").read_text()
        assert "ffp-contract" not in commands and "std=c++20" in commands.replace("gnu++", "c++")
        run(cmake(), "--build", folder)
        objects.append({path: path.stat().st_mtime_ns for path in folder.rglob("*.o")})
        for name, arguments in EXAMPLES.items():
            run(folder / name, *arguments)
        needed = run("readelf", "-d", folder / "bootstrapping") if shutil.which("readelf") else None
        if needed is not None:
            assert ("liblatticino" in needed) == (kind == "shared")
    assert len(objects[0]) == len(EXAMPLES) and objects[0] == objects[1]  # both have the same headers and flags


def test_every_example_is_run():
    assert sorted(EXAMPLES) == sorted(p.stem for p in (ROOT / "examples").glob("*.cc"))


def test_the_first_program_is_short():
    assert len((ROOT / "examples/bootstrapping.cc").read_text().splitlines()) <= 40


def declared():
    """Names of classes and functions that public headers mark LATTICINO_API."""
    text = "\n".join((ROOT / "include/latticino" / name).read_text() for name in PUBLIC) + "version("
    names = set(re.findall(r"LATTICINO_API[^;{(]*?\b(\w+|operator\S+?)\s*(?:[({]|:(?!:))", text))
    return names | {"version"}


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
def test_the_shared_library_exports_public_names_only(prefixes):
    library = next(p for p in prefixes["shared"].rglob("liblatticino.so*") if not p.is_symlink())
    exported = run("nm", "-D", "--defined-only", "-C", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in exported if len(line.split(maxsplit=2)) == 3]
    assert len(names) > 150
    foreign = []
    for name in names:
        plain = re.sub(r"^(typeinfo (name )?for|vtable for) ", "", name)
        plain = re.sub(r"\[abi:\w+\]", "", plain)
        found = re.match(r"latticino::(?:detail::)?(operator[^(]+|\w+)", plain)
        if not found or found[1].strip() not in declared() or plain.startswith("latticino::session"):
            foreign.append(name)
    assert foreign == []
