"""The folder of a web page next to the routes of a front: `latticino serve --page FOLDER`."""

import asyncio
from pathlib import Path

import pytest

import latticino as lt
from latticino.serve.traffic import Page


@pytest.fixture
def folder(tmp_path):
    outside = tmp_path / "outside.mjs"
    outside.write_text("secret")
    folder = tmp_path / "page"
    (folder / "inner").mkdir(parents=True)
    for name in ("index.html", "page.mjs", "latticino.wasm", "notes.txt", "inner/more.css"):
        (folder / name).write_text(name)
    (folder / "link.mjs").symlink_to(outside)
    return folder


def get(app, path):
    """Status, headers and body of a GET."""
    messages = []

    async def receive():
        await asyncio.Event().wait()  # the client stays connected

    async def send(message):
        messages.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"",
             "headers": [], "scheme": "http", "server": ("127.0.0.1", 80), "http_version": "1.1"}
    asyncio.run(app(scope, receive, send))
    headers = {name.decode().lower(): value.decode() for name, value in messages[0]["headers"]}
    return messages[0]["status"], headers, b"".join(message.get("body", b"") for message in messages[1:])


@pytest.mark.parametrize("path, kind", [("/", "text/html; charset=utf-8"), ("/page.mjs", "text/javascript"),
                                        ("/latticino.wasm", "application/wasm"), ("/inner/more.css", "text/css; charset=utf-8")])
def test_files_have_their_types_and_the_policy(folder, path, kind):
    status, headers, body = get(Page(str(folder)), path)
    assert status == 200 and headers["content-type"] == kind and body.decode() == (path[1:] or "index.html")
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert policy["connect-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/notes.txt", "/none.mjs", "/link.mjs", "/../outside.mjs", "/inner/../../outside.mjs", "/inner"])
def test_nothing_else_is_found(folder, path):
    status, headers, body = get(Page(str(folder)), path)
    assert headers["x-content-type-options"] == "nosniff" and "content-security-policy" in headers
    assert status in (404, 307) and b"secret" not in body and b"notes" not in body


def test_nginx_gets_the_same_policy(folder):
    _, headers, _ = get(Page(str(folder)), "/")
    page = (Path(__file__).parents[2] / "docs" / "browser.md").read_text()
    assert f'add_header Content-Security-Policy "{headers["content-security-policy"]}" always;' in page


def test_a_folder_without_a_page_is_refused(tmp_path):
    with pytest.raises(lt.FileError, match="index.html"):
        Page(str(tmp_path))
