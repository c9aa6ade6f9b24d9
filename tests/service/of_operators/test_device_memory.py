"""How much of a device each worker takes where no `--memory` says it. Tests without a GPU put numbers in its place."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import latticino as lt
from latticino import _native
from latticino.common import devices
from latticino.serve import resources
from latticino.serve.registry import Registry
from latticino.serve.store import Store
from running import Running, until

GIB = 1 << 30


@given(st.integers(0, 1 << 40), st.integers(1, 64))
def test_workers_that_share_a_gpu_leave_room(free, workers):
    """Each has the same, and a GiB for its context stays free, and a sixteenth for gaps."""
    each = resources.share_of_gpu(free, workers)
    assert each >= 0 and (each == 0 or workers * (each + GIB) <= free - workers * (free // workers // 16))
    assert each >= free / workers * 15 / 16 - GIB - 1


def test_shares_of_a_gpu():
    assert [resources.share_of_gpu(80 * GIB, n) for n in (1, 2, 4)] == [74 * GIB, 36.5 * GIB, 17.75 * GIB]
    assert resources.share_of_gpu(GIB, 1) == resources.share_of_gpu(0, 1) == 0


@pytest.mark.parametrize("words, device, each", [
    (["--device", "cuda"], "cuda:0", 60 * GIB - 60 * GIB // 16 - GIB),
    (["--device", "cuda:1", "--workers", "2"], "cuda:1", 30 * GIB - 30 * GIB // 16 - GIB),
    ([], "cuda:0", 60 * GIB - 60 * GIB // 16 - GIB),
    (["--device", "cuda", "--memory", "5GiB"], "cuda:0", 5 * GIB)])
def test_serve_on_a_gpu_needs_no_memory(words, device, each, model, told, gpu):
    """The GPU has 60 GiB free. Without --device the GPU is used, as the help says."""
    asked = gpu(60 * GIB, 2)
    status, out, err, found = told("serve", f"score={model}", "--port", 0, *words)
    assert (status, err) == (0, "") and (found["device"], found["memory"]) == (device, each)
    assert asked == ([] if "--memory" in words else [device])  # and not asked in the process of the service
    count = "2 workers" if "2" in words else "1 worker"
    assert out.startswith(f"{count} on {device}, device memory of each: {each / GIB:.2f} GiB (")
    assert "--memory)" in out if "--memory" in words else "of 60.00 GiB that are free of 80.00 GiB)" in out


def test_a_worker_of_another_machine_needs_no_memory(model, told, gpu):
    """The command of the production page, after the service has stored its model."""
    assert told("serve", f"score={model}", "--port", 0, "--workers", 0)[0] == 0
    asked = gpu(60 * GIB)
    status, out, _, found = told("worker", "--device", "cuda", "--workers", 3)
    assert status == 0 and asked == ["cuda:0"] and "3 workers on cuda:0" in out
    assert found["memory"] == resources.share_of_gpu(60 * GIB, 3)


@pytest.mark.parametrize("free", [0, GIB, GIB + GIB // 15])
def test_a_gpu_that_is_too_small(free, model, told, gpu):
    """The error says how much is needed, and the line before it says how much is free. The service's models stay."""
    gpu(free)
    status, out, err, found = told("serve", f"score={model}", "--port", 0, "--device", "cuda")
    assert status == 1 and found is None and f"that are free of {80:.2f} GiB" in out
    assert re.search(r"OutOfMemoryError: worker: had \d+ bytes of memory for 1 models; needs \d+ for", err), err
    store = Store("sqlite:///latticino-service/service.sqlite")
    assert Registry(store, None).active() == []
    store.close()


def test_a_worker_whose_device_is_too_small(model, told):
    """It ends at once. Otherwise its processes would start and end again and again."""
    assert told("serve", f"score={model}", "--port", 0, "--workers", 0)[0] == 0
    status, _, err, found = told("worker", "--device", "cpu", "--memory", 1)
    assert status == 1 and found is None and "had 1 bytes of memory for 1 models" in err


@pytest.mark.parametrize("command", ["serve", "worker"])
@pytest.mark.parametrize("memory", [[], ["--memory", "1GiB"]])
@pytest.mark.parametrize("built, text", [(False, "DeviceError: Context: had a build without CUDA"),
                                         (True, "DeviceError: Context: had 0 CUDA devices; needs device 0")])
def test_no_gpu_is_what_the_error_says(command, memory, built, text, model, told, monkeypatch, tmp_path):
    """Before anything about memory, and before anything is made."""
    monkeypatch.setattr(_native, "cuda_built", lambda: built)
    monkeypatch.setattr(_native, "cuda_device_count", lambda: 0)
    words = [f"score={model}", "--port", 0] if command == "serve" else ["--store", f"sqlite:///{tmp_path}/s.sqlite"]
    status, out, err, found = told(command, *words, "--device", "cuda", *memory)
    assert status == 1 and text in err and "memory" not in err and (out, found) == ("", None)
    assert list(tmp_path.iterdir()) == []


def test_devices_that_no_service_has(model, told):
    for device, text in (("not-encrypted", "needs a device that encrypts"), ("gpu", "DeviceError"), ("cpu:1", "DeviceError")):
        status, _, err, found = told("serve", f"score={model}", "--port", 0, "--device", device)
        assert status == 1 and text in err and found is None


def test_options_of_workers_need_workers(model, told):
    for option in (("--device", "cpu"), ("--memory", "5GiB"), ("--threads", 3), ("--host-memory", "1GiB")):
        status, _, err, found = told("serve", f"score={model}", "--port", 0, "--workers", 0, *option)
        assert status == 1 and f"serve: had {option[0]} beside --workers 0" in err and found is None
    status, _, _, found = told("serve", f"score={model}", "--port", 0, "--workers", 0)
    assert status == 0


def test_workers_on_a_cpu_share_half_of_the_memory(model, told):
    half = devices.physical_memory() // 2
    status, out, _, found = told("serve", f"score={model}", "--port", 0, "--device", "cpu", "--workers", 2)
    assert status == 0 and found["memory"] == found["host_memory"] == half // 2
    assert out.startswith("2 workers on cpu, device memory of each: ")
    assert resources.Resources("cpu").for_device() == half


def test_a_worker_by_itself_asks_its_gpu(monkeypatch):
    monkeypatch.setattr(resources, "memory_told_by_child", lambda device: (60 * GIB, 80 * GIB))
    assert resources.Resources("cuda:0").for_device() == resources.share_of_gpu(60 * GIB, 1)


def test_another_process_asks_the_device():
    """Here it asks the CPU, which answers on every machine."""
    free, whole = resources.memory_told_by_child("cpu")
    assert 0 < free <= whole == devices.device_memory("cpu")[1]
    with pytest.raises(lt.DeviceError, match=r"cuda:999 that does not tell its memory \(.*DeviceError: .* CUDA"):
        resources.memory_told_by_child("cuda:999")


def test_a_device_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(resources, "_PATIENCE", 0.001)
    with pytest.raises(lt.DeviceError, match=r"no answer in 0.001 s.*check nvidia-smi"):
        resources.memory_told_by_child("cpu")


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_gpu_without_memory_answers_jobs(workers, model, tmp_path):
    """The whole service on a GPU: what is free of it is divided, the log says so, and jobs are answered."""
    running = Running(tmp_path / "service", [f"score={model}"], "--device", "cuda", "--workers", str(workers))
    try:
        found = re.search(rf"^{workers} workers? on cuda:0, device memory of each: [\d.]+ GiB \(of ([\d.]+) GiB that are "
                          r"free of ([\d.]+) GiB\)$", running.out.read_text(), re.MULTILINE)
        assert found and 0 < float(found[1]) <= float(found[2])
        until(lambda: running.log.read_text().count("worker.ready") == workers, "workers")
        ready = [json.loads(line) for line in running.log.read_text().splitlines() if "worker.ready" in line]
        whole = devices.device_memory("cuda")[1]
        expected = resources.share_of_gpu(int(float(found[1]) * GIB), workers)
        assert {row["device"] for row in ready} == {"cuda:0"}
        assert all(abs(row["memory"] - expected) < GIB / 50 and row["memory"] * workers < whole for row in ready)
        service = lt.connect(running.url, running.tenant("a"))
        client, x = lt.keygen(service.context("cpu")), np.linspace(-1, 1, 8)
        remote = service.use(client)
        for job in [remote.submit(x / k) for k in range(1, 5)]:
            assert job.wait(300).state == "done"
        assert np.abs(remote.run(x).unmarked() - (x * x + 0.5)).max() < 2**-8
    finally:
        assert running.stop() == 0


@pytest.mark.gpu
def test_a_gpu_tells_its_memory():
    free, whole = resources.memory_told_by_child("cuda")
    assert GIB < free <= whole and whole == devices.device_memory("cuda:0")[1]
