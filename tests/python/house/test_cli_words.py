"""Arguments and options of commands in any order, and names with characters that formats or shells interpret."""

import time

import pytest

import latticino as lt
from latticino import cli


@pytest.mark.parametrize("line, taken", [
    ("bench workloads --part predictions F", {"part": "predictions", "files": ["F"]}),
    ("bench compare --record R A B", {"files": ["A", "B"]}), ("bench compare A --record R B", {"files": ["A", "B"]}),
    ("keys push --url u B", {"action": "push", "bundle": "B"}), ("jobs cancel --url u J", {"action": "cancel", "job": "J"}),
    ("jobs --url u", {"action": "list", "job": None}), ("tenants add --folder F a", {"name": "a", "weight": None}),
    ("serve A --port 1 B", {"models": ["A", "B"], "port": 1, "rate": 100}), ("plan A --workers 2 B", {"programs": ["A", "B"]}),
    ("demo --no-plot sort", {"what": "sort"}), ("keys push --url u -- -B", {"bundle": "-B"})])
def test_words_may_come_after_options(line, taken):
    """argparse ended with "unrecognized arguments"."""
    args = cli._parser().parse_args(line.split())
    assert callable(args.handler) and args.command == line.split()[0]
    for name, value in taken.items():
        have = getattr(args, name)
        assert ([str(v) for v in have] if isinstance(have, list) else have) == value


@pytest.mark.parametrize("line, message", [
    ("bench compare A --record R --bogus B", "unrecognized arguments: --bogus"), ("keys push --url u B C", "unrecognized arguments: C"),
    ("jobs bogus --url u", "invalid choice: 'bogus'"), ("worker --threads 1 x", "unrecognized arguments: x"),
    ("keys push B", "required: --url")])
def test_what_is_no_word_of_a_command_is_refused(line, message, capsys):
    with pytest.raises(SystemExit):
        cli._parser().parse_args(line.split())
    assert message in capsys.readouterr().err


def test_unknown_options_name_the_help_of_their_command(capsys):
    """Before, the message named the help of the program, which lists no options of commands."""
    for line in ("explain --bogus", "demo sort --bogus 3"):
        with pytest.raises(SystemExit) as ended:
            cli.main(line.split())
        assert ended.value.code == 2
        message = capsys.readouterr().err
        assert "unrecognized arguments: --bogus" in message and f"see latticino {line.split()[0]} --help" in message


@pytest.mark.parametrize("make", [lt.preset, lambda name: lt.Context(name, "cpu")])
def test_unknown_sets_name_near_ones_and_what_lists_them(make):
    """The message named a function of C++."""
    with pytest.raises(lt.ParameterError, match=r"lt.presets\(\) lists all; lt.make_params") as refused:
        make("n16-d40-boot")
    near = str(refused.value).partition("perhaps ")[2].partition(";")[0].replace(" or ", ", ").split(", ")
    assert near[0] == "n16-d40-boot-v1" and set(near) <= set(lt.presets())


@pytest.mark.parametrize("make", [lt.tfhe.preset, lambda name: lt.tfhe.Context(name, "cpu")])
def test_unknown_sets_of_tfhe(make):
    with pytest.raises(lt.ParameterError, match=r"perhaps tfhe-2-2-v\d, .*lt.tfhe.presets\(\) lists all"):
        make("tfhe-2-2")
    with pytest.raises(lt.ParameterError, match="lt.Context and lt.preset take it"):
        make("n16-d40-boot-v1")


@pytest.mark.parametrize("make", [lt.preset, lt.tfhe.preset])
def test_long_names_are_refused_at_once(make):
    """A name of a million characters took half a minute, for a message that names sets like it."""
    started = time.monotonic()
    with pytest.raises(lt.ParameterError, match=r"the name 'xx.*\.\.\..*perhaps"):
        make("x" * 10**6)
    assert time.monotonic() - started < 5
