"""Each command of this library that a page shows is accepted: by the parser, and on the pages of the service by the checks
after it as well. A database of another machine is one of this machine here, and a GPU is a number of bytes."""

import argparse
import importlib.util
import re
import shlex

import pytest
from documented_commands import OF_LAUNCHER, PAGES, ROOT, commands, mentioned

from latticino import _native, cli
from latticino.serve import resources

GIB = 1 << 30
SERVICE = [ROOT / "docs" / f"{name}.md" for name in ("production", "serving", "scaling")]


def parsers():
    """The parsers of commands by their names. Those of `bench service-...` are in bench/service."""
    found = cli._parser()._subparsers._group_actions[0].choices
    spec = importlib.util.spec_from_file_location("bench_service", ROOT / "bench" / "service" / "__main__.py")
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    of_bench = programs.parser()._subparsers._group_actions[0].choices
    return found | {f"bench {name}": parser for name, parser in of_bench.items()}


def parser_of(words, known):
    """The parser of a command, and the words after its name."""
    long = " ".join(words[:2])
    return (known[long], words[2:]) if long in known else (known[words[0]], words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_parsers_accept_the_commands_of_a_page(page, capsys):
    """In blocks whole commands, and in the text options with their values, as far as the text has them."""
    known = parsers()
    for command in commands(page):
        if command.words[0] in OF_LAUNCHER:
            assert not command.container
            continue
        parser, words = parser_of(command.words, known)
        try:
            parser.parse_args(words)
        except SystemExit:
            pytest.fail(f"{page.name}: {shlex.join(command.words)}: {capsys.readouterr().err}")
    for words in mentioned(page):
        if words[0] in OF_LAUNCHER:
            continue
        parser, words = parser_of(words, known)
        for option, value in zip(words, [*words[1:], None]):
            if option.startswith("--"):
                assert option in parser._option_string_actions, (page.name, option)
                action = parser._option_string_actions[option]
                if action.type is not None and value is not None and not value.isupper():
                    action.type(value)


def test_the_pages_have_commands():
    """The patterns find them, and so does the part that reads containers."""
    found = {page.name: commands(page) for page in SERVICE}
    names = {name: [command.words[0] for command in of_page] for name, of_page in found.items()}
    assert names["serving.md"] == ["tenants", "tenants", "serve"] and names["scaling.md"] == ["plan"]
    assert names["production.md"][:4] == ["tenants", "tenants", "serve", "worker"]
    in_containers = [command for command in found["production.md"] if command.container]
    assert [command.words[0] for command in in_containers] == ["serve", "tenants", "tenants"]
    assert "--plain-http" in in_containers[0].words
    assert ["worker", "--store", "postgresql+psycopg://", "--blobs", "/mnt/blobs"] in mentioned(SERVICE[2])


@pytest.mark.parametrize("page", SERVICE, ids=lambda page: page.name)
def test_checks_accept_the_commands_of_a_page(page, model, told, gpu, postgresql, monkeypatch, tmp_path):
    """In the order of the page. Only a service that would run does not: what it would run with is compared."""
    gpu(60 * GIB)
    (tmp_path / "digits").mkdir()
    for name in ("digits/server.network", "score.lt"):
        (tmp_path / name).write_bytes(model.read_bytes())
    shown = [(command.words, command.environ, bool(command.container)) for command in commands(page)]
    shown += [(words, {}, False) for words in mentioned(page) if "--store" in words and "--blobs" in words]
    assert shown
    ran = []
    for words, environ, contained in shown:
        here = tmp_path / "container" if contained else tmp_path
        here.mkdir(exist_ok=True)
        monkeypatch.chdir(here)
        words = [re.sub(r"^postgresql\+psycopg://.*", postgresql, word) for word in words]
        words = [word.replace("/models/", f"{tmp_path}/digits/").replace("/mnt/", f"{tmp_path}/") for word in words]
        if words[0] == "serve":
            words = [*words, "--port", "0"]
        if words[0] == "worker":  # of a service on another machine
            status, _, err, _ = told("serve", f"digits={model}", "--workers", 0, "--port", 0, "--store", postgresql, "--blobs",
                                     tmp_path / "blobs", "--folder", tmp_path / "front")
            assert status == 0, err
        with monkeypatch.context() as m:
            for name, value in environ.items():
                m.setenv(name, postgresql if name == "LATTICINO_STORE" else value)
            if contained:  # the Containerfile builds without CUDA
                m.setattr(_native, "cuda_built", lambda: False)
            status, _, err, found = told(*words)
        assert status == 0, (page.name, shlex.join(words), err)
        if words[0] in ("serve", "worker"):
            ran.append((words[0], found["device"], found["memory"]))
    one, half = resources.share_of_gpu(60 * GIB, 1), resources.devices.physical_memory() // 2
    assert ran == {"serving.md": [("serve", "cpu", half)], "scaling.md": [("worker", "cuda:0", one)],
                   "production.md": [("serve", "cpu", half), ("worker", "cuda:0", one), ("serve", "cpu", half)]}[page.name]


def test_a_command_that_is_refused_is_found(tmp_path, capsys):
    """The test itself finds a wrong option, a wrong value, and a wrong option in the text."""
    for text in ("```sh\nlatticino worker --memory much\n```\n", "```text\nlatticino serve\n```\n", "Say `latticino plan --device-memory`.\n",
                 "```text\npodman run latticino\n```\n", "Say `latticino worker --workers 0`.\n",
                 "Say `./latticino bench service-kills --mills 5`.\n", "Say `python3 bench/service service-load --bits 5`.\n"):
        page = tmp_path / "page.md"
        page.write_text(text)
        with pytest.raises((pytest.fail.Exception, AssertionError, argparse.ArgumentTypeError)):
            test_parsers_accept_the_commands_of_a_page(page, capsys)
