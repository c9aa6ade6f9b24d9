"""The commands of this library that pages show: in blocks, as whole lines, and in the text, where they may be cut short."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((*(ROOT / "docs").glob("*.md"), ROOT / "README.md"))
SHELLS = ("sh", "text", "bash", "console", "")
# Commands that `./latticino` carries out by itself in a clone: they have no parser of the package.
OF_LAUNCHER = ("setup", "test", "lint", "docs", "wheel", "python", "help")


@dataclass
class Command:
    """A command: the words after `latticino`, and variables that are set for it. ``container``: what else runs it."""

    words: list[str]
    environ: dict[str, str] = field(default_factory=dict)
    container: list[str] = field(default_factory=list)


def blocks(page):
    """The lines of the blocks that are no program of Python, without comments. A backslash joins two lines."""
    found = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line for kind, block in found if kind in SHELLS for line in block.replace("\\\n", " ").splitlines()]


def commands(page):
    """Those of the blocks of a page. In a container, the entry point of the Containerfile comes before the words."""
    out = []
    for line in blocks(page):
        if not re.match(r"(\w+=\S+ )*(\./)?latticino |podman (run|exec) ", line):
            continue
        words = shlex.split(line, comments=True)
        words = words[:words.index(">")] if ">" in words else words
        environ = {}
        while "=" in words[0]:
            name, _, environ[name] = words.pop(0).partition("=")
        if words[0] == "podman":
            at = max(i for i, word in enumerate(words) if word == "latticino")
            out.append(Command([*(entry_point() if words[1] == "run" else []), *words[at + 1:]], environ, words[:at]))
        else:
            out.append(Command(words[1:], environ))
    return out


def entry_point():
    """The words after `latticino` with which a container starts."""
    found, = re.findall(r"^ENTRYPOINT (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    command, *words = json.loads(found)
    assert command.endswith("/latticino")
    return words


def mentioned(page):
    """Those in the text of a page, without what stands for anything (``...``)."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"`(?:\./)?latticino ([a-z][^`]*)`", text)
    found += [f"bench {words}" for words in re.findall(r"`python3 bench/service ([a-z][^`]*)`", text)]
    return [shlex.split(words.replace("...", "")) for words in found]
