"""The origin of a record: the commit of the checkout, and this processor.

Imports nothing of the package: `./latticino test --sanitize` loads it by its path, without the extension.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


def git(*command: str) -> str | None:
    """The output of git in the checkout; None if there is no git or no checkout."""
    if not (CHECKOUT / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", *command], cwd=CHECKOUT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit(sources: tuple[str, ...]) -> dict[str, Any]:
    """The commit, with "dirty" if one of `sources` differs from it; "unknown" if this is no checkout."""
    name = git("rev-parse", "--short=7", "HEAD")
    if name is None:
        return {"commit": "unknown"}
    return {"commit": name, "dirty": bool(git("status", "--porcelain", "--", *sources))}


def cpu_name() -> str:
    """The processor's model."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")),
                platform.processor() or "unknown")
