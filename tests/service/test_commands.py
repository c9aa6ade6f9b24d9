"""Commands with mistakes of an operator or a tenant: each error says what to do."""

import os

import pytest
import sqlalchemy as sa

from latticino import cli
from latticino.serve.http import Link
from latticino.serve.store import Store


def said(capsys, *words):
    """The status of a command and what it wrote on standard error."""
    try:
        status = cli.main([str(word) for word in words])
    except SystemExit as end:  # an error of the parser
        status = end.code
    return status, capsys.readouterr().err


@pytest.mark.parametrize("option", ["--memory", "--host-memory", "--reserve", "--most-bytes"])
@pytest.mark.parametrize("amount", ["-5GiB", "many", "1e30GiB", "", "nan", str(2**64)])
def test_amounts_of_memory(option, amount, capsys):
    command = ["tenants", "add", "a"] if option == "--most-bytes" else ["serve", "model"]
    status, text = said(capsys, *command, f"{option}={amount}")
    assert status == 2 and "is no amount of memory" in text


@pytest.mark.parametrize("name", ["\udc80", "none", "x" * 10_000, "9" * 400, "a/b", ""])
def test_names_of_tenants(name, capsys, tmp_path):
    at = ("--folder", tmp_path / "service")
    assert said(capsys, "tenants", "add", "a", *at) == (0, "")
    for action in ("token", "revoke"):
        status, text = said(capsys, "tenants", action, name, *at)
        assert (status, "no tenant" in text) == ((1, True) if name else (2, False)), text
    if name != "none":
        status, text = said(capsys, "tenants", "add", name, *at)
        assert status in (1, 2) and ("1 to 64 letters" in text if name else "needs the name" in text)
    status, text = said(capsys, "tenants", "token", "a", f"--models=score,{name}/", *at)
    assert status == 1 and "1 to 64 letters" in text


def test_folders_with_odd_names(capsys, tmp_path):
    folder = tmp_path / "what? 100%20#x"
    assert said(capsys, "tenants", "add", "a", "--folder", folder) == (0, "")
    assert (folder / "service.sqlite").is_file()
    status, text = said(capsys, "tenants", "add", "b", "--folder", str(tmp_path / "x") + "\udc80")
    assert status == 1 and "folder=" in text and "a string" in text


def test_a_store_that_refuses(capsys, monkeypatch, tmp_path):
    """As if the disk were full."""
    def full(*_):
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    monkeypatch.setattr("latticino.serve.tenants.Tenants.add", full)
    status, text = said(capsys, "tenants", "add", "a", "--folder", tmp_path)
    assert status == 1 and "database or disk is full" in text and "make room on its disk" in text


class Answers:
    """A service that has nothing. It notes the requests."""

    def __init__(self, monkeypatch):
        self.paths = []
        monkeypatch.setattr(Link, "send", self.send)
        monkeypatch.setattr("latticino.serve.client.part_of", lambda kind, data: type("Part", (), {"program": None})())
        monkeypatch.setattr(Link, "json", lambda link, method, path, body=None, query=None: self.json(path))

    def json(self, path):
        if path == "/v1/models":
            return {"models": [{"name": "m", "kind": "program", "digest": "", "parameters": ""}]}
        if path == "/v1/bundles":
            return {"bundles": []}
        self.paths.append(path)
        return {"id": "1", "state": "cancelled", "created": 0, "progress": 0, "error": None}

    def send(self, method, path, *_, **__):
        self.paths.append(path)
        return b""


def test_names_of_bundles_and_jobs(capsys, monkeypatch, tmp_path):
    """Whatever a tenant types is one name, and never another path."""
    monkeypatch.setenv("LATTICINO_TOKEN", "lt_x")
    at = ("--url", "http://127.0.0.1:1")
    answers = Answers(monkeypatch)
    for name, shown in (("../models", "..%2Fmodels"), ("a b?c#d", "a%20b%3Fc%23d"), ("\u0663", "%D9%A3"), ("9" * 400, "9" * 400)):
        assert said(capsys, "keys", "delete", name, *at)[0] == said(capsys, "jobs", "cancel", name, *at)[0] == 0
        assert answers.paths[-2:] == [f"/v1/bundles/{shown}", f"/v1/jobs/{shown}"]
    for command in (("keys", "delete", "\udc80"), ("jobs", "cancel", "\udc80")):
        status, text = said(capsys, *command, *at)
        assert status == 1 and "service: had name=" in text
    (tmp_path / "token").write_bytes(b"\xff\xfe\0")
    status, text = said(capsys, "jobs", *at, "--token-file", tmp_path / "token")
    assert status == 1 and "a token of other characters" in text


class TwoModels(Answers):
    """A service with two models, and a bundle and a job of each. One bundle more is of a model that is served no longer."""

    names = "ab"

    def json(self, path):
        if path == "/v1/models":
            return {"models": [{"name": n, "kind": "program", "digest": f"digest-{n}", "parameters": ""} for n in self.names]}
        if path == "/v1/bundles":
            return {"bundles": [{"model": f"digest-{n}", "hash": f"bundle-{n}", "state": "ready", "key_id": None, "size": 1000,
                                 "reason": None} for n in "abc"]}
        if path == "/v1/jobs":
            return {"jobs": [{"model": f"digest-{n}", "id": f"job-{n}", "state": "done", "created": 0, "progress": 1.0,
                              "error": None} for n in "ab"]}
        return super().json(path)


def test_tokens_for_several_models(capsys, monkeypatch):
    """Lists show all models, each row with its name, or one. What needs one model says how to name it."""
    monkeypatch.setenv("LATTICINO_TOKEN", "lt_x")
    at = ("--url", "http://127.0.0.1:1")
    answers = TwoModels(monkeypatch)

    def listed(*words):
        assert cli.main([*words, *at]) == 0
        return [(line.split()[0], line.split()[-1]) for line in capsys.readouterr().out.splitlines()]

    assert listed("keys", "list") == [("bundle-a", "a"), ("bundle-b", "b"), ("bundle-c", "-")]
    assert listed("jobs") == [("job-a", "a"), ("job-b", "b")]
    assert listed("keys", "list", "--model", "b") == [("bundle-b", "-")]  # a dash, because the key id is not known
    assert listed("jobs", "list", "--model", "b") == [("job-b", "100%")]
    answers.names = "a"  # the others are served no longer: their rows do not look like rows of this one
    assert listed("keys", "list") == [("bundle-a", "a"), ("bundle-b", "-"), ("bundle-c", "-")]
    assert listed("jobs") == [("job-a", "a"), ("job-b", "-")]
    answers.names = "ab"
    for words in (("keys", "delete", "bundle-a"), ("keys", "push", __file__)):
        status, text = said(capsys, *words, *at)
        assert status == 1 and "no name of a model; needs one of a, b; pass --model NAME" in text
    for words in (("keys", "list"), ("jobs",), ("jobs", "cancel", "1"), ("keys", "delete", "bundle-a")):
        status, text = said(capsys, *words, *at, "--model", "c")
        assert status == 1 and "the model 'c'; needs one of a, b; pass --model NAME" in text
    assert not any("job" in path for path in answers.paths[-1:])  # nothing was cancelled
    assert said(capsys, "jobs", "cancel", "job-a", *at)[0] == 0 and answers.paths[-1] == "/v1/jobs/job-a"
    assert said(capsys, "keys", "delete", "bundle-a", *at, "--model", "a")[0] == 0
    assert answers.paths[-1] == "/v1/bundles/bundle-a"
    assert said(capsys, "keys", "delete", "bundle-c", *at)[0] == 0  # of a model that nobody can name any more
    assert answers.paths[-1] == "/v1/bundles/bundle-c"


def test_no_service_in_a_folder(capsys, tmp_path, monkeypatch):
    """A command in the wrong folder makes no new service there, unless it adds the first tenant."""
    monkeypatch.chdir(tmp_path)
    for words in (("list",), ("token", "a"), ("revoke", "a")):
        status, text = said(capsys, "tenants", *words)
        assert status == 1 and "no service in latticino-service" in text and "--folder" in text
    assert os.listdir(tmp_path) == []
    assert said(capsys, "tenants", "add", "a") == (0, "") and said(capsys, "tenants", "list") == (0, "")
    Store(f"sqlite:///{tmp_path}/latticino-service/service.sqlite").close()


@pytest.mark.parametrize("words, status, needs", [
    (["list", "a"], 2, "takes no 'a'"), (["list", "--days", "3"], 1, "it belongs to token"), (["add", "b", "--models", "x"], 1, "it belongs to token"),
    (["token", "a", "--weight", "2"], 1, "it belongs to add"), (["revoke", "a", "--most-jobs", "2"], 1, "it belongs to add"),
    (["token", "a", "--models", ""], 1, "1 to 64 letters"), (["token"], 2, "needs the name")])
def test_what_tenants_would_not_read_is_refused(words, status, needs, capsys, tmp_path):
    at = ("--folder", tmp_path / "service")
    assert said(capsys, "tenants", "add", "a", *at) == (0, "")
    have, text = said(capsys, "tenants", *words, *at)
    assert have == status and needs in text


def test_an_empty_store_is_no_default(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text = said(capsys, "tenants", "add", "a", "--store", "")
    assert status == 1 and "no address of a database" in text


@pytest.mark.parametrize("command", [["tenants", "add", "a"], ["serve", "model"]])
def test_folders_that_cannot_be_made(command, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        status, text = said(capsys, *command, "--folder", folder)
        assert status == 1 and "FileError" in text and "--folder" in text
