"""docs/scaling.md, followed literally: its programs and commands, in their order, at a small set and a free port."""

import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
from world import free_port

import latticino as lt
from latticino import cli
from latticino.serve.manifest import CHUNK
from running import until

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/scaling.md").read_text()


def test_the_page(tmp_path, monkeypatch, capsys):
    """Commands of Dask run until the end; those of this library end by themselves."""
    monkeypatch.chdir(tmp_path)
    port, names, running = free_port(), {}, []
    blocks = re.findall(r"^```(py|sh)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["py", "py", "py", "sh", "py", "sh"]
    told = []
    try:
        for kind, block in blocks:
            block = block.replace("n16-d35-boot-v1", "test-n10-boot-insecure").replace("8786", str(port))
            if kind == "py":
                exec(compile(block, "docs/scaling.md", "exec"), names)
                told.append(names.get("results"))
                continue
            for line in block.splitlines():
                words = shlex.split(line)
                if words[0] == "latticino":
                    assert cli.main(words[1:]) == 0
                    continue
                running.append(subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL, env=dict(os.environ, PYTHONWARNINGS="ignore")))
            if running:
                import distributed

                with distributed.Client(f"tcp://127.0.0.1:{port}", set_as_default=False) as client:
                    until(lambda: len(client.nthreads()) == 2, "two workers")
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
    _, batch, piped, on_dask = told
    client, x = names["client"], names["samples"]
    assert len(batch) == len(piped) == len(on_dask) == 6
    first = [v * v + 0.25 for v in x]
    for results, right in ((batch, first), (on_dask, first), (piped, [v * v - 0.5 for v in first])):
        assert max(np.abs(r.decrypt(client).unmarked() - v).max() for r, v in zip(results, right)) < 2**-8
    printed = capsys.readouterr().out
    for line in ("one run", "100 runs, 1 worker", "on 4 workers", "keys, programs", "inputs", "results", "in all"):
        assert f"\n{line} " in f"\n{printed}" and f"`{line}`" in PAGE


def test_the_options_and_names_of_the_page_exist(capsys):
    helped = ""
    try:
        cli.main(["plan", "--help"])
    except SystemExit:
        helped = capsys.readouterr().out
    named = set(re.findall(r"`(?:latticino plan[^`]*? )?(--[a-z]+)", PAGE))
    assert {"--link", "--device"} <= named and {option for option in named if option not in helped} == set()
    for name in re.findall(r"lt\.cluster\.(\w+)", PAGE):
        assert hasattr(lt.cluster, name)
    assert f"chunks of {CHUNK >> 20} MiB" in PAGE
    defaults = inspect.signature(lt.cluster.Dask).parameters, inspect.signature(lt.cluster.Executor).parameters
    assert f"for {defaults[0]['patience'].default:g} s" in PAGE and f"retries={defaults[1]['retries'].default}" in PAGE
    for option in ("repeated", "placed", "final", "numbers"):
        assert f"{option}=" in PAGE and option in inspect.signature(lt.cluster.Executor.pipeline).parameters
