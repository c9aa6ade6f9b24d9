"""What a worker may take of its machine, and how its device's memory is divided among models."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from .. import errors
from ..common import devices, display
from .models import Facts

# Bytes of a GPU that each worker leaves free. CUDA's context takes half of them, and tables of constants take more.
_CONTEXT = 1 << 30
_GAPS = 16  # one part in so many of a worker's share stays free, because blocks of different sizes leave gaps
_PATIENCE = 120.0  # seconds until the process that asks a GPU is given up


@dataclass(frozen=True)
class Resources:
    """What a worker may take. ``device`` and ``threads`` as of `lt.Context`. ``memory``: bytes of its device;
    ``host_memory`` for bundles of keys; ``grace``: seconds that a job may go on when the worker shall end."""

    device: str = "cpu"
    threads: int = 0
    memory: int | None = None
    host_memory: int | None = None
    grace: float = 20.0

    def for_device(self) -> int:
        """``memory``, or what one worker takes that has the device alone."""
        if self.memory is not None:
            return self.memory
        if self.device == "cpu":
            return devices.physical_memory() // 2
        return share_of_gpu(memory_told_by_child(self.device)[0], 1)

    def for_host(self) -> int:
        return devices.physical_memory() // 2 if self.host_memory is None else self.host_memory


def share_of_gpu(free: int, workers: int) -> int:
    """Bytes for each of the workers that share a GPU, of which ``free`` bytes are free before they start.

    A GPU of 80 GiB gives one worker 74 GiB, and two workers 36.5 GiB each.

    >>> share_of_gpu(80 << 30, 1) / 2**30, share_of_gpu(80 << 30, 2) / 2**30, share_of_gpu(1 << 30, 1)
    (74.0, 36.5, 0)
    """
    share = free // workers
    return max(share - share // _GAPS - _CONTEXT, 0)


def resources_by_options(args: argparse.Namespace) -> Resources:
    """What each worker of this machine may take by the options of a command, which is printed. DeviceError where the
    device cannot be used."""
    if not args.workers:  # the machines of the workers have devices of their own
        given = [f"--{name.replace('_', '-')}" for name in ("device", "threads", "memory", "host_memory")
                 if getattr(args, name)]
        if given:
            raise errors.UnsupportedError.explain(args.command, f"{given[0]} beside --workers 0",
                                                  "workers of this machine", "leave it out: latticino worker takes it")
        return Resources()
    if args.device == devices.NOT_ENCRYPTED:
        raise errors.UnsupportedError.explain(args.command, f"--device {args.device}", "a device that encrypts",
                                              "pass --device cpu, or cuda")
    kind, index = devices.choose(args.device)
    device = kind if kind == "cpu" else f"{kind}:{index}"
    memory, why = (args.memory, "--memory") if args.memory else default_memory(device, args.workers)
    print(f"{args.workers} worker{'s' * (args.workers > 1)} on {device}, device memory of each: {display.size(memory)} "
          f"({why})", flush=True)
    host_memory = args.host_memory or devices.physical_memory() // 2 // args.workers
    return Resources(device, args.threads, memory, host_memory, float(args.grace))


def default_memory(device: str, workers: int) -> tuple[int, str]:
    """Bytes of device memory for each worker of this machine, and a text that says what they are a part of. All workers
    of a CPU have half of the machine's memory, those of a GPU what is free of its own. DeviceError if the GPU does not
    answer."""
    if device == "cpu":
        whole = devices.physical_memory()
        return whole // 2 // workers, f"of {display.size(whole)}"
    free, whole = memory_told_by_child(device)
    return share_of_gpu(free, workers), f"of {display.size(free)} that are free of {display.size(whole)}"


def memory_told_by_child(device: str) -> tuple[int, int]:
    """The same as `devices.device_memory`, by a process that ends. Otherwise the process of the service, which computes
    nothing, would have a CUDA context, and memory of the GPU with it."""
    try:
        done = subprocess.run([sys.executable, "-m", __name__, device], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=_PATIENCE)
        said = done.stderr.strip().rpartition("\n")[2] or f"status {done.returncode}"
        if done.returncode == 0:
            free, whole = json.loads(done.stdout)
            return int(free), int(whole)
    except subprocess.TimeoutExpired:
        said = f"no answer in {_PATIENCE:g} s"
    raise errors.DeviceError.explain("worker", f"the device {device} that does not tell its memory ({said})",
                                     "a GPU that answers", "check nvidia-smi and the driver, or pass --device cpu")


def key_budgets(models: Sequence[Facts], memory: int) -> list[int]:
    """Bytes of keys on a device for each model, beside the weights and buffers of all and the inputs of one more job.
    OutOfMemoryError if a bundle does not fit."""
    # The next job's inputs lie on the device while one is computed, where a seed of them becomes as much again.
    ahead = 2 * max((m.request_bytes for m in models), default=0)
    rest = memory - ahead - sum(m.peak_bytes - m.key_bytes for m in models)
    each = rest // max(len(models), 1)
    short = max((m.key_bytes for m in models), default=0)
    if each < short:
        raise errors.OutOfMemoryError.explain(
            "worker", f"{memory} bytes of memory for {len(models)} models",
            f"{memory + len(models) * (short - each)} for their weights, buffers, inputs and a bundle of keys each",
            "serve fewer models or run fewer workers, or pass more --memory if the device has it")
    return [each] * len(models)


if __name__ == "__main__":
    print(json.dumps(devices.device_memory(sys.argv[1])))
