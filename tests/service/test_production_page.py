"""docs/production.md, followed literally at free ports: certificates, nginx, a run through both, backup and restore."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from world import free_port

import latticino as lt
from latticino.serve.http import Link
from latticino.serve.store import Store
from latticino.serve.tenants import Tenants
from running import until

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/production.md").read_text()
*CERTIFICATES, SERVICE, BACKUP, RESTORE = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NGINX, = re.findall(r"^```nginx\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CONNECT, = re.findall(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def nginx():
    """nginx of the distribution, or the one unpacked where the launcher puts downloads."""
    found = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") or str(ROOT / ".deps/usr/sbin/nginx")
    assert os.path.exists(found), "nginx is missing; ./latticino test --more service installs it"
    return found


class Site:
    """Runs the commands of the page in the current folder. `close` ends what it started."""

    def __init__(self, folder):
        self.folder, self.front, self.port, self.running = folder, free_port(), free_port(), []
        self.log = (folder / "log").open("a")

    def start(self, words, **more):
        environ = dict(os.environ, PYTHONWARNINGS="ignore", OPENBLAS_NUM_THREADS="1")
        process = subprocess.Popen(words, stdout=self.log, stderr=self.log, cwd=self.folder, env=environ, **more)
        self.running.append(process)
        return process

    def command(self, line):
        """Runs a line of the page. The service and nginx keep running; all other commands end."""
        line = line.replace("8000", str(self.front)).replace("digits/server.network", "digits=score.lt")
        line, _, output = line.partition(" > ")
        words = shlex.split(line)
        if words[0] == "latticino":
            words = [sys.executable, "-m", *words]
        if words[0] == "python3":
            words[0] = sys.executable
        if words[0] == "nginx":
            # Otherwise nginx would go to the background, and as root give up rights that the tests' folders need.
            user = "user root; " if os.geteuid() == 0 else ""
            return self.start([nginx(), *words[1:], "-g", f"{user}daemon off;"])
        if "serve" in words:
            return self.start(words)
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True,
                              env=dict(os.environ, PYTHONWARNINGS="ignore"))
        assert done.returncode == 0, (line, done.stderr)
        if output:
            (self.folder / output).write_text(done.stdout)
        return None

    def carry_out(self, block):
        """The processes that a block of the page starts."""
        return [process for process in map(self.command, block.splitlines()) if process]

    def ready(self):
        try:
            return Link(f"http://127.0.0.1:{self.front}", "none").json("GET", "/v2/health/ready")["ready"]
        except lt.ServiceError:
            return False

    def close(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.terminate()
        assert [process.wait(60) for process in self.running].count(0) == len(self.running)
        self.log.close()


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lt.save_program("score.lt", lambda a: a * a + 0.5, lt.Context("test-n12-boot-insecure", "cpu", threads=1), np.zeros(8))
    made = Site(tmp_path)
    yield made
    made.close()


def test_the_page(site):
    for block in CERTIFICATES:
        site.carry_out(block)
    conf = NGINX.replace("listen 443", f"listen 127.0.0.1:{site.port}").replace("8000", str(site.front))
    (site.folder / "nginx.conf").write_text(conf)
    started = site.carry_out(SERVICE)
    assert len(started) == 2
    until(site.ready, "readiness")
    names = {"lt": lt, "Path": Path}
    block = CONNECT.replace("https://score.example", f"https://localhost:{site.port}")
    exec(compile(block, "docs/production.md", "exec"), names)
    service, x = names["service"], np.linspace(-1, 1, 8)
    client = lt.keygen(service.context("cpu"))
    remote = service.use(client)
    assert np.abs(remote.run(x).unmarked() - (x * x + 0.5)).max() < 2**-8

    url, token = f"https://localhost:{site.port}", Path("token").read_text().strip()
    with pytest.raises(lt.ServiceError, match="of status 400"):  # nginx: no certificate was sent
        lt.connect(url, token, cafile="authority.pem")
    # An authority that the system does not know.
    with pytest.raises(lt.ServiceError, match="CERTIFICATE_VERIFY_FAILED"):
        lt.connect(url, token, certificate="hospital-a.pem")
    with pytest.raises(lt.ServiceError) as refused:
        lt.connect(url, "x" * 43, cafile="authority.pem", certificate="hospital-a.pem")
    assert refused.value.status == 401
    link = Link(url, token, "authority.pem", certificate="hospital-a.pem")
    with pytest.raises(lt.ServiceError, match="of status 404"):
        link.send("GET", "/metrics")
    with pytest.raises(lt.ServiceError, match="of status 413"):
        link.send("POST", "/v1/jobs", bytes((64 << 20) + 1))

    os.makedirs("backup-blobs/old")  # a backup of the day before
    site.carry_out(BACKUP)
    assert not os.path.exists("backup-blobs/blobs")
    site.command("latticino tenants add later")
    kept = [Path(f"latticino-service/service.sqlite-{name}").read_bytes() for name in ("wal", "shm")]
    started[0].terminate()
    assert started[0].wait(60) == 0
    for name, data in zip(("wal", "shm"), kept):  # as a crash leaves them
        Path(f"latticino-service/service.sqlite-{name}").write_bytes(data)
    site.carry_out(RESTORE)
    assert [row.name for row in Tenants(Store(f"sqlite:///{site.folder}/latticino-service/service.sqlite")).all()] == ["hospital-a"]
    site.command(next(line for line in SERVICE.splitlines() if " serve " in line))
    until(site.ready, "readiness after the restore")
    assert service.use(client).bundle == remote.bundle
    assert np.abs(remote.run(x / 2).unmarked() - (x * x / 4 + 0.5)).max() < 2**-8


def test_certificates_that_cannot_be_used(tmp_path):
    none, lacks = tmp_path / "none.pem", tmp_path / "lacks.pem"
    none.write_text("none")
    for options, name, option in (({"cafile": none}, "none", "cafile"), ({"certificate": none}, "none", "certificate"),
                                  ({"certificate": lacks}, "lacks", "certificate"),
                                  ({"cafile": lacks, "certificate": none}, "lacks", "cafile")):
        with pytest.raises(lt.FileError, match=rf"connect: had .*{name}\.pem.*PEM; correct {option}="):
            lt.connect("https://localhost:1", "token", **options)
    for option in ("cafile", "certificate"):  # they would not protect anything
        with pytest.raises(lt.UnsupportedError, match="certificates for an address with http"):
            lt.connect("http://localhost:1", "token", **{option: none})


def test_every_option_of_the_page_exists():
    helped = "".join(subprocess.run([sys.executable, "-m", "latticino", *words, "--help"], capture_output=True, text=True,
                                    check=True).stdout for words in (["serve"], ["tenants"], ["worker"], ["jobs"]))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"podman.*|--TLS|--http", "", PAGE))) - {"--more"}
    assert len(named) > 8 and {option for option in named if option not in helped} == set()
