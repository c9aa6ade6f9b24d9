"""Checks that a command which a page names exists, with its options."""

from __future__ import annotations

import contextlib
import io
import re
import shlex

from .rows import ROOT

INTERPRETER = "python3"
OWN = ("test", "lint", "docs", "setup", "python")  # commands of the launcher that are not part of the package


def words_of_the_launcher() -> set[str]:
    """The commands that ./latticino lists in its help."""
    usage = re.search(r'^USAGE = """(.*?)"""', (ROOT / "latticino").read_text(), re.DOTALL | re.MULTILINE)
    assert usage
    return set(re.findall(r"^  ([a-z]+)", usage[1], re.MULTILINE))


def programs() -> dict[str, list[str]]:
    """The benchmark programs, and their sources."""
    listed = re.findall(r"add_executable\((\w+)\s+([^)]*)\)", (ROOT / "cmake" / "bench.cmake").read_text())
    return {name: sources.split() for name, sources in listed}


def fault(command: str) -> str:
    """What is wrong with a command; "" if nothing is."""
    program, *words = shlex.split(command)
    if program == "./latticino":
        return _launcher(command, words)
    if program == INTERPRETER:
        return "" if words and (ROOT / words[0]).is_file() else f"{command}: no such file"
    known = programs()
    if program not in known:
        return f"{command}: no program of cmake/bench.cmake"
    text = "".join((ROOT / path).read_text() for path in known[program])
    text += (ROOT / "bench" / "support" / "common.h").read_text()
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    unknown = [word for word in options if f'"{word[2:]}"' not in text and f'"{word}"' not in text]
    return f"{command}: no option {', '.join(unknown)}" if unknown else ""


def _launcher(command: str, words: list[str]) -> str:
    from latticino import cli, errors, tfhe
    from latticino.ckks import context

    if not words or words[0] not in words_of_the_launcher():
        return f"{command}: no command of ./latticino"
    if words[0] in OWN:
        return ""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            arguments = cli._parser().parse_args(words)
    except SystemExit:
        return f"{command}: {said.getvalue().strip()}"
    name = getattr(arguments, "preset", None)
    try:
        if name:
            (tfhe if name in tfhe.presets() else context).preset(name)
    except errors.Error as e:
        return f"{command}: {e}"
    missing = [str(path) for path in getattr(arguments, "files", []) or [] if "/" in str(path) and not (ROOT / path).exists()]
    return f"{command}: no file {', '.join(missing)}" if missing else ""
