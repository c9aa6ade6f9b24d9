"""The memory of processes, as Linux counts it."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


def resident(pid: int, peak: bool = False) -> int:
    """Bytes of memory that a process has now, or its peak; 0 for a process that has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(rf"^{'VmHWM' if peak else 'VmRSS'}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) << 10 if found else 0


TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds in which Linux counts processor time


def processor_seconds(pid: int) -> float:
    """Seconds of processor time that a process has used, in multiples of `TICK`."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def of_gpu(device: str) -> int:
    """Bytes of memory that are in use on a GPU, ``cuda`` or ``cuda:N``, by all processes."""
    return int(_asked(device, "memory.used")) << 20


def gpu_name(device: str) -> str:
    return _asked(device, "name")


def _asked(device: str, what: str) -> str:
    index = device.partition(":")[2] or "0"
    return subprocess.run(["nvidia-smi", f"--id={index}", f"--query-gpu={what}", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, check=True).stdout.strip()


class Sampler:
    """Notes the memory of processes every ``every`` seconds: ``samples`` as (seconds, bytes) by process. That of a GPU
    has the name ("device", 0); ``device``: cuda or cuda:N, or cpu for none."""

    def __init__(self, processes: Callable[[], Mapping[int, str]], every: float, device: str = "cpu") -> None:
        self.samples: dict[tuple[str, int], list[tuple[float, int]]] = {}
        self._processes, self._every, self._stop, self._device = processes, every, threading.Event(), device
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sampler:
        self._start = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            found = {(role, pid): resident(pid) for pid, role in self._processes().items()}
            if self._device != "cpu":
                found["device", 0] = of_gpu(self._device)
            for name, bytes_ in found.items():
                if bytes_:
                    self.samples.setdefault(name, []).append((self.seconds, bytes_))


@dataclass(frozen=True)
class Growth:
    """For one process after the warm-up: the medians of its first and last tenth, and the slope of
    a line through all samples."""

    first_bytes: int
    last_bytes: int
    bytes_per_minute: float

    @property
    def percent(self) -> float:
        return 100 * (self.last_bytes / self.first_bytes - 1)


def curve(samples: Sequence[tuple[float, int]], parts: int = 20) -> list[tuple[float, int]]:
    """One point for each of `parts` parts of the samples, or for each sample if there are fewer: the minute at which
    the part begins, and the median of its bytes. The points show whether memory grew by one step or all the time."""
    starts = [len(samples) * i // parts for i in range(parts + 1)]
    cut = [samples[first:last] for first, last in pairwise(starts) if first < last]
    return [(round(part[0][0] / 60, 2), int(statistics.median(b for _, b in part))) for part in cut]


def growth(samples: Sequence[tuple[float, int]], warm_up: float) -> Growth:
    """``warm_up``: seconds that are left out. ValueError for fewer than ten samples after it."""
    kept = [(at, bytes_) for at, bytes_ in samples if at >= warm_up]
    if len(kept) < 10:
        raise ValueError(f"{len(kept)} samples after the warm-up; ten are needed: run for longer")
    tenth = len(kept) // 10
    first, last = (int(statistics.median(b for _, b in part)) for part in (kept[:tenth], kept[-tenth:]))
    return Growth(first, last, 60 * statistics.linear_regression(*zip(*kept)).slope)
