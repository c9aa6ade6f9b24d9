"""docs/serving.md, followed literally: its programs and commands, in their order, at a small set and a free port."""

import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from world import free_port

import latticino as lt
from latticino import cli
from latticino.serve import bundles, client, confined, front, jobs
from latticino.serve.http import Link
from latticino.serve.manifest import CHUNK
from latticino.serve.models import open_model
from latticino.serve.requests import bodies
from running import until

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/serving.md").read_text()


def run_alone(block, number):
    """Runs a program of the page: it finds no name of another one. Returns its names."""
    names = {"__name__": f"program {number}"}
    exec(compile(block, f"docs/serving.md, program {number}", "exec"), names)
    return names


def test_the_page(tmp_path, monkeypatch, capsys):
    """The service's command runs until the end; all others end by themselves. The tenant has a folder of its own, with
    nothing but the token."""
    monkeypatch.chdir(tmp_path)
    port, names, service = free_port(), [], None
    environ = dict(os.environ, PYTHONWARNINGS="ignore", OPENBLAS_NUM_THREADS="1")
    blocks = re.findall(r"^```(py|sh)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["py", "sh", "py"]
    try:
        for number, (kind, block) in enumerate(blocks):
            block = block.replace("n15-d30-leveled-v1", "test-n12-boot-insecure").replace("8000", str(port))
            if kind == "py":
                names.append(run_alone(block, number))
                continue
            for line in block.splitlines():
                command, _, output = line.replace("./latticino", f"{sys.executable} -m latticino").partition(" > ")
                log = (tmp_path / "log").open("w")
                process = subprocess.Popen(shlex.split(command), env=environ, stderr=log,
                                           stdout=(tmp_path / output).open("w") if output else subprocess.DEVNULL)
                if " serve " in command:
                    service = process
                else:
                    assert process.wait() == 0, (tmp_path / "log").read_text()
            assert service is not None
            until(lambda: ready(port), "readiness")
            (tmp_path / "tenant").mkdir()
            monkeypatch.chdir(tmp_path / "tenant")
            Path("token").write_text((tmp_path / "token").read_text())
        operator, tenant = names
        told = capsys.readouterr().out.split()
        guess, digit = told[0], told[-1]
        assert int(guess) == operator["enc"].shadow(operator["x"][1500]).argmax() and int(digit) == operator["y"][1500]
        again = lt.load_client("secret", tenant["service"].context("cpu"), passphrase="a long passphrase")
        assert tenant["service"].use(again).bundle == tenant["remote"].bundle
        monkeypatch.setenv("LATTICINO_TOKEN", Path("token").read_text().strip())
        at = ["--url", f"http://127.0.0.1:{port}"]
        lt.save_server_keys("keys", again.context, tenant["service"].network.server_keys(again), one_file=True)
        assert cli.main(["keys", "push", "keys", *at]) == 0
        pushed = capsys.readouterr().out.strip()
        assert cli.main(["keys", "list", *at]) == 0
        assert sorted(line.split()[:2] for line in capsys.readouterr().out.splitlines()) == sorted(
            [[pushed, "ready"], [tenant["remote"].bundle, "ready"]])
        assert cli.main(["keys", "delete", pushed, *at]) == 0 and cli.main(["jobs", *at]) == 0
        job, state = capsys.readouterr().out.split()[:2]
        assert state == "done" and cli.main(["jobs", "cancel", job, *at]) == 0
        assert '"result": null' in capsys.readouterr().out
    finally:
        if service is not None:
            service.terminate()
            assert service.wait(60) == 0


def test_programs_to_save_are_complete(tmp_path, monkeypatch):
    """Each of the page's programs that saves one runs alone, and the file that it names is one that a service takes."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for number, block in enumerate(blocks):
        run_alone(block.replace("n16-d35-boot-v1", "test-n12-boot-insecure"), number)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["older.lt", "score.lt"] and len(blocks) == 2
    for path in tmp_path.iterdir():
        assert open_model(path.read_bytes(), "cpu", threads=1).facts().kind == "program"


def ready(port):
    try:
        link = Link(f"http://127.0.0.1:{port}", "none")
        return link.json("GET", "/v2/health/ready")["ready"]
    except Exception:
        return False


def test_the_options_of_the_page_exist(capsys):
    """Every option that the page names is an option of a command of the service."""
    helped = ""
    for command in ("serve", "worker", "tenants", "keys", "jobs"):
        try:
            cli.main([command, "--help"])
        except SystemExit:
            helped += capsys.readouterr().out
    # `of_operators/test_documented_commands.py` compares those of programs that attack a service.
    page = re.sub(r"`(\./latticino bench|python3 bench/service) [^`]*`", "", PAGE)
    named = set(re.findall(r"--[a-z][a-z-]+", page)) - {"--more"}
    assert len(named) > 12 and {option for option in named if option not in helped} == set()


def test_the_figures_of_the_page_are_those_of_the_code():
    assert f"each chunk of {CHUNK >> 20} MiB" in PAGE and f"{client._UPLOADS} at a time" in PAGE.replace("four", "4")
    assert f"a lease of {jobs.LEASE:g} s that the worker renews every {jobs.RENEWAL:g} s" in PAGE
    assert f"when the job ends, or after {front.LONGEST_WAIT:g} s" in PAGE and f"in the last {jobs.SEEN:g} s" in PAGE
    assert f"for up to {inspect.signature(Link).parameters['patience'].default / 60:g} minutes" in PAGE
    assert jobs.ATTEMPTS == 3 and "died three times" in PAGE and jobs._NEAR == 2 and "two predicted seconds" in PAGE
    kept = jobs.Limits()
    assert kept.keep_results == 86_400 and "a day (`--keep-results`)" in PAGE and kept.keep_rows == 7 * 86_400
    assert f"the user {confined.NOBODY} first" in PAGE
    assert f"the tenant has {bundles.MAX_BUNDLES} bundles" in PAGE
    assert f"more than {front.MANIFESTS >> 20} MiB of manifests" in PAGE
    assert f"at most {bodies.JSON >> 10} KiB and {bodies.PER_HASH} bytes for each chunk" in PAGE
    params = lt.preset("n14-d40-leveled-v1")
    most = 2 ** params.log_q(0) / 2 / params.scale(0)
    assert f"below a bound, which is {most:.0f} for `n14-d40-leveled-v1`" in " ".join(PAGE.split())
