"""`latticino bench precision|cpu|gpu`: runs the C++ programs of bench/ and checks stated targets."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from .. import devices, errors
from . import peer_environments
from .records import Row, provenance, read, stamped

FOLDER = "LATTICINO_BENCH_DIR"  # set by the launcher of a checkout
PRECISION_SETS = "n16-d40-boot-v1,n16-d35-boot-v1,n16-d40-structured-v1"  # those with targets
PEERS = ("tenseal", "openfhe")
# Full-slot bootstrapping of n16-d40-boot-v1 on an H200.
MOST_MS, MOST_BYTES = 21.0, 8 * 2**30


def precision(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Every kind of message and a chain; the program checks its targets."""
    options = {"preset": args.preset or PRECISION_SETS, "device": _device(args.device), "threads": args.threads}
    if args.runs:
        options |= {"runs": args.runs, "chain": args.runs if args.runs < 20 else 50}
    return _run("bench_precision", options)


def cpu(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Operations and bootstrapping on one thread and on all, and installed peers beside them."""
    threads = sorted({1, args.threads or os.cpu_count() or 1})
    options = {"threads": ",".join(map(str, threads)), "preset": args.preset or "", "runs": args.runs or 5}
    if args.runs:
        options["bootstraps"] = args.runs
    rows, good = _run("bench_cpu", options)
    return rows + ([] if args.no_peers else peer_environments.measured(PEERS)), good


def gpu(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Bootstrapping replayed as one graph, then every operation record."""
    device = _device(args.device or "cuda")
    if device != "cuda":
        raise errors.DeviceError.explain("bench gpu", f"--device {device}", "cuda", "use bench cpu for the CPU")
    options = {"device": device, "preset": args.preset or "n16-d40-boot-v1", "runs": args.runs or 20, "replay": 1}
    rows, good = _run("bench_bootstrap", options)
    for row in rows:
        if row["preset"] == "n16-d40-boot-v1" and "H200" in row["device"]:
            met = row["value"] <= MOST_MS and row["peak_bytes"] <= MOST_BYTES
            print(f"targets {MOST_MS} ms and {MOST_BYTES / 2**30:.0f} GiB: {'met' if met else 'MISSED'}")
            good &= met
    more, well = _run("bench_records", {"device": device, "replays": args.runs or 15})
    return rows + more, good and well


def _device(name: str | None) -> str:
    kind, index = devices.choose(name)
    if index:
        raise errors.UnsupportedError.explain("bench", f"--device {name}", "cpu or cuda",
                                              f"set CUDA_VISIBLE_DEVICES={index} and say cuda")
    return kind


def _program(name: str) -> Path:
    folder = os.environ.get(FOLDER)
    path = Path(folder) / name if folder else None
    if path is None or not path.exists():
        raise errors.UnsupportedError.explain(
            "bench", "a package without the benchmark programs", f"{name} of a checkout's build",
            "run ./latticino bench in a checkout of the repository")
    return path


def _run(name: str, options: dict[str, str | int]) -> tuple[list[Row], bool]:
    """Its rows, and whether it was satisfied (status 0, not 1)."""
    program = _program(name)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.json"
        command = [str(program), f"--output={output}", *(f"--{k}={v}" for k, v in options.items())]
        status = subprocess.call(command, env=dict(os.environ, LATTICINO_COMMIT=provenance()["commit"]))
        if status not in (0, 1) or not output.exists():
            raise errors.Error.explain("bench", f"status {status} from {name}", "a run to the end",
                                       "see its message above")
        return [stamped(row) for row in read(output)], status == 0
