"""Programs of examples/side_by_side: those in numpy and those on encrypted data give the same results, in almost as
many lines."""

import importlib.util
import runpy
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "side_by_side"
spec = importlib.util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
make_tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_tables)
# The largest allowed difference of results, from approximations and encryption.
WITHIN = {"sklearn_model": 2e-3, "perceptron": 0.1, "columns": 1e-5, "neighbours": 1e-5, "convolution": 1e-5,
          "gradient_descent": 1e-4}


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHIN)
def test_both_give_the_same(name):
    clear, encrypted = (runpy.run_path(str(FOLDER / side / f"{name}.py"))["result"] for side in ("in_numpy", "encrypted"))
    assert clear.shape == encrypted.shape and np.abs(clear).max() > 10 * WITHIN[name]
    assert np.abs(clear - encrypted).max() < WITHIN[name]


@pytest.mark.slow
def test_both_services_give_the_same(child_environment, monkeypatch):
    results = []
    for side in ("in_numpy", "encrypted"):
        server, port = served(FOLDER / side / "service_server.py", child_environment)
        try:
            monkeypatch.setattr(sys, "argv", ["service_client.py", str(port)])
            results.append(runpy.run_path(str(FOLDER / side / "service_client.py"))["result"])
        finally:
            server.kill()
            server.communicate()
    assert results[0].shape == (10, 4) and np.abs(results[0] - results[1]).max() < 1e-5


def served(script, environment):
    """A server that listens, and its port. It tries another port if a process running at the same time took the first.
    """
    for _ in range(10):
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            port = probe.getsockname()[1]
        server = subprocess.Popen([sys.executable, script, str(port)], env=environment, stderr=subprocess.PIPE, text=True)
        said = ended(server, port)
        if said is None:
            return server, port
        server.kill()
        server.communicate()
        if "Address already in use" not in said:
            break
    pytest.fail(said)


def ended(server, port):
    """None as soon as the server listens; its output if it ended, or does not listen in time."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if server.poll() is not None:
            return server.stderr.read()
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)) == 0:
                return None
        time.sleep(0.1)
    return "the server does not listen"


@pytest.mark.parametrize("what, clear, encrypted", make_tables.tries(), ids=make_tables.TRIES)
def test_encrypted_ones_have_at_most_five_lines_more(what, clear, encrypted):
    assert 5 < clear < encrypted <= clear + 5


def test_all_programs_are_counted_and_run():
    programs = {path.stem for side in ("in_numpy", "encrypted") for path in (FOLDER / side).glob("*.py")}
    assert programs == {name for names in make_tables.TRIES.values() for name in names}
    assert programs == {*WITHIN, "service_server", "service_client"}


def test_lines_of_code(tmp_path):
    program = tmp_path / "program.py"
    program.write_text('"""Two\nlines."""\n\nimport x  # why\n\n\ndef f():\n    """What."""\n    # Why.\n    return """a\nb""", [\n        1,\n\n    ]\n')
    assert make_tables.lines_of_code(program) == 6
