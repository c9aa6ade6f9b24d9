#!/usr/bin/env python3
"""Hardware counters of the five passes of key switching, by Nsight Compute:

    python3 bench/counters.py FOLDER OUTPUT.json [LIMBS ...]

FOLDER holds bench_records. Each run of the profiler collects at most three counters of one launch
of each kernel, with cold caches and the clocks left alone. `latticino bench roofline RECORD OUTPUT.json`
sets them beside the formulas. `latticino bench counters` counts what other programs launch.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

GROUPS = (
    {"dram__bytes_read.sum": "counted_dram_read", "dram__bytes_write.sum": "counted_dram_write",
     "lts__t_bytes.sum": "counted_l2_bytes"},
    {"smsp__thread_inst_executed.sum": "counted_instructions", "smsp__inst_executed.sum": "counted_warp_instructions",
     "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_percent"},
    {"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active": "alu_percent",
     "sm__inst_executed_pipe_fmaheavy.avg.pct_of_peak_sustained_active": "multiply_percent",
     "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active": "matrix_percent"},
)
# Cases that run together. Each is recognised by its kernel.
CASES = (
    {"transform_rows": "intt_rows", "convert_tile": "mod_up", "key_inner": "key_inner",
     "mod_down_finish": "subtract_scale"},
    {"convert_tile": "mod_switch_tile"},
)
# Number of auxiliary primes of bench_records, and which launch of a kernel is measured.
AUX, LAUNCH = 12, 3


def profiler():
    """python/latticino/measure/ncu.py, without the package: its extension need not be built."""
    path = Path(__file__).resolve().parents[1] / "python" / "latticino" / "measure" / "ncu.py"
    spec = importlib.util.spec_from_file_location("ncu", path)
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, because its dataclasses look for their own module.
    sys.modules["ncu"] = module
    spec.loader.exec_module(module)
    return module


ncu = profiler()


def profiled(program, cases, limbs, metrics):
    """{case: {our name: value}} of one launch of each kernel of the cases."""
    only = ",".join(f"poly.{case}" for case in cases.values())
    command = [program, f"--limbs={limbs}", f"--only={only}", "--replays=1"]
    found = {}
    for launch in ncu.profile(command, list(metrics), ["--kernel-id", f":::{LAUNCH}"]).launches:
        kernel = next((k for k in cases if k in launch.kernel), None)
        if kernel is not None:
            values = {metrics[name]: value for name, value in launch.values.items()}
            found.setdefault(cases[kernel], {}).update(values)
    return found


def main():
    folder, output, limb_counts = sys.argv[1], sys.argv[2], [int(x) for x in sys.argv[3:]] or [47, 23, 7]
    device = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                            text=True).stdout.splitlines()[0]
    rows = []
    for limbs in limb_counts:
        for cases in CASES:
            counted = {}
            for metrics in GROUPS:
                try:
                    found = profiled(os.path.join(folder, "bench_records"), cases, limbs, metrics)
                except ncu.ProfilerError as why:
                    sys.exit(str(why))
                for case, values in found.items():
                    counted.setdefault(case, {}).update(values)
            for case, values in counted.items():
                total = values.get("counted_dram_read", 0) + values.get("counted_dram_write", 0)
                rows.append({"name": f"counters.{case}", "value": total, "unit": "bytes", "device": device,
                             "backend": "cuda", "mode": "profiled", "preset": "none",
                             "params": {"N": 65536, "limbs": limbs, "aux": AUX, "batch": 1},
                             **{k: round(v, 2) for k, v in values.items()},
                             "commit": os.environ.get("LATTICINO_COMMIT", "unknown"),
                             "date": time.strftime("%Y-%m-%d", time.gmtime())})
                print(f"{case:16} {limbs:3} limbs: " + ", ".join(f"{k} {v:.4g}" for k, v in values.items()), flush=True)
    with open(output, "w") as f:
        f.write("[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
