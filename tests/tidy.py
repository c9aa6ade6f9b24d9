"""clang-tidy over many files, as `./latticino lint --tidy` runs it. It keeps its findings, so a run that was stopped
continues."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOUND = re.compile(r"^\S.*(?:warning|error): .*\[[\w.,-]+\]$", re.MULTILINE)


class Tidy:
    """Checks files of a configured build folder. What was found in a file stands in its folder `tidy`, under a hash of the
    text after the preprocessor (with comments, which may switch checks off), the checks and the program."""

    def __init__(self, root, folder, program):
        self.root, self.folder, self.program = root, folder, program
        listed = json.loads(Path(folder, "compile_commands.json").read_text())
        self.commands = {entry["file"]: entry for entry in listed}
        version = subprocess.run([program, "--version"], capture_output=True, check=True).stdout
        self.base = version + Path(root, ".clang-tidy").read_bytes()
        self.kept = Path(folder, "tidy")
        self.kept.mkdir(exist_ok=True)

    def key(self, path):
        """None if the preprocessor fails. Then clang-tidy reports why."""
        entry = self.commands[path]
        words = shlex.split(entry["command"])
        at = words.index("-o")
        words = [word for word in words[:at] + words[at + 2:] if word != "-c" and not word.endswith("ccache")]
        done = subprocess.run([*words, "-E", "-C"], cwd=entry["directory"], capture_output=True)
        return None if done.returncode else hashlib.sha256(self.base + done.stdout).hexdigest()

    def of_file(self, path):
        """Lines of findings, and the seconds that it took to find them."""
        key = self.key(path)
        kept = self.kept / f"{key}.json"
        if key and kept.exists():
            found, seconds = json.loads(kept.read_text())
        else:
            start = time.monotonic()
            done = subprocess.run([self.program, "-p", self.folder, "--quiet", path], cwd=self.root,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            found = FOUND.findall(done.stdout)
            seconds = time.monotonic() - start
            if done.returncode and not found:
                found = [f"{path}: did not run: {done.stdout[-500:]}"]
            elif key:
                kept.write_text(json.dumps([found, seconds]))
        print(os.path.relpath(path, self.root), *found, sep="\n  ", flush=True)
        return found, seconds

    def check(self, paths, jobs):
        """All findings, each once, and the seconds of all files together."""
        with ThreadPoolExecutor(jobs) as pool:
            results = list(pool.map(self.of_file, paths))
        return sorted({line for found, _ in results for line in found}), sum(seconds for _, seconds in results)
