"""A service under load on one machine, over loopback: times of the front, large uploads, and the rate of jobs.

    ./latticino bench service-load --record FILE

- ``front``: a thousand connections send 200 requests per second in all while 10,000 jobs wait and workers, which are
  niced, have work: half of the requests, and 99 of 100, take so long at most, by route.
- ``uploads``: a hundred bundles of 256 MB at the same time: the most memory that the front has.
- ``rate``: one tenant with a full queue: the rate of jobs, beside that of the program without a service. With
  ``--device cuda`` on a GPU, for ``--programs helr,large``, where ``--sharing 2`` lets two workers share it. With
  ``--turns 2`` the jobs are those of two tenants in turn, so that freed memory is cleared before each.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import rate
import steady
import uploads
from latticino.common.options import count
from latticino.measure.records import Row, stamped
from options import positive
from samples import PROGRAMS

PARTS = ("front", "uploads", "rate")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--part", choices=PARTS, help="this one alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=count(1), default=2)
    parser.add_argument("--connections", type=count(1), default=1000)
    parser.add_argument("--rate", type=positive, default=200.0, help="requests per second of all connections")
    parser.add_argument("--tenants", type=count(1), default=200)
    parser.add_argument("--queued", type=count(1), default=10_000, help="jobs that wait all the time")
    parser.add_argument("--more", type=count(0), default=500, help="jobs that wait beside them at the start, for "
                        "workers to do")
    parser.add_argument("--program", choices=tuple(PROGRAMS), default="fresh", help="of the jobs of front")
    parser.add_argument("--seconds", type=positive, default=60.0, help="of requests")
    parser.add_argument("--uploads", type=count(1), default=100)
    parser.add_argument("--upload-bytes", type=positive, default=256e6)
    parser.add_argument("--upload-connections", type=count(1), default=4, help="of each upload")
    parser.add_argument("--jobs", type=count(2), default=100, help="of each rate, and so many runs without a service")
    parser.add_argument("--device", default="cpu", help="of the workers of rate: cpu, cuda or cuda:N")
    parser.add_argument("--programs", type=_programs, default="square,fresh,long", help="of rate: names, separated by "
                        f"commas, of {', '.join(PROGRAMS)}")
    parser.add_argument("--sharing", type=count(1), default=1, help="of rate: measure each program also with so many "
                        "workers, which share the device")
    parser.add_argument("--turns", type=count(1), default=1, help="of rate: so many tenants, whose jobs run in turn")


def _programs(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is no program; there are {', '.join(PROGRAMS)}")
    return names


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """The rows of the parts, and whether every target was met."""
    rows: list[Row] = []
    good = True
    for part in [args.part] if args.part else PARTS:
        with tempfile.TemporaryDirectory(prefix="latticino-load-") as name:
            folder = Path(name)
            if part == "front":
                done = [steady.measure(folder, args)]
            elif part == "uploads":
                done = [uploads.measure(folder, args.uploads, int(args.upload_bytes), args.upload_connections)]
            else:
                done = [measured for name in args.programs for measured in rate.measured(
                    folder, name, args.jobs, args.device, sorted({1, args.sharing}), args.turns)]
        for more, well in done:
            rows += more
            good = good and well
    return [stamped(row) for row in rows], good
