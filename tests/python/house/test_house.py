"""The rules of CONTRIBUTING.md that a program can check."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Each folder may include itself and the folders before it. Every folder may include errors.h.
ROOMS = ["math", "crypto", "params", "poly", "ops", "backend", "runtime", "rlwe", "tfhe", "conformance", "ckks", "switch", "io", "session", "wasm"]
ALLOWED = {
    "math": {"math"}, "crypto": {"math", "crypto"},
    "poly": {"math", "crypto", "poly"},
    "params": {"math", "crypto", "poly", "params"},
    **{room: set(ROOMS[: i + 1]) for i, room in enumerate(ROOMS) if i >= 4},
}


def tracked(*suffixes):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [p for p in paths if p.is_file() and (not suffixes or p.suffix in suffixes)]


def includes(path):
    return re.findall(r'^\s*#include "([^"]+)"', path.read_text(), re.MULTILINE)


def test_includes_point_down():
    upward = []
    for path in tracked(".cc", ".h", ".cu", ".cuh"):
        parts = path.relative_to(ROOT).parts
        if parts[0] != "src":
            continue
        assert parts[1] in ALLOWED, f"{path}: a room without a place in the order"
        for name in includes(path):
            room = name.split("/")[0]
            # The interface belongs to the session layer. Errors and ranges, which it shares with all layers, have no
            # other includes.
            public = room == "latticino" and name not in ("latticino/errors.h", "latticino/values.h")
            if public and parts[1] != "session":
                upward.append(f"{'/'.join(parts)} includes {name}")
            if room in ROOMS and room not in ALLOWED[parts[1]] and name != "math/errors.h":
                upward.append(f"{'/'.join(parts)} includes {name}")
    assert upward == []


def test_schemes_never_name_a_backend():
    named = [f"{p.relative_to(ROOT)}: {n}" for p in tracked(".cc", ".h")
             if p.relative_to(ROOT).parts[:2] in {("src", r) for r in ("rlwe", "tfhe", "ckks", "switch", "session", "io")}
             for n in includes(p) if n.startswith(("backend/cpu", "backend/cuda"))
             and (p.name, n) != ("device.cc", "backend/cpu_choice.h")]  # here a context chooses its device
    assert named == []


def test_public_headers_include_each_other_only():
    foreign = [f"{p.name}: {n}" for p in sorted((ROOT / "include/latticino").glob("*.h"))
               for n in includes(p) if not n.startswith("latticino/")]
    assert foreign == []


def test_kernels_know_neither_levels_nor_scales():
    found = [f"{p.relative_to(ROOT)}: {n}" for p in tracked(".cu", ".cuh", ".cc", ".h")
             if "backend" in p.relative_to(ROOT).parts[:2]
             for n in includes(p) if n.startswith(("params/", "rlwe/", "ckks/"))]
    assert found == []


def test_the_client_for_browsers_uses_what_its_standard_library_has():
    """The sources that cmake/wasm.cmake lists: Debian's Emscripten has none of these (docs/browser.md)."""
    text = (ROOT / "cmake" / "wasm.cmake").read_text()
    left_out = re.compile(re.search(r'EXCLUDE REGEX "([^"]+)"', text)[1])
    names = [pattern for pattern in re.findall(r"src/[\w/*]+\.cc", text) if "|" not in pattern]
    sources = {path for pattern in names for path in ROOT.glob(pattern) if not left_out.search(str(path))}
    assert len(sources) > 100
    banned = re.compile(r"\bstd::(?:ranges::|bit_cast\b|format\b)")
    found = [f"{path.relative_to(ROOT)}: {match.group()}" for path in sorted(sources) for match in banned.finditer(path.read_text())
             if path.name != "decimal.cc"]
    assert found == []


def test_random_numbers_come_from_one_place():
    banned = re.compile(r"\b(std::mt19937|std::rand|srand|std::random_device)\b")
    found = [str(p.relative_to(ROOT)) for p in tracked(".cc", ".h", ".cu", ".cuh")
             if p.relative_to(ROOT).parts[0] == "src" and banned.search(p.read_text())]
    assert found == []


MAX_FILES = 30  # so many files of one folder that a reader keeps an overview


def test_no_folder_is_crowded():
    held = Counter(p.parent.relative_to(ROOT).as_posix() for p in tracked()
                   if p.relative_to(ROOT).parts[0] in ("src", "include", "python", "tests"))
    held += Counter(p.parent.relative_to(ROOT).as_posix() for p in tracked(".cc", ".h", ".cu", ".py", ".sh")
                    # Apart from records, pages and notebooks.
                    if p.relative_to(ROOT).parts[0] in ("bench", "docs", "examples"))
    assert min(held["src/params"], held["bench"], held["docs"]) > 0
    assert {folder: n for folder, n in held.items() if n > MAX_FILES} == {}


def test_headers_within_a_room_do_not_include_in_circles():
    """The headers of params, ckks and io, where the folder itself counts as a sub-folder too."""
    for room in ("params", "ckks", "io"):
        uses = {}
        for path in tracked(".h"):
            parts = path.relative_to(ROOT).parts
            if parts[:2] != ("src", room):
                continue
            below = uses.setdefault(parts[2:-1], set())
            for name in includes(path):
                used = tuple(name.split("/")[:-1])
                if used[:1] == (room,) and used[1:] != parts[2:-1]:
                    below.add(used[1:])
        assert len(uses) > 1
        while uses:
            free = [r for r, below in uses.items() if not below & uses.keys()]
            assert free, f"{room}: {uses}"
            for r in free:
                del uses[r]
