"""The container of docs/production.md without an image: its folders lie in one folder, and the commands of the page run there.

It needs an environment with the library in the folder's ``opt``. Whatever the page mounts may change; nothing else may, as in a
container with ``--read-only``.
"""

import itertools
import json
import os
import re
import shlex
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 120  # that the service has to start, and to end
# What a tenant does with the token: a key of its own, a bundle, a job.
TENANT = """
import sys, latticino as lt, numpy as np
service = lt.connect(sys.argv[1], open(sys.argv[2]).read().strip())
remote = service.use(lt.keygen(service.context("cpu")))
x = np.linspace(-1, 1, 8)
error = np.abs(remote.run(x).unmarked() - (x * x + 1)).max()
raise SystemExit(0 if error < 2**-8 else f"the answer of the job is wrong by {error}")
"""
MODEL = ("import sys, latticino as lt, numpy as np; lt.save_program(sys.argv[1], lambda a: a * a + 1, "
         "lt.Context('test-n10-boot-insecure', device='cpu'), np.zeros(8))")


class Container:
    """One of the page's containers, in a folder. AssertionError where the page and the Containerfile do not fit."""

    def __init__(self, folder, containerfile=None, page=None):
        self.folder = Path(folder)
        text = (ROOT / "Containerfile").read_text() if containerfile is None else containerfile
        page = (ROOT / "docs/production.md").read_text() if page is None else page
        _, final = text.split("\nFROM ")[-2:]
        lines = [shlex.split(line) for line in re.findall(r"^podman .*$", page, re.MULTILINE)]
        image, = (line[line.index("-t") + 1] for line in lines if line[1] == "build")
        run, = (line for line in lines if line[1] == "run")
        at = run.index(image)
        self.arguments, options = run[at + 1:], run[2:at]
        assert "--read-only" in options and "-d" in options, options  # otherwise the next commands need another terminal
        name = options[options.index("--name") + 1]
        self.commands = [line[3:] for line in lines if line[1:3] == ["exec", name]]
        assert sum(line[1] == "exec" for line in lines) == len(self.commands), f"a command for another container than {name}"
        given = list(itertools.pairwise(options))
        mounts = [value.split(":") for option, value in given if option == "-v"]
        tmp = [value for option, value in given if option == "--tmpfs"]
        self.home = re.search(r"--home-dir (\S+)", final)[1]
        work, volume = (re.search(rf"^{word} (\S+)$", final, re.MULTILINE)[1] for word in ("WORKDIR", "VOLUME"))
        assert work == volume == self.home, "what the service writes does not lie in the volume"
        self.changing = [mount[1] for mount in mounts if mount[2:] != ["ro"]] + tmp
        assert work in self.changing, f"the page mounts no volume at {work}"
        self.places = {place: self.folder / place.strip("/").replace("/", "-") for place in [*tmp, *(mount[1] for mount in mounts)]}
        self.places["/opt/latticino"] = self.folder / "opt"
        for place in self.places.values():
            place.mkdir(exist_ok=True)
        path, = re.findall(r'^ENV PATH="?([^"\n]*)"?$', final, re.MULTILINE) or [""]
        self.environ = {"HOME": self.at(self.home), "TMPDIR": self.at("/tmp"), "LANG": "C.UTF-8", "PYTHONWARNINGS": "ignore",
                        "PATH": self.at(path).replace("$PATH", "/usr/bin:/bin")}
        self.entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", final, re.MULTILINE)[1])

    def at(self, text):
        """A text with the folders of this machine in place of the container's."""
        names = "|".join(re.escape(place) for place in sorted(self.places, key=len, reverse=True))
        return re.sub(rf"(?<![\w/.-])({names})(?![\w-])", lambda found: str(self.places[found[1]]), text)

    def start(self, words, log):
        """A process of the container: its variables alone, and its folder."""
        return subprocess.Popen([self.at(word) for word in words], cwd=self.at(self.home), env=self.environ, stdout=log, stderr=log)

    def done(self, words):
        """The output of a command that ends well. CalledProcessError for another one."""
        return subprocess.run([self.at(word) for word in words], cwd=self.at(self.home), env=self.environ, check=True,
                              capture_output=True, text=True, timeout=SECONDS).stdout

    def answers(self):
        """None if the service starts, gets a tenant as the page says, answers its job and ends when it is told to. Otherwise a
        text that says what failed."""
        model, = (word.partition("=")[2] for word in self.arguments)
        self.done(["/opt/latticino/bin/python", "-c", MODEL, model])
        before, port = self.rest(), free_port()
        words = [str(port) if word == "8000" else "127.0.0.1" if word == "0.0.0.0" else word for word in self.entry]
        with (self.folder / "log").open("w+") as log:
            service = self.start([*words, *self.arguments], log)
            try:
                failed = self._tried(service, f"http://127.0.0.1:{port}")
            finally:
                service.terminate()
                status = ended(service)
            log.seek(0)
            written = log.read()
        changed = sorted(str(path) for path in before.items() ^ self.rest().items())
        if failed is None and status != 0:
            failed = f"it ended with the status {status}"
        if failed is None and changed:
            failed = f"it changed what the page does not mount: {changed[:4]}"
        return None if failed is None else f"{failed}\n{written[-4000:]}"

    def _tried(self, service, url):
        if not until_ready(f"{url}/v2/health/ready", service):
            return "it is not ready"
        try:
            for words in self.commands:
                words, output = (words[:words.index(">")], words[words.index(">") + 1]) if ">" in words else (words, None)
                printed = self.done(words)
                if output:  # a file of the host
                    (self.folder / output).write_text(printed)
            subprocess.run([self.at("/opt/latticino/bin/python"), "-c", TENANT, url, "token"], cwd=self.folder, env=self.environ,
                           check=True, capture_output=True, text=True, timeout=SECONDS)  # on the host
        except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired) as why:
            return f"{why}: {getattr(why, 'stderr', '')}"
        return None

    def rest(self):
        """What may not change: the files of the folder, their sizes and times, without those that are mounted to be written."""
        mounted = {self.places[place] for place in self.changing}
        out = {}
        for folder, below, names in os.walk(self.folder):
            below[:] = [name for name in below if Path(folder, name) not in mounted]
            if folder != str(self.folder):  # log and token are the host's
                for name in [".", *names]:
                    found = os.lstat(os.path.join(folder, name))
                    out[os.path.join(folder, name)] = found.st_size, found.st_mtime_ns, found.st_mode
        return out


def ended(process):
    """The status of a process that was told to end. One that does not is killed."""
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until_ready(url, process):
    """Whether the address answers 200 in time."""
    last = time.monotonic() + SECONDS
    while time.monotonic() < last and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return True
        except OSError:  # refused, or 503 as long as no worker has started
            time.sleep(0.2)
    return False
