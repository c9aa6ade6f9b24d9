"""Runs a PostgreSQL server in a folder of its own, on a socket there."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534  # PostgreSQL refuses to run as root


def program(name: str) -> str | None:
    """The path of a PostgreSQL program: that of the distribution, or the one unpacked where the
    launcher puts what it downloads."""
    below = [glob.glob(f"{top}/lib/postgresql/*/bin/{name}") for top in ("/usr", ROOT / ".deps/usr")]
    return [*(path for paths in below for path in sorted(paths)), shutil.which(name)][0]


def required(name: str) -> str:
    found = program(name)
    assert found, f"{name} of PostgreSQL is missing; ./latticino test --more service installs it"
    return found


@contextmanager
def server() -> Iterator[str]:
    """The folder of a server that runs until the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        who: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            who = dict(user=NOBODY, group=NOBODY, extra_groups=[])
        data = f"{folder}/data"
        subprocess.run([required("initdb"), "-D", data, "-U", "service", "-A", "trust", "--no-sync"], check=True,
                       capture_output=True, cwd=folder, **who)
        process = subprocess.Popen([required("postgres"), "-D", data, "-k", folder, "-c", "listen_addresses=",
                                    "-c", "max_connections=300", "-c", "fsync=off"], cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who)
        try:
            ready = [required("pg_isready"), "-h", folder, "-U", "service", "-d", "postgres"]
            while subprocess.run(ready, capture_output=True).returncode:
                assert process.poll() is None, "PostgreSQL did not start"
            yield folder
        finally:
            process.send_signal(signal.SIGQUIT)  # does not wait for open connections
            process.wait()


def address(folder: str) -> str:
    """The address of the server's database, in the form that the service takes."""
    return f"postgresql+psycopg://service@/postgres?host={folder}"


def words(folder: str) -> str:
    """The same address in the form that psycopg takes."""
    return f"host={folder} user=service dbname=postgres"
