"""Which device a context computes on. There is no silent fallback to another device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .. import _native, arrays, errors

NOT_ENCRYPTED = "not-encrypted"
CARDS = {"cuda-h100": "NVIDIA H100 80GB HBM3", "cuda": "NVIDIA H200"}  # GPUs whose measured rates predict times
_SMALL = "test-n10-boot-insecure"  # parameters whose context takes little memory
_CARD: ContextVar[str | None] = ContextVar("_CARD", default=None)


def choose(device: str | None) -> tuple[str, int]:
    """``None`` is CUDA where it was built and a GPU answers, the CPU otherwise.

    ``"cpu"``, ``"cuda"`` and ``"cuda:1"`` mean just that; DeviceError if it cannot be.
    """
    if device is None:
        device = "cuda" if _native.cuda_built() and _native.cuda_device_count() > 0 else "cpu"
    kind, number = named(device)
    if kind == "cuda":
        _require_cuda(number)
    return kind, number


def named(device: Any) -> tuple[str, int]:
    """The kind and the number of a device, which need not be present. DeviceError if the name is not that of a device.
    """
    kind, _, index = (device if isinstance(device, str) else "").partition(":")
    numbered = index.isascii() and index.isdecimal() and len(index) < 4
    if kind not in ("cpu", "cuda") or (index and (kind == "cpu" or not numbered)):
        raise errors.DeviceError.explain(
            "Context", f"device {arrays.shown(device)}",
            '"cpu", "cuda", "cuda:1" or "not-encrypted"', "name one of them")
    return kind, int(index or 0)


MAX_THREADS = 4096


def as_threads(number: Any) -> int:
    """A number of CPU threads, 0 for all cores; ValueError for anything else."""
    return arrays.as_integer(number, "Context", "threads", 0, MAX_THREADS)


def as_tuning(file: Any) -> str:
    """The file name of a table of kernels; empty for none."""
    return "" if isinstance(file, str) and not file else arrays.as_path(file, "Context")


def physical_memory() -> int:
    """Bytes of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def device_memory(device: str) -> tuple[int, int]:
    """Bytes of a device's memory: those that are free now, and all. DeviceError for a device that is not there.

    On a GPU this process then has a CUDA context, which takes about half a GiB of that memory until it ends.
    """
    told = _native.Context.create(_native.preset(_SMALL), *choose(device), 1, True).device
    return int(told["free_bytes"]), int(told["total_bytes"])


def threads(number: int) -> int:
    """CPU threads that a context computes with; 0 stands for all cores that this process may use."""
    return _native.cpu_choice(number, True)[1]


def rate_device(device: str, number: int, simd: bool) -> tuple[str, int]:
    """Names the measured rates that predict a context's times: ``"cuda"`` or ``"cuda-h100"``, or the kernels of this
    CPU and the number of its threads that run at once. Where there is no GPU, times on ``"cuda"`` are an H200's."""
    if device.startswith("cuda"):
        return _CARD.get() or _native.timed_gpu(int(device.partition(":")[2] or 0)), 1
    kernels, _, usable = _native.cpu_choice(number, simd)
    return kernels, usable


@contextmanager
def timed_on(rates: str) -> Iterator[None]:
    """Within it, times on ``"cuda"`` are those of one of the `CARDS`, whatever GPU is here."""
    before = _CARD.set(rates)
    try:
        yield
    finally:
        _CARD.reset(before)


def fast_doubles(kind: str, index: int, number: int, simd: bool) -> bool:
    """Whether blind rotations are faster in FP64. They are on GPUs made for it, and with vector code on a CPU."""
    if kind == "cuda":
        return _native.cuda_has_fast_doubles(index)
    return _native.cpu_choice(number, simd)[0] != "reference"


def _require_cuda(index: int) -> None:
    if not _native.cuda_built():
        raise errors.DeviceError.explain(
            "Context", "a build without CUDA", "the CUDA backend for device \"cuda\"",
            "build with nvcc (LATTICINO_CUDA=on), or say device=\"cpu\"")
    count = _native.cuda_device_count()
    if index >= count:
        raise errors.DeviceError.explain(
            "Context", f"{count} CUDA devices", f"device {index}",
            "check nvidia-smi and the driver, or say device=\"cpu\"")
