"""The page of web/ in headless Chromium against a server on this machine: `./latticino test --more browser` runs this file.

LATTICINO_WASM_FOLDER names the folder of the build, LATTICINO_CHROMIUM the browser, LATTICINO_SCREENSHOT a file for a
picture of the page (none: it is not kept).
"""

import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright
from server import Model, make_server


@pytest.fixture(scope="module")
def model():
    return Model()


@pytest.fixture(scope="module")
def address(model):
    server = make_server(os.environ["LATTICINO_WASM_FOLDER"], model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses root otherwise
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["LATTICINO_CHROMIUM"], args=options)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    page, problems = browser.new_page(viewport={"width": 800, "height": 900}), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(address)
    yield page
    page.close()
    assert problems == []


def draw(page, points):
    """A line through points of the unit square."""
    box = page.locator("#pad").bounding_box()
    for i, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def zero():
    turns = np.linspace(0, 2 * math.pi, 40)
    return [(0.5 + 0.2 * math.sin(t), 0.5 - 0.32 * math.cos(t)) for t in turns]


def test_a_digit_is_recognised_without_being_seen(page, model):
    page.locator("#send:enabled").wait_for(timeout=60_000)
    draw(page, zero())
    pixels = np.array(page.evaluate("pixels()"))
    assert pixels.shape == (64,) and pixels.max() > 0.5
    page.click("#send")
    expect(page.locator("#answer")).not_to_have_text("?", timeout=60_000)
    shown = np.array([float(text) for text in page.locator(".score").all_text_contents()])
    expected = model.weights @ pixels + model.bias
    np.testing.assert_allclose(shown, expected, atol=2e-3)
    assert page.locator("#answer").text_content() == str(int(np.argmax(expected))) == "0"
    assert page.locator("#problem").text_content() == ""
    if "LATTICINO_SCREENSHOT" in os.environ:
        page.locator("main").screenshot(path=os.environ["LATTICINO_SCREENSHOT"])


def test_requests_hold_no_pixels(page, model):
    """What leaves the page: a bundle of keys, and ciphertexts whose bytes say nothing about a blank drawing."""
    sent = []
    page.on("request", lambda request: sent.append((request.method, request.url, request.post_data_buffer)))
    page.reload()
    page.locator("#send:enabled").wait_for(timeout=60_000)
    page.click("#send")
    expect(page.locator("#answer")).not_to_have_text("?", timeout=60_000)
    page.click("#send")
    page.locator("#send:enabled").wait_for(timeout=60_000)
    bodies = [body for method, url, body in sent if method == "POST"]
    assert len(bodies) == 2 and len(bodies[0]) == len(bodies[1]) and bodies[0] != bodies[1]
    assert {method for method, _, _ in sent} == {"GET", "PUT", "POST"}


def test_an_error_of_the_server_is_shown(browser, address, model):
    page = browser.new_page()
    page.goto(address)
    page.locator("#send:enabled").wait_for(timeout=60_000)
    other = browser.new_page()  # another page, with another key, takes its place
    other.goto(address)
    other.locator("#send:enabled").wait_for(timeout=60_000)
    page.click("#send")
    expect(page.locator("#problem")).not_to_be_empty(timeout=60_000)
    assert "status 400" in page.locator("#problem").text_content()
    assert "key" in page.locator("#problem").text_content()
    page.close(), other.close()


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


def test_a_tampered_answer_is_refused(page):
    page.route("**/answer", lambda route: route.fulfill(body=b"latticino" * 50))
    page.locator("#send:enabled").wait_for(timeout=60_000)
    page.click("#send")
    expect(page.locator("#problem")).to_contain_text("FileError", timeout=60_000)
    page.unroute("**/answer")


def test_folder_holds_what_the_page_needs():
    names = {path.name for path in Path(os.environ["LATTICINO_WASM_FOLDER"]).iterdir()}
    assert {"index.html", "page.css", "page.mjs", "client.mjs", "worker.mjs", "latticino.mjs", "latticino.wasm"} <= names
