"""The page of web/ in headless Chromium against `latticino serve`: `./latticino test --more browser` runs this file.

LATTICINO_WASM_FOLDER names the folder of the build, LATTICINO_CHROMIUM the browser, LATTICINO_SCREENSHOT a file for a
picture of the page (none: it is not kept).
"""

import http.client
import json
import math
import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from digits import Digits
from playwright.sync_api import expect, sync_playwright

import latticino as lt
from latticino.serve.manifest import CHUNK
from running import Running

FOLDER = os.environ["LATTICINO_WASM_FOLDER"]
PATIENCE = 120_000  # milliseconds that a busy machine may take for keys, their upload and their check


@pytest.fixture(scope="module")
def digits():
    return Digits()


@pytest.fixture(scope="module")
def service(tmp_path_factory, digits):
    folder = tmp_path_factory.mktemp("service")
    digits.save(folder / "digits.lt")
    running = Running(folder / "store", [f"digits={folder / 'digits.lt'}"], "--page", FOLDER, "--reserve", "1MiB")
    yield running
    assert running.stop() == 0, running.log.read_text()


@pytest.fixture(scope="module")
def token(service):
    return service.tenant("browser")


@pytest.fixture(scope="module")
def browser():
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # otherwise Chromium refuses to run as root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["LATTICINO_CHROMIUM"], args=options)
        yield browser
        browser.close()


@pytest.fixture
def sent():
    """Requests of the page: method, address, headers, body."""
    return []


@pytest.fixture
def page(browser, service, sent):
    page, problems = browser.new_page(viewport={"width": 800, "height": 1000}), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: sent.append((r.method, r.url, r.headers, r.post_data_buffer)))
    page.goto(f"{service.url}/page/")
    yield page
    page.close()
    assert problems == []


def connect(page, token):
    page.fill("#token", token)
    page.click("#access button")


def ready(page, token):
    connect(page, token)
    page.locator("#send:enabled").wait_for(timeout=PATIENCE)


def ask(page):
    page.click("#send")
    page.locator("#send:enabled").wait_for(timeout=PATIENCE)


def draw(page, points):
    """Draws a line through points of the unit square."""
    box = page.locator("#pad").bounding_box()
    for i, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def zero():
    turns = np.linspace(0, 2 * math.pi, 40)
    return [(0.5 + 0.2 * math.sin(t), 0.5 - 0.32 * math.cos(t)) for t in turns]


def test_a_digit_is_recognised_without_being_seen(page, digits, service, token):
    assert digits.accuracy > 0.95
    ready(page, token)
    draw(page, zero())
    pixels = np.array(page.evaluate("pixels()"))
    assert pixels.shape == (64,) and pixels.max() > 0.5
    ask(page)
    shown = np.array([float(text) for text in page.locator(".score").all_text_contents()])
    expected = digits.scores(pixels)
    np.testing.assert_allclose(shown, expected, atol=5e-3)
    assert page.locator("#answer").text_content() == str(int(np.argmax(expected))) == "0"
    assert page.locator("#problem").text_content() == ""
    assert [row["state"] for row in lt.connect(service.url, token).jobs()] == ["done"]
    if "LATTICINO_SCREENSHOT" in os.environ:
        page.locator("main").screenshot(path=os.environ["LATTICINO_SCREENSHOT"])


def test_what_leaves_the_page_says_nothing_of_the_drawing(page, token, sent):
    """Keys in pieces, and two ciphertexts of one blank drawing whose bytes differ. The token is in a header, never in an address."""
    ready(page, token)
    ask(page), ask(page)
    asked = [(method, urlsplit(url).path, headers, body) for method, url, headers, body in sent if "/v1/" in url]
    assert all(headers["authorization"] == f"Bearer {token}" for _, _, headers, _ in asked)
    assert not any(token in url for _, url, _, _ in sent)
    inputs = [body for method, path, _, body in asked if (method, path) == ("POST", "/v1/jobs")]
    assert len(inputs) == 2 and len(inputs[0]) == len(inputs[1]) and inputs[0] != inputs[1]
    (manifest,) = (json.loads(body) for method, path, _, body in asked if (method, path) == ("POST", "/v1/bundles"))
    pieces = [len(body) for method, path, _, body in asked if method == "PUT" and path.startswith("/v1/chunks/")]
    assert len(pieces) == len(manifest["chunks"]) >= 2 and sum(pieces) == manifest["size"] and max(pieces) == CHUNK


def test_what_the_service_refuses_is_shown(page, service, token):
    connect(page, "no such token")
    expect(page.locator("#problem")).to_contain_text("ValueError", timeout=PATIENCE)  # a token has no spaces
    connect(page, "none-such")
    expect(page.locator("#problem")).to_contain_text("no valid token", timeout=PATIENCE)
    ready(page, token)
    own = lt.connect(service.url, token)
    for row in own.bundles():
        own.delete(row["hash"])
    ask(page)
    expect(page.locator("#problem")).to_contain_text("ServiceError")
    expect(page.locator("#problem")).to_contain_text("connect again, which makes new keys")
    ready(page, token)
    ask(page)
    assert page.locator("#problem").text_content() == "" and page.locator("#access").is_hidden()


def test_two_pages_and_a_front_that_dies(page, browser, service, token):
    """Each page has keys of its own under one token, and repeats the requests that the front owes an answer."""
    other = browser.new_page()
    other.goto(f"{service.url}/page/")
    for each in (page, other):
        connect(each, token)
    for each in (page, other):
        each.locator("#send:enabled").wait_for(timeout=PATIENCE)
        each.click("#send")
    service.kill("front")
    for each in (page, other):
        each.locator("#send:enabled").wait_for(timeout=PATIENCE)
        assert each.locator("#problem").text_content() == "" and each.locator(".score").count() == 10
    other.close()


def test_a_connection_that_breaks_in_a_response_is_made_anew(page, token):
    page.evaluate("""() => {
      const real = fetch, broken = new Set();
      globalThis.fetch = async (address, request) => {
        const response = await real(address, request);
        if (broken.has(address.pathname)) return response;
        broken.add(address.pathname);
        return new Response(new ReadableStream({ start(body) { body.error(new TypeError('network error')); } }));
      };
    }""")
    ready(page, token)
    ask(page)
    assert page.locator("#problem").text_content() == "" and page.locator(".score").count() == 10


def test_another_server_is_told_apart(page, token):
    page.route("**/v1/models", lambda route: route.fulfill(body="<html>", content_type="text/html"))
    connect(page, token)
    expect(page.locator("#problem")).to_contain_text("is no JSON; needs one of a service; check the address")


@pytest.mark.parametrize("address, kind, message", [
    ("'score.example'", "ValueError", "the address score.example; needs https://HOST"),
    ("'http://score.example'", "UnsupportedError", "put the service behind TLS"),
    ("location.origin + '/below'", "ServiceError", "no route"),
])
def test_addresses(page, token, address, kind, message):
    name, text = page.evaluate(f"""async () => {{
      const {{ connect }} = await import('./service.mjs');
      try {{ await connect({address}, 'token'); }} catch (error) {{ return [error.name, error.message]; }}
    }}""")
    assert name == kind and message in text


def test_a_worker_passes_typed_errors_on(page):
    got = page.evaluate("""async () => {
      const { start } = await import('./client.mjs');
      const module = await start();
      try { await module.makeClient('latticino-params 2\\n'); } catch (error) {
        module.stop();
        return [error.name, error.message, error instanceof Error];
      }
    }""")
    assert got[0] == "FileError" and "another version" in got[1] and got[2]


def test_a_tampered_answer_is_refused(page, token):
    page.route("**/result", lambda route: route.fulfill(body=b"latticino" * 50))
    ready(page, token)
    ask(page)
    expect(page.locator("#problem")).to_contain_text("FileError")
    page.unroute("**/result")


def test_a_tampered_part_of_the_model_is_refused(page, token):
    def changed(route):
        body = bytearray(route.fetch().body())
        body[len(body) // 2] ^= 1
        route.fulfill(body=bytes(body))

    page.route("**/client", changed)
    connect(page, token)
    expect(page.locator("#problem")).to_contain_text("FileError", timeout=PATIENCE)


def test_foreign_code_does_not_run_in_the_page(page):
    marked = """() => new Promise((done) => {
      addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'globalThis.foreign = 1';
      document.body.append(script);
    })"""
    assert page.evaluate(marked) == "script-src-elem" and page.evaluate("typeof foreign") == "undefined"


def test_every_file_of_the_page_has_its_type_and_the_policy(service):
    types = {"": "text/html; charset=utf-8", "worker.mjs": "text/javascript", "latticino.wasm": "application/wasm",
             "page.css": "text/css; charset=utf-8"}
    for name, kind in types.items():
        connection = http.client.HTTPConnection(urlsplit(service.url).netloc)
        connection.request("GET", f"/page/{name}")
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Type"]) == (200, kind)
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        connection.close()


def test_folder_holds_what_the_page_needs():
    names = {path.name for path in Path(FOLDER).iterdir()}
    assert {"index.html", "page.css", "page.mjs", "client.mjs", "service.mjs", "worker.mjs", "latticino.mjs",
            "latticino.wasm"} <= names


def test_a_service_that_is_full_away_or_silent():
    """Runs in Node, where the test controls the time."""
    done = subprocess.run(["node", str(Path(__file__).with_name("service_link.mjs"))], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "as it should be\n", done.stderr


def test_an_answer_goes_when_another_digit_is_drawn(page, token):
    ready(page, token)
    draw(page, zero())
    ask(page)
    assert page.locator("#answer").text_content() != "?"
    draw(page, zero()[:5])
    assert page.locator("#answer").text_content() == "?" and page.locator(".score").count() == 0
