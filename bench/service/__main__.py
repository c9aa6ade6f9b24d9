"""Programs that attack a service, and one that spreads a batch: ``./latticino bench service-kills``, ``service-load``,
``service-soak``, ``service-scaling``."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from pathlib import Path

import kills
import load
import scaling
import soak
from latticino import errors
from latticino.measure import records

PROGRAMS = {"service-kills": kills, "service-load": load, "service-soak": soak,
            "service-scaling": scaling}


def parser() -> argparse.ArgumentParser:
    """The parser of the command, with a part for each program."""
    out = argparse.ArgumentParser(prog="latticino bench", description=__doc__)
    commands = out.add_subparsers(dest="what", required=True)
    for name, program in PROGRAMS.items():
        sub = commands.add_parser(name, description=program.__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
        program.add_options(sub)
        sub.add_argument("--record", type=Path, help="the JSON file to write rows to")
        sub.add_argument("--remark", help="what may have changed the figures: a member of each row")
    return out


def main(words: list[str]) -> int:
    """Returns the status: 1 if something was wrong or a target was missed."""
    args = parser().parse_args(words)
    # Services are stopped and folders removed in any case.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    warnings.simplefilter("ignore", errors.SecurityWarning)  # all sets here are small
    if args.record:
        records.require_writable(args.record)
    rows, good = PROGRAMS[args.what].run(args)
    if args.record:
        records.write(args.record, [{**row, "remark": args.remark} if args.remark else row for row in rows])
    if not good:
        print("something was wrong, or a stated target was missed", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
