"""Times of blind rotations in both arithmetics, from records, as lines of src/backend/tuned/sm_90.txt.

    python bench/rotation_times.py            # prints the lines
    python bench/rotation_times.py --write    # puts them into the table

A context of TFHE chooses its arithmetic by them (src/tfhe/arithmetic/rule.h). A time is that of a batch of gates or
tables, key switch included, in the fastest form of the kernels that a record of the H200 has.
"""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "src" / "backend" / "tuned" / "sm_90.txt"
RECORDS = ("2026-11-22-h200-tfhe-latency", "2026-11-22-h200-tfhe-fp64-latency", "2026-11-22-h200-tfhe-fp64-group3",
           "2026-11-23-h200-gates", "2026-11-23-h200-gates-exact")
# log2 N, k + 1, primes, 16 levels + keys per step, in the order of tfhe::rotation_shape; a test
# compares both.
SHAPES = {"tfhe-gates-v1": (10, 3, 1, 33), "chameleon-500-legacy": (10, 2, 1, 33),
          "chameleon-630-legacy": (10, 2, 1, 49), "chameleon-592-legacy": (11, 2, 1, 49), "tfhe-2-2-v1": (11, 2, 2, 17),
          "tfhe-2-2-group3-v1": (11, 2, 2, 23), "tfhe-2-2-group3-fft64-v1": (11, 2, 2, 23)}
HEAD = "# Rotations: the records " + ", ".join(RECORDS)


def times() -> dict[tuple[int, ...], list[int]]:
    """{(shape, count): [microseconds exact, microseconds in FP64]}; 0 where none was measured."""
    found: dict[tuple[int, ...], list[int]] = {}
    for name in RECORDS:
        for row in json.loads((ROOT / "bench" / "records" / f"{name}.json").read_text()):
            if row["name"] not in ("tfhe.gate_latency", "tfhe.gate_throughput") or row["preset"] not in SHAPES:
                continue
            count, params = row["params"]["batch"], row["params"]
            assert "H200" in row["device"]
            us = math.floor(1e3 * row["value"] if row["unit"] == "ms" else 1e6 * count / row["value"])
            both = found.setdefault((*SHAPES[row["preset"]], count), [0, 0])
            at = ("exact", "fft64").index(params["arithmetic"])
            both[at] = min(filter(None, (both[at], us)))
    return found


def lines() -> list[str]:
    return [HEAD, *(f"rotation {log_n}  {a} {b} {c} {count} = {exact} {fourier}"
                    for (log_n, a, b, c, count), (exact, fourier) in sorted(times().items()))]


def main() -> None:
    if "--write" not in sys.argv[1:]:
        print("\n".join(lines()))
        return
    kept = [line for line in TABLE.read_text().splitlines() if not line.startswith(("rotation ", "# Rotations:"))]
    TABLE.write_text("\n".join([*kept, *lines()]) + "\n")


if __name__ == "__main__":
    main()
