"""Tests the documentation: its programs run, and its commands and links exist."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import latticino as lt
from latticino import cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# The programs run on a small set, because this tests that they work, not how fast.
SMALL = {"n16-d40-boot-v1": "test-n12-boot-insecure", "n16-d35-boot-v1": "test-n12-boot-insecure",
         "tfhe-2-2-v1": "test-tfhe-2-2-tiny-insecure", "tfhe-gates-v2": "test-tfhe-gates-v2-insecure"}
# The whole test set, because the small parameter set is fast.
MORE = {"thresholds.py": ["--all", "--record", "record.json"]}


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p, "python")], ids=name_of)
def test_programs_run(path, monkeypatch, tmp_path, capsys):
    """The programs of each page run, and they raise and print the errors that the page quotes."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "document"}
    for block in blocks(path, "python"):
        for large, small in SMALL.items():
            block = block.replace(large, small)
        exec(compile(block, name_of(path), "exec"), names)
    said = capsys.readouterr().out
    assert [f"{kind}: {text}" for kind, text in quoted(path) if f"{kind} - {text}\n" not in said] == []


def quoted(path):
    """The errors that stand in a page as Python prints them: (class, message)."""
    return re.findall(r"^(\w+(?:Error|Warning)): (.+; needs .+)$", path.read_text(), re.MULTILINE)


def test_pages_that_quote_errors_raise_them():
    quoting = [path for path in DOCUMENTS if quoted(path)]
    assert ROOT / "docs" / "troubleshooting.md" in quoting
    assert [name_of(path) for path in quoting if not blocks(path, "python")] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=name_of)
def test_examples_run(path, device, tmp_path, child_environment):
    options = ["--preset", "test-n12-boot-insecure", "--device", device, *MORE.get(path.name, [])]
    run = subprocess.run([sys.executable, path, *options], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                         env=child_environment)
    assert run.returncode == 0, run.stderr
    if path.name == "thresholds.py":
        row, = json.loads((tmp_path / "record.json").read_text())
        assert row["unit"] == "s" and row["value"] > 0 and row["patients"] == 169 and row["decided_otherwise"] == 0
        assert 0.9 < row["accuracy_clear"] == row["accuracy_encrypted"] < 1
        assert row["preset"] == "test-n12-boot-insecure" and row["switching"].startswith("test-switch-")
        assert row["backend"] == device.partition(":")[0] and row["device"] and row["commit"]


def test_the_first_program_is_short():
    first = blocks(ROOT / "README.md", "python")[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 12


def test_the_changelog_is_short():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert any(line.startswith("## 0.1.0") for line in lines) and len(lines) < 80


def test_commands_exist():
    launcher = (ROOT / "latticino").read_text()
    for path in DOCUMENTS:
        for command in re.findall(r"\./latticino (\w+)", path.read_text()):
            assert f'"{command}"' in launcher, f"{name_of(path)} names ./latticino {command}"


def test_links_lead_somewhere():
    for path in DOCUMENTS:
        prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", prose):
            assert (path.parent / target).exists(), f"{name_of(path)} links to {target}"


def maker_of_the_reference():
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_of_docstrings_come_out_whole():
    rule = "=====  ======  ====="
    table = [rule, "name   levels  keys", rule, "one    0       none", "two    1       some", "               more", rule, "after"]
    assert maker_of_the_reference().markdown("\n".join(table)).splitlines() == [
        "| name | levels | keys |", "| --- | --- | --- |", "| one | 0 | none |", "| two | 1 | some more |", "after"]
    assert "| operation | levels | rotations of each ciphertext |" in (ROOT / "docs" / "api.md").read_text()


def test_the_api_reference_is_up_to_date():
    module = maker_of_the_reference()
    assert (ROOT / "docs" / "api.md").read_text() == module.text(), (
        "write it again: ./latticino python docs/make_api.py > docs/api.md")
    listed = {name for names in module.GROUPS.values() for name in names}
    assert set(lt.__all__) - {"__version__", "errors"} == {name for name in listed if "." not in name}
    inner = {f"{room.__name__.split('.')[-1]}.{name}" for room in (lt.tfhe, lt.nn, lt.cluster) for name in room.__all__}
    assert inner == {name for name in listed if "." in name}


def test_every_error_has_a_cause_and_a_remedy():
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    rows = "\n".join(re.findall(r"^\| `.*\|.+\|.+\|$", page, re.MULTILINE))
    assert [name for name in lt.errors.__all__ if name != "Error" and f"| `{name}`" not in rows] == []


def test_every_public_name_has_a_docstring():
    assert [n for n in lt.__all__ if n != "__version__" and not getattr(lt, n).__doc__] == []


def test_help_of_every_command(capsys):
    for command in ("demo", "info", "explain", "bench", "conformance"):
        with pytest.raises(SystemExit) as done:
            cli.main([command, "--help"])
        assert done.value.code == 0 and "usage" in capsys.readouterr().out


def test_errors_end_a_command_with_their_message(capsys):
    assert cli.main(["explain", "no-such-set"]) == 1
    assert "ParameterError" in capsys.readouterr().err
    assert cli.main(["explain", "test-n10-boot-insecure"]) == 0
    assert cli.main(["explain", "tfhe-2-2-v1"]) == 0
    assert "failure probability" in capsys.readouterr().out
    assert cli.main(["info"]) == 0
    listed = capsys.readouterr().out
    assert "n16-d40-boot-v1" in listed and "tfhe-gates-v2" in listed


def test_a_reader_that_has_enough_ends_a_command_quietly(child_environment):
    command = subprocess.Popen([sys.executable, "-m", "latticino", "info"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=child_environment)
    command.stdout.close()
    assert command.stderr.read() == b"" and command.wait() == 1


@pytest.mark.slow
def test_the_conformance_command(device, capsys):
    assert cli.main(["conformance", "--device", device, "--preset", "test-n10-leveled-insecure"]) == 0
    assert "bit for bit" in capsys.readouterr().out
