"""`latticino bench`, `latticino tune`: runs the C++ programs of bench/ and checks stated targets."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from .. import _native, errors
from ..common import devices
from . import peer_environments, targets
from .records import Row, provenance, read, stamped

FOLDER = "LATTICINO_BENCH_DIR"  # set by the launcher in a checkout
PRECISION_SETS = "n16-d40-boot-v1,n16-d35-boot-v1,n16-d40-structured-v1"  # presets with targets
PEERS = ("tenseal", "openfhe")
BOOTSTRAP_SETS = ("n16-d40-boot-v1", "n16-d35-boot-v1")
# Sets of switching, with the slots that each is measured at on a GPU.
SWITCH_SETS = {"switch-n16-d40-fp64-v1,switch-n16-d35-fp64-v1": "64,256,1024,32768",
               "switch-n16-d40-precise-v1": "64,256,1024"}
SWITCH_CPU = "switch-n16-d40-v1"
TUNED_SETS = "n16-d40-boot-v1,n16-d35-boot-v1,n16-d30-boot-v1"
GATE_SETS = ("chameleon-630-legacy,chameleon-630-group3-legacy,tfhe-gates-v1,tfhe-gates-v2,"
             "tfhe-2-2-v1,tfhe-2-2-v2,tfhe-2-2-group3-v1,tfhe-2-2-group3-fft64-v1,"
             "chameleon-500-legacy,chameleon-592-legacy")
GATE_BATCHES = {"cpu": "1,8", "cuda": "1,2,8,32,132,1024,4096"}


def precision(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures every kind of message and a chain of operations. The program checks its targets."""
    options = {"preset": args.preset or PRECISION_SETS, "device": device_of(args.device), "threads": args.threads}
    if args.runs:
        options |= {"runs": args.runs, "chain": args.runs if args.runs < 20 else 50}
    return run_program("bench_precision", options)


def cpu(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures operations and bootstrapping on one thread and on all, and compares them with other libraries that are
    installed."""
    threads = sorted({1, args.threads or os.cpu_count() or 1})
    options = {"threads": ",".join(map(str, threads)), "preset": args.preset or "", "runs": args.runs or 5}
    if args.runs:
        options["bootstraps"] = args.runs
    rows, good = run_program("bench_cpu", options)
    return rows + ([] if args.no_peers else peer_environments.measured(PEERS)), good


def gpu(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures bootstrapping and operations replayed as graphs, the client, and every operation record. Also reports
    the targets."""
    device = device_of(args.device or "cuda")
    if device != "cuda":
        raise errors.DeviceError.explain("bench gpu", f"--device {device}", "cuda", "use bench cpu for the CPU")
    tuning = {"tuning": args.tuning} if args.tuning else {}
    rows: list[Row] = []
    good = True
    boots = [{"preset": name} for name in ((args.preset,) if args.preset else BOOTSTRAP_SETS)]
    for chosen in [*boots, boots[0] | {"minimal-keys": 1}]:
        more, well = run_program("bench_bootstrap", {"device": device, **chosen, "runs": args.runs or 20, "replay": 1,
                                                     **tuning})
        rows, good = rows + more, good and well
    for name, options in (("bench_operations", {"runs": args.runs or 15}),
                          ("bench_client", {"runs": args.runs or 15}),
                          ("bench_records", {"replays": args.runs or 15})):
        more, well = run_program(name, {"device": device, **options, **tuning})
        rows, good = rows + more, good and well
    met = [targets.check(rows), targets.check_memory(rows), targets.check_minimal_keys(rows)]
    return rows, all(met) and good


def gates(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures gates and tables of TFHE, one and many at a time, in each arithmetic that a set has. Also reports the
    targets."""
    device = device_of(args.device)
    options = {"device": device, "threads": args.threads or 1, "mode": "replayed", "batches": GATE_BATCHES[device],
               "runs": args.runs or 11}
    rows: list[Row] = []
    good = True
    for arithmetic in ("exact", "fft64"):
        sets = [s for s in (args.preset or GATE_SETS).split(",") if _computes_in(s, arithmetic)]
        if sets:
            more, well = run_program("bench_gates", options | {"arithmetic": arithmetic, "sets": ",".join(sets)})
            rows, good = rows + more, good and well
    return rows, targets.check_gates(rows) and good


def _computes_in(name: str, arithmetic: str) -> bool:
    return arithmetic == "exact" or _native.tfhe_preset(name).has_fft64


def ablation(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures key switching and bootstrapping while one step of the design after the other is added, and with one left
    out. Then rotations whose inner product runs beside the conversion after it: a CPU has no such form."""
    options = {"device": device_of(args.device or "cuda"), "runs": args.runs or 9}
    rows, good = run_program("bench_ablation", options | ({"preset": args.preset} if args.preset else {}))
    forms = {} if options["device"] == "cuda" else {"forms": "whole,split"}
    more, well = run_program("bench_pipelining", {**options, **forms})
    return rows + more, good and well


def systems(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures bootstrapping of every parameter set, and its time per level that it leaves."""
    chosen = [args.preset] if args.preset else [p for p in _native.preset_names() if is_system(p)]
    rows: list[Row] = []
    good = True
    for name in chosen:
        options = {"device": device_of(args.device or "cuda"), "preset": name, "runs": args.runs or 7, "replay": 1}
        more, well = run_program("bench_bootstrap", options)
        rows, good = rows + more, good and well
    for row in rows:
        left = row["levels_left"]
        print(f"{row['preset']:24} {row['value']:8.2f} ms, {left:2} levels left: "
              f"{row['value'] / left:6.3f} ms per level, "
              f"mean {row['mean_error_bits']:.1f}, worst {row['max_error_bits']:.1f} bits")
    return rows, good


def switching(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures functions of slots by tables: errors, which the program checks, times and memory. On a CPU it measures a
    sample."""
    device = device_of(args.device)
    if device == "cuda":
        sets = {args.preset: "64,256,1024,32768"} if args.preset else SWITCH_SETS
        options = {"values": 10_000, "runs": args.runs or 9, "replay": 1}
    else:
        sets, options = {args.preset or SWITCH_CPU: "64"}, {"values": 64, "runs": args.runs or 1}
    rows: list[Row] = []
    parts: list[Path] = []
    good = True
    for i, (names, slots) in enumerate(sets.items()):
        part = args.record.with_name(f"{args.record.name}.part{i}") if args.record else None
        more, well = run_program("bench_switch", {"device": device, "threads": args.threads, "sets": names,
                                                  "slots": slots, **options}, part)
        rows, good = rows + more, good and well
        parts += [part] if part else []
    for part in parts:  # so that a run that is stopped leaves them
        part.unlink()
    return rows, targets.check(rows) and good


def is_system(name: str) -> bool:
    """The presets with few digits: all keys of a set with 45 digits would take more memory than a GPU has."""
    params = _native.preset(name)
    return params.has_bootstrap and params.log_n == 16 and "structured" not in name and params.dnum < 10


def transforms(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Every form of a GPU's transforms: one limb at 2^12 to 2^16, as papers have it, and the shapes of operations. Then
    the forms of Chameleon's paper beside ours."""
    device_of("cuda")  # raises DeviceError if there is none
    rows: list[Row] = []
    good = True
    for program, shape in (("bench_transforms", {"log-n": "12,13,14,15,16", "limbs": "1", "polynomials": "1"}),
                           ("bench_transforms", {}), ("bench_transform_forms", {})):
        more, well = run_program(program, {**shape, "runs": args.runs or 15})
        rows, good = rows + more, good and well
    return rows, good


def ceilings(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """The most that a device can do: products, doubles, and bytes per second from each level of its memory. On a CPU by
    one thread and by all."""
    device = device_of(args.device)
    rows: list[Row] = []
    good = True
    for threads in (1,) if device == "cuda" else sorted({1, args.threads or os.cpu_count() or 1}):
        options = {"device": device, "threads": threads, "runs": args.runs or 9}
        if device == "cpu":
            options["clock"] = "processor"  # because other programs may run at the same time
        more, well = run_program("bench_ceilings", options)
        rows, good = rows + more, good and well
    return rows, good


def repacking(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Three ways to multiply LWE masks with the encrypted secret on a CPU: key switches, products, keys and times."""
    device = device_of(args.device or "cpu")
    if device != "cpu":
        raise errors.UnsupportedError.explain("bench repacking", f"--device {device}", "cpu", "leave the device out")
    options: dict[str, str | int] = {"threads": args.threads or 1, "runs": args.runs or 3}
    return run_program("bench_repack", options | ({"sets": args.preset} if args.preset else {}))


def tune(presets: str | None, table: Path, tfhe_sets: str | None = None, batches: str | None = None) -> int:
    """Measures all kernel variants and writes the table of the fastest."""
    program = path_of("bench_tune")
    presets = TUNED_SETS if presets is None else presets
    options = {"tfhe-sets": tfhe_sets, "batches": batches}
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return subprocess.call([str(program), f"--presets={presets}", f"--table={table}", *given])


def device_of(name: str | None) -> str:
    kind, index = devices.choose(name)
    if index:
        raise errors.UnsupportedError.explain("bench", f"--device {name}", "cpu or cuda",
                                              f"set CUDA_VISIBLE_DEVICES={index} and say cuda")
    return kind


def path_of(name: str) -> Path:
    folder = os.environ.get(FOLDER)
    path = Path(folder) / name if folder else None
    if path is None or not path.exists():
        raise errors.UnsupportedError.explain(
            "bench", "a package without the benchmark programs", f"{name} of a checkout's build",
            "run ./latticino bench or ./latticino tune in a checkout of the repository")
    return path


def run_program(name: str, options: dict[str, str | int], part: Path | None = None) -> tuple[list[Row], bool]:
    """The program's rows, and whether it succeeded (status 0, not 1). ``part``: a file that the program writes its rows
    to, and that is kept."""
    program = path_of(name)
    if part:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        output = part or Path(folder) / "rows.json"
        command = [str(program), f"--output={output}", *(f"--{k}={v}" for k, v in options.items())]
        status = subprocess.call(command, env=dict(os.environ, LATTICINO_COMMIT=provenance()["commit"]))
        if status not in (0, 1) or not output.exists():
            raise errors.Error.explain("bench", f"status {status} from {name}", "a run to the end",
                                       "see its message above")
        return [stamped(row) for row in read(output)], status == 0
