"""Runs the programs of `./latticino test --sanitize` on a GPU, and writes a record in the format of docs/lab/index.md.
"""

import importlib.util
import json
import re
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

SOURCES = ("src", "include", "cmake", "tests", "CMakeLists.txt")  # sources of the programs that run
# Memcheck and racecheck end each program with such a line.
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ")


def _load(path):
    """Loads a module of the package without the package, because the extension is not built yet."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_provenance = _load(CHECKOUT / "python" / "latticino" / "_provenance.py")


def racecheck_parts():
    """Tests, and options that choose kernels: all at once they ask racecheck for over 100 GB of host memory.

    `reorder`, which turns words for transfers, asks for over 50 GB alone: it has tests of its own, of few transfers.
    Where a kernel of clusters runs, all are chosen: racecheck loses the context of one that runs without it."""
    def option(name, kernels):
        return [word for k in kernels for word in (name, "kernel_substring=" + k)]
    tfhe = ("rotate", "fourier", "switch", "byte_digits", "lwe_", "sample_extract")
    groups = (["transform_rows"], ["transform_columns"], ["convert"], ["key_inner"], ["mod_down_finish"],
              ["dot", "tensor", "linear", "automorphism"])
    chosen = [option("--kernel-name", g) for g in groups]
    chosen.append(option("--kernel-name-exclude", [*(name for group in groups for name in group), "reorder"]))
    return [("*/CudaSanitizeTransfers.*", []), ("*/CudaSanitizeTfhe.*", option("--kernel-name", tfhe)),
            ("*/CudaSanitizeForms.*", option("--kernel-name", ["transform_"])),
            *[("*/CudaSanitizeDegree.*/N16:*/CudaSanitizeDegree.*/N17", kernels) for kernels in chosen],
            *[("*/CudaSanitizeVariant.*", option("--kernel-name", [k])) for k in ("convert", "key_inner")]]


def errors_in(lines):
    """The sum of all summaries; None if no tool wrote one, for example because it crashed."""
    found = [int(m.group(1)) for m in map(SUMMARY.search, lines) if m]
    return sum(found) if found else None


def kernels_in(options):
    """The kernels that compute-sanitizer's options choose: all kernels if they name none."""
    chosen = {}
    for name, value in zip(options[::2], options[1::2]):
        what = {"--kernel-name": "kernels", "--kernel-name-exclude": "kernels_left_out"}[name]
        chosen.setdefault(what, []).append(value.partition("=")[2])
    return {"kernels": "all", **chosen}


class SanitizerRecord:
    """Rows of one run, written after each program, so that a run that is stopped keeps what it did. Without a path
    nothing is written."""

    def __init__(self, path):
        self.path, self.rows, self.start = path and Path(path), [], time.monotonic()

    def add(self, tool, tests, failed, *, errors=None, left_out=0, device=None, architectures=None, options=None):
        """Adds one program. `failed`: its status. `errors`: the count of the tool, if it counts. `options`: those of
        the program."""
        now = time.monotonic()
        row = {"name": "sanitize." + tool, "value": int(failed != 0) if errors is None else errors,
               "unit": "failed runs" if errors is None else "errors", "tests": tests,
               **({} if options is None else kernels_in(options)),
               "failed": bool(failed), "left_out": left_out, "device": device or _provenance.cpu_name(),
               "architectures": architectures or [], "seconds": round(now - self.start, 1),
               **_provenance.commit(SOURCES), "date": time.strftime("%Y-%m-%d", time.gmtime())}
        self.start = now
        self.rows.append(row)
        if self.path:
            write(self.path, self.rows)


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join("  " + json.dumps(r) for r in rows) + "\n]\n")


def write_tidy(path, found, files, seconds):
    """Writes the findings of `./latticino lint --tidy`, and the number of files."""
    write(Path(path), [{"name": "lint.tidy", "value": found, "unit": "findings", "files": files, "failed": found > 0,
                        "device": _provenance.cpu_name(), "seconds": round(seconds, 1), **_provenance.commit(SOURCES),
                        "date": time.strftime("%Y-%m-%d", time.gmtime())}])


def write_package(path, source, wheels, cuda):
    """Writes the sizes of the sdist and of wheels, and how long wheels took to build and to install."""
    base = {"device": _provenance.cpu_name(), **_provenance.commit((*SOURCES, "python", "pyproject.toml")),
            "date": time.strftime("%Y-%m-%d", time.gmtime())}
    rows = [{"name": "package.sdist", "value": source.stat().st_size, "unit": "bytes", "file": source.name, **base}]
    for wheel in wheels:
        rows.append({"name": "package.wheel", "value": wheel.size, "unit": "bytes", "file": wheel.path.name, "cuda": cuda,
                     "built_seconds": round(wheel.built, 1), "installed_seconds": round(wheel.installed, 1),
                     "failed": wheel.failed, **base})
    write(Path(path), rows)
