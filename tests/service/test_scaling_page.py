"""docs/scaling.md, followed literally: its programs and commands, in their order, at a small set and a free port."""

import inspect
import os
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from world import free_port

import latticino as lt
from latticino import cli
from latticino.serve.manifest import CHUNK
from running import until

distributed = pytest.importorskip("distributed")
dask_config = pytest.importorskip("dask").config
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/scaling.md").read_text()
TLS = re.search(r"^### With TLS\n.*?(?=^#+ )", PAGE, re.MULTILINE | re.DOTALL)[0]
SMALL = "test-n10-boot-insecure"


def blocks_of(text, kinds):
    """The programs and commands of a text, which has those of these kinds."""
    blocks = re.findall(r"^```(py|sh)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == kinds
    return blocks


class Started:
    """Commands of Dask, which run until the end."""

    def __init__(self, folder):
        self.log, self.running = (folder / "log").open("a"), []

    def __enter__(self):
        return self

    def start(self, words):
        assert words[0] == "dask"
        self.running.append(subprocess.Popen([sys.executable, "-m", *words], stdout=self.log, stderr=self.log,
                                             env=dict(os.environ, PYTHONWARNINGS="ignore"), start_new_session=True))

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            with suppress(ProcessLookupError):  # what it started, too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.log.close()


def worst(results, right, client):
    assert len(results) == len(right)
    return max(np.abs(r.decrypt(client).unmarked() - v).max() for r, v in zip(results, right))


def test_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    port, names, told = free_port(), {}, []
    with Started(tmp_path) as dask:
        for kind, block in blocks_of(PAGE.replace(TLS, ""), ["py", "py", "py", "sh", "py", "sh"]):
            block = block.replace("n16-d35-boot-v1", SMALL).replace("8786", str(port))
            if kind == "py":
                exec(compile(block, "docs/scaling.md", "exec"), names)
                told.append(names.get("results"))
                continue
            for words in map(shlex.split, block.splitlines()):
                if words[0] == "latticino":
                    assert cli.main(words[1:]) == 0
                else:
                    dask.start(words)
            if dask.running:
                with distributed.Client(f"tcp://127.0.0.1:{port}", set_as_default=False) as client:
                    until(lambda: len(client.nthreads()) == 2, "two workers")
    _, batch, piped, on_dask = told
    client, x = names["client"], names["samples"]
    assert len(x) == 6
    first = [v * v + 0.25 for v in x]
    for results, right in ((batch, first), (on_dask, first), (piped, [v * v - 0.5 for v in first])):
        assert worst(results, right, client) < 2**-8
    printed = capsys.readouterr().out
    for line in ("one run", "100 runs, 1 worker", "on 4 workers", "keys, programs", "inputs", "results", "in all"):
        assert f"\n{line} " in f"\n{printed}" and f"`{line}`" in PAGE


def refused_by_the_scheduler(port, certificate=None):
    """The alert that the scheduler sends to a client that trusts it, but has no certificate of the authority."""
    context = ssl.create_default_context(cafile="ca.pem")
    context.check_hostname = False  # as Dask does
    if certificate:
        context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
    with socket.create_connection(("127.0.0.1", port), 60) as plain, context.wrap_socket(plain) as s, pytest.raises(ssl.SSLError) as why:
        s.recv(1)
    return why.value.reason


def test_the_page_with_tls(tmp_path, monkeypatch):
    """Runs the page's commands for the authority and for the cluster, and its program. A client without a certificate of
    the authority is refused."""
    monkeypatch.chdir(tmp_path)
    port = free_port()
    (_, certificates), (_, commands), (_, program) = blocks_of(
        TLS.replace("scheduler.example", "127.0.0.1").replace("8786", str(port)), ["sh", "sh", "py"])
    subprocess.run(["sh", "-e", "-c", certificates], check=True, capture_output=True)
    subprocess.run(["sh", "-e", "-c", "mkdir strange; cd strange; " + certificates], check=True, capture_output=True)
    first, = blocks_of(PAGE.partition("Then spread the batch")[0], ["py"])
    names = {}
    exec(compile(first[1].replace("n16-d35-boot-v1", SMALL), "docs/scaling.md", "exec"), names)
    with Started(tmp_path) as dask:
        for words in map(shlex.split, commands.splitlines()):
            dask.start(words)
        assert len(dask.running) == 3
        exec(compile(program.replace("    with lt.", "    cluster.wait_for_workers(2, timeout=120)\n    with lt."), "docs/scaling.md",
                     "exec"), names)
        client, x = names["client"], names["samples"]
        assert worst(names["results"], [v * v + 0.25 for v in x], client) < 2**-8

        assert refused_by_the_scheduler(port) == "TLSV13_ALERT_CERTIFICATE_REQUIRED"
        assert refused_by_the_scheduler(port, "strange/me") in (
            "TLSV1_ALERT_UNKNOWN_CA", "TLSV1_ALERT_DECRYPT_ERROR")  # by the name of the authority, or by its signature

        def batch_over(scheduler, **options):
            with lt.cluster.Executor("blobs", lt.cluster.Dask(scheduler, device="cpu", **options)) as executor:
                return executor.map("score.lt", names["keys"], names["batch"][:1])

        with pytest.raises(lt.UnsupportedError, match="without a certificate; needs a certificate and its key"):
            batch_over(f"tls://127.0.0.1:{port}")
        with pytest.raises(lt.ClusterError, match="no answer of"):  # no TLS
            batch_over(f"tcp://127.0.0.1:{port}", patience=2)
        own = {"distributed.comm.tls.ca-file": "ca.pem", "distributed.comm.tls.client.cert": "strange/me.pem",
               "distributed.comm.tls.client.key": "strange/me.key"}
        with dask_config.set(own), pytest.raises(lt.ClusterError, match="no answer of"):  # of another authority
            batch_over(f"tls://127.0.0.1:{port}", patience=2)
        own = {name: value.removeprefix("strange/") for name, value in own.items()}
        with dask_config.set(own):
            again, = batch_over(f"tls://127.0.0.1:{port}")
        assert again.hashes == names["results"][0].hashes


def test_the_options_and_names_of_the_page_exist(capsys):
    helped = ""
    try:
        cli.main(["plan", "--help"])
    except SystemExit:
        helped = capsys.readouterr().out
    named = set(re.findall(r"`(?:latticino plan[^`]*? )?(--[a-z-]+)", PAGE))
    of_dask = {option for line in re.findall(r"^dask .*$", PAGE, re.MULTILINE) for option in re.findall(r"--[a-z-]+", line)}
    assert {"--link", "--device"} <= named - of_dask and named - of_dask <= set(re.findall(r"--[a-z-]+", helped))
    for name in re.findall(r"lt\.cluster\.(\w+)", PAGE):
        assert hasattr(lt.cluster, name)
    assert f"chunks of {CHUNK >> 20} MiB" in PAGE
    defaults = inspect.signature(lt.cluster.Dask).parameters, inspect.signature(lt.cluster.Executor).parameters
    assert f"for {defaults[0]['patience'].default:g} s" in PAGE and f"retries={defaults[1]['retries'].default}" in PAGE
    for option in ("repeated", "placed", "final", "numbers"):
        assert f"{option}=" in PAGE and option in inspect.signature(lt.cluster.Executor.pipeline).parameters
