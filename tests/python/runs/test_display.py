"""Tables in notebooks: facts, escaped, with nothing secret and nothing loaded from elsewhere."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import latticino as lt
from latticino.common import display


class Balanced(HTMLParser):
    """Raises where tags do not match, and collects the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert not {"src", "href", "onclick"} & {name for name, _ in attributes}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def shown(thing):
    text = thing._repr_html_()
    assert "<script" not in text and "url(" not in text
    assert not re.search(r"(?<!border-)(background|color):(?!none|inherit)", text), "colours are the page's own"
    return " ".join(Balanced(text).text)


@pytest.fixture(scope="module")
def world(ctx, client):
    keys = client.server_keys(lambda a: (a * a).rotate(1), np.zeros(64), public=True)
    return keys, client.encrypt(np.linspace(0, 1, 64), range=(0, 1))


def test_ciphertexts_tell_level_scale_slots_precision_and_memory(ctx, client, world):
    keys, x = world
    ctx.use(keys)
    text = shown(x * x)
    y = x * x
    for part in (f"{y.level} of {ctx.level}", "2^40.0", "64", f"{y.expected_bits:.1f} bits",
                 "declared range, at least", display.size(y.nbytes), ctx.params.name):
        assert part in text
    assert "assumed: values in the unit box" in shown(client.encrypt(np.zeros(8)))
    assert "calibrated on sample data" in shown(client.encrypt(np.zeros(8), like=np.ones(8)))


def test_contexts_sessions_clients_keys_plans_and_recordings(ctx, client, world):
    keys, x = world
    ctx.use(keys)
    plan = ctx.plan(lambda a: (a * a).bootstrap(), np.zeros(64))
    recorded = lt.record(lambda a: a * a)
    before = shown(recorded)
    recorded(x)
    for thing, parts in {
        ctx: (ctx.params.name, ctx.device, keys.id, "NOT held to 128 bits"),
        ctx.bind(keys): ("Session of key " + keys.id,),
        client: (client.key_id, "never send it"),
        keys: ("public key", "yes", display.size(keys.bytes), "rotations"),
        ctx.params: (f"{ctx.params.n:,}", "bootstrapping keeps"),
        recorded: ("<lambda>", "(64,)"),
    }.items():
        text = shown(thing)
        assert all(part in text for part in parts), (parts, text)
    text = shown(plan)
    assert "peak memory" in text and plan.notes[0] in text and "assumed" not in text.split("bits")[0]
    assert "Not recorded yet" in before and "Not recorded yet" not in shown(recorded)
    assert "n16-d40-boot-v1" in shown(lt.presets()) and lt.presets() == list(lt.presets())


def test_tfhe_shows_the_same_facts():
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    owner = lt.keygen(exact)
    keys = owner.server_keys()
    exact.use(keys)
    x = owner.encrypt([1, 2, 3], "u8")
    for thing, parts in {
        exact: (exact.arithmetic, keys.id), exact.bind(keys): ("TFHE session",), owner: (owner.key_id,), keys: (keys.id,),
        exact.params: ("blocks of 2 bits",),
    }.items():
        text = shown(thing)
        assert all(part in text for part in parts), (parts, text)
    assert "u8" in shown(x) and "exact" in shown(x) and f"2^{x.log_failure:.1f}" in shown(x)
    assert "bootstrappings" in shown(exact.plan(lambda v: v + 1, x))
    assert "tfhe-2-2-v1" in shown(lt.tfhe.presets())


def test_what_is_not_encrypted_says_so():
    for ctx in (lt.Context("test-n10-boot-insecure", "not-encrypted"),
                lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted")):
        owner = lt.keygen(ctx)
        x = owner.encrypt(np.ones(4, np.uint8))
        assert "NOT ENCRYPTED" in shown(ctx) and "NOT ENCRYPTED" in shown(x)
        shown(owner), shown(owner.server_keys())


def test_texts_are_escaped(ctx):
    for text in (display.facts("<b>", [("<i>", "<script>alert(1)</script>")], ["&"]),
                 display.table("<b>", ["<i>"], [["<u>"]])):
        assert "<script>" not in text and "<b>" not in text and "<i>" not in text and "<u>" not in text
        assert "&lt;b&gt;" in text

    def program(a):
        return a

    program.__qualname__ = "<img src=x onerror=alert(1)>"
    assert "<img" not in lt.record(program)._repr_html_()


def test_sizes_and_times_in_words():
    assert [display.size(n) for n in (0, 1023, 1536, 5 << 20, 3 << 30)] == [
        "0 bytes", "1,023 bytes", "1.5 KiB", "5.0 MiB", "3.00 GiB"]
    assert [display.seconds(s) for s in (12.3456, 0.0123, 4.5e-6)] == ["12.3 s", "12.3 ms", "4.5 us"]
