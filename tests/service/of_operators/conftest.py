"""Commands of an operator in this process: the service that they would run is noted, and no process is started."""

import numpy as np
import pytest

import latticino as lt
from latticino import _native, cli


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A file of a small program."""
    path = tmp_path_factory.mktemp("model") / "score.lt"
    lt.save_program(path, lambda a: a * a + 0.5, lt.Context("test-n10-boot-insecure", "cpu", threads=1), np.zeros(8))
    return path


@pytest.fixture
def told(capsys, monkeypatch, tmp_path):
    """Runs a command in an empty folder: its status, its output, its errors, and the resources of the service that it would run."""
    from latticino.serve.service import Service

    monkeypatch.chdir(tmp_path)
    run = []
    monkeypatch.setattr(Service, "run", lambda service: run.append(service._others[0]._config.resources))

    def command(*words):
        try:
            status = cli.main([str(word) for word in words])
        except SystemExit as end:  # an error of the parser
            status = end.code
        out, err = capsys.readouterr()
        return status, out, err, run.pop() if run else None

    return command


@pytest.fixture
def gpu(monkeypatch):
    """As if this machine had GPUs, with so many bytes free of 80 GiB. Returns the list of devices that are asked."""
    from latticino.serve import resources

    asked = []

    def present(free, count=1):
        monkeypatch.setattr(_native, "cuda_built", lambda: True)
        monkeypatch.setattr(_native, "cuda_device_count", lambda: count)
        monkeypatch.setattr(resources, "memory_told_by_child", lambda device: asked.append(device) or (free, 80 << 30))
        return asked

    return present
