"""Small contexts that many tests share: keys are made once for all their programs.

Every test that asks for `device`, `ctx` or `client` runs on each device that is there.

Markers: `slow` for a test of over a second on an idle core, `gpu` for one that needs a GPU; all that are not slow are `quick`.
A test that takes longer than its time fails. If it does not return even then, the process ends and prints its stack.
"""

import faulthandler
import os
import signal
import threading
from collections import Counter
from pathlib import Path

# Set before numpy is imported: numpy's small factorizations take a hundred times as long if threads wait for a busy
# machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

import latticino as lt
from latticino import _native
from latticino.common import progress_bar

PRESET = "test-n10-boot-insecure"
GPU = _native.cuda_built() and _native.cuda_device_count() > 0
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]  # parameters of fixtures
SECONDS = 900  # seconds of one test, including its fixtures; the longest takes a minute on an idle machine
STDERR = pytest.StashKey[int]()

# A shell lets background processes ignore SIGINT, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    # Tests use small insecure sets, each of which would warn.
    config.addinivalue_line("filterwarnings", "ignore::latticino.errors.SecurityWarning")
    for line in ("slow: over a second", "quick: whatever is not slow", "gpu: needs a GPU",
                 "seconds(n): the time that the test may take"):
        config.addinivalue_line("markers", line)
    config.stash[STDERR] = os.dup(2)  # before pytest reads it


def pytest_report_header():
    return f"latticino devices: {'cpu, cuda' if GPU else 'cpu'}"


@pytest.hookimpl(wrapper=True, tryfirst=True)  # both before and after -m selects tests
def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("slow") is None:
            item.add_marker("quick")
        if not GPU and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))
    yield
    # Files with the most slow tests come first, then those with the most tests. Processes take whole files, so a
    # process that starts a long file last would run alone at the end.
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (-slow[item.path], -count[item.path], item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Ends a test that hangs, and names it."""
    marked = item.get_closest_marker("seconds")
    seconds = marked.args[0] if marked else SECONDS

    def late(*_):
        raise TimeoutError(f"{item.nodeid} took over {seconds} s")

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        return (yield)
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(2 * seconds, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def settings_of_the_process():
    """Fails a test that leaves something changed that later tests would see."""
    before = progress_bar._State.asked
    yield
    after, progress_bar._State.asked = progress_bar._State.asked, before
    assert after is before, "lt.progress is set: use it as a context manager, or bring the setting back"


@pytest.fixture(scope="session", params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(scope="session")
def ctx(device):
    return lt.Context(PRESET, device, threads=1)


@pytest.fixture(scope="session")
def client(ctx):
    return lt.keygen(ctx)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def encrypted(ctx, client):
    """Runs a program on encrypted arguments, with only the keys that its plan names, and decrypts the result."""

    def run(program, *arguments, **options):
        ctx.use(client.server_keys(program, *arguments))
        return client.decrypt(program(*[client.encrypt(x, **options) for x in arguments]))

    return run


@pytest.fixture(scope="session")
def child_environment():
    """The environment of a Python process that must find this package, wherever it starts."""
    package = str(Path(lt.__file__).resolve().parent.parent)
    return dict(os.environ, PYTHONPATH=os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])]))
