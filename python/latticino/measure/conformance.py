"""`latticino conformance`: does this device compute what the records say, bit for bit?"""

from __future__ import annotations

import argparse
import time

from .. import _native, devices
from ..context import preset, presets

SAMPLED = 5  # levels of a large set, both ends included


def run(args: argparse.Namespace) -> int:
    """Compares the device with the plain CPU reference and with big integers; 0 if all is equal."""
    kind, index = devices.choose(args.device)
    names = [args.preset] if args.preset else presets()
    failed = 0
    for name in names:
        params = preset(name)
        # Every level of the small sets; of the large ones a sample unless asked for.
        levels = 0 if args.all_levels or params.log_n <= 12 else SAMPLED
        if not args.preset and not args.all_levels and params.log_n > 12:
            continue
        start = time.monotonic()
        report = _native.conformance(params, kind, index, args.threads, levels)
        verdict = "equal" if report.passed else f"{report.failures} DIFFERENCES"
        print(f"{name:34} {kind}: {report.comparisons:>7,} comparisons, {verdict} "
              f"({time.monotonic() - start:.1f} s)", flush=True)
        if not report.passed:
            print(report)
            failed += 1
    print("every result is equal, bit for bit" if not failed else f"{failed} of {len(names)} sets differ")
    return 1 if failed else 0
