"""The launcher's second run of the C++ tests, on the GPU."""

import importlib.util
import re
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def launcher():
    loader = SourceFileLoader("latticino_launcher", str(ROOT / "latticino"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("gpu, built", [(True, "cuda"), (True, "cpu"), (False, "cuda")])
def test_tests_run_again_on_the_gpu_where_one_is(launcher, monkeypatch, gpu, built):
    runs = []
    monkeypatch.setattr(launcher, "setup", lambda testing: "folder")
    monkeypatch.setattr(launcher, "gpu", lambda: gpu)
    monkeypatch.setattr(launcher, "cuda_arguments", lambda testing: (built, []))
    monkeypatch.setattr(launcher.subprocess, "call", lambda command, **_: 0)

    def ctest(folder, environ=None, *options):
        runs.append((environ or {}).get("LATTICINO_TEST_DEVICE"))
        return 8 if environ else 0

    monkeypatch.setattr(launcher, "ctest", ctest)
    again = gpu and built == "cuda"
    assert launcher.run_tests([]) == (8 if again else 0)  # what the second run found counts
    assert runs == ([None, "cuda"] if again else [None])


def test_programs_that_follow_the_device_are_labelled(launcher):
    """Those that include a world of CKKS, whose backend is test_backend(); the filter leaves such tests in."""
    users = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("*_test.cc")
             if re.search(r'#include "(?:\w+/)*(?:ckks|bootstrap|switch)_world\.h"', path.read_text())}
    labelled = re.search(r"set_tests_properties\(([\w ]+) PROPERTIES LABELS device\)",
                         (ROOT / "cmake" / "tests.cmake").read_text())
    assert {"unit", "property"} <= users and set(labelled[1].split()) == users
    environ, options = launcher.test_device()
    assert environ["LATTICINO_TEST_DEVICE"] == "cuda" and "^device$" in options
    left_out = [part.strip("*") for part in environ["GTEST_FILTER"].lstrip("-").split(":")]
    text = "".join((ROOT / "tests" / "unit" / "switch" / name).read_text()
                   for name in ("round_trip_test.cc", "matvec_test.cc"))
    suites = re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", text, re.MULTILINE)
    assert ("SwitchWords", "AreTheSameOnEveryBackend") in suites
    assert not [s for s in suites if any(word in f"{s[0]}.{s[1]}" for word in left_out)]
