"""Processes that fork: a child refuses the parent's contexts and clients at once, and makes its own."""

import multiprocessing
import os
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import os, threading, time, signal, multiprocessing, concurrent.futures
import numpy as np
import latticino as lt
CKKS, TFHE = "test-n10-leveled-insecure", "test-tfhe-2-2-tiny-insecure"

def raises(kinds, call):
    try:
        call()
    except kinds as why:
        assert why.args[0].count(";") >= 2, why  # what it had, what it needs, what to do
        return
    raise AssertionError("nothing was raised")

def in_child(check):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            check()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def run(body: str, timeout: float = 600) -> str:
    """Runs a separate program, because pytest's process has contexts and threads that would disturb these tests."""
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", HEAD + textwrap.dedent(body)],
                          capture_output=True, text=True, timeout=timeout, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


BOTH = """
ctx, exact = lt.Context(CKKS, "cpu"), lt.tfhe.Context(TFHE, "cpu")
client, other = lt.keygen(ctx), lt.keygen(exact)
program = lambda x: x * x
x = client.encrypt(np.linspace(0, 1, 16))
ctx.use(client.server_keys(program, x, show=False))
exact.use(other.server_keys(show=False))
y = other.encrypt(np.arange(4, dtype=np.uint8), dtype="u2")
y + y, program(x)
"""

REFUSED = """
def check():
    raises(lt.DeviceError, lambda: program(x))
    raises(lt.DeviceError, lambda: x + x)
    raises(lt.DeviceError, lambda: y + y)
    raises((lt.DeviceError, lt.ContextError), lambda: client.encrypt([0.5]))
    raises(lt.ContextError, lambda: client.decrypt(x))
    raises(lt.ContextError, lambda: other.decrypt(y))
    raises((lt.DeviceError, lt.ContextError), lambda: other.encrypt([1], dtype="u2"))
    raises(lt.ContextError, lambda: lt.save_secret_key("/tmp/never-written", client))
    raises(lt.ContextError, lambda: lt.save_secret_key("/tmp/never-written", other))
    raises(lt.DeviceError, lambda: lt.to_bytes(x))
    raises(lt.DeviceError, lambda: lt.keygen(ctx))
    raises(lt.DeviceError, lambda: lt.keygen(exact))
    own = lt.Context(CKKS, "cpu")
    mine = lt.keygen(own)
    own.use(mine.server_keys(program, np.zeros(16), show=False))
    z = program(mine.encrypt(np.linspace(0, 1, 16)))
    assert np.allclose(mine.decrypt(z), np.linspace(0, 1, 16) ** 2, atol=1e-2)
"""


def test_a_child_refuses_recordings_and_makes_its_own():
    run(BOTH + """
scaled = lt.record(lambda v, c: v * c, c=lt.Scalar(-1, 1))
scaled(x, c=0.5)
def check():
    raises(lt.DeviceError, lambda: scaled(x, c=0.25))
    raises(lt.DeviceError, lambda: lt.record(lambda v, c: v * c, c=lt.Scalar(-1, 1))(x, c=0.5))
    own = lt.Context(CKKS, "cpu")
    mine = lt.keygen(own)
    own.use(mine.server_keys(program, np.zeros(16), show=False))
    z = lt.record(lambda v, c: v * c, c=lt.Scalar(-1, 1))(mine.encrypt(np.linspace(0, 1, 16)), c=-0.5)
    assert np.allclose(mine.decrypt(z), np.linspace(0, -0.5, 16), atol=1e-2)
in_child(check)
assert np.allclose(client.decrypt(scaled(x, c=0.25)), np.linspace(0, 0.25, 16), atol=1e-2)
""")


def test_a_child_refuses_at_once_and_makes_its_own():
    run(BOTH + REFUSED + """
in_child(check)
assert np.allclose(client.decrypt(program(x)), np.linspace(0, 1, 16) ** 2, atol=1e-2)
""")


def test_a_child_loads_secret_keys_for_its_own_contexts(tmp_path):
    run(BOTH + f"""
paths = {str(tmp_path / "ckks")!r}, {str(tmp_path / "tfhe")!r}
for path, owner in zip(paths, (client, other)):
    lt.save_secret_key(path, owner)
def check():
    for path, parents, own in zip(paths, (ctx, exact), (lt.Context(CKKS, "cpu"), lt.tfhe.Context(TFHE, "cpu"))):
        raises(lt.DeviceError, lambda: lt.load_client(path, parents))
        lt.load_client(path, own).encrypt(np.ones(1, np.uint8))
in_child(check)
""")


@pytest.mark.slow
def test_a_fork_while_other_threads_compute():
    run(BOTH + REFUSED + """
stop = threading.Event()
def work(call):
    while not stop.is_set():
        call()
threads = [threading.Thread(target=work, args=(c,)) for c in (lambda: program(x), lambda: y + y, lambda: x * np.random.rand(16))]
for t in threads:
    t.start()
time.sleep(0.1)
for _ in range(5):
    in_child(check)
stop.set()
for t in threads:
    t.join()
""")


def test_a_child_that_ends_like_any_program_does_not_hang():
    run(BOTH + """
pid = os.fork()
if pid:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
del x, y, ctx, exact, client, other
""")


def test_pools_of_forked_processes():
    out = run(BOTH + """
def child(i):
    try:
        program(x)
    except lt.DeviceError as why:
        return str(why)

with multiprocessing.get_context("fork").Pool(2) as pool:
    answers = pool.map_async(child, range(4)).get(300)
with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    answers += list(pool.map(child, range(4), timeout=300))
assert all("spawn" in a for a in answers), answers
print(len(answers))
""")
    assert out.strip() == "8"


def _own_context(i):
    import numpy as np

    import latticino as lt

    ctx = lt.Context("test-n10-leveled-insecure", "cpu")
    client = lt.keygen(ctx)
    return float(client.decrypt(client.encrypt(np.full(4, i / 4))).unmarked()[0].real)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_with_contexts_of_their_own(method):
    if method == "fork":  # in a separate program
        run("""
def own(i):
    ctx = lt.Context(CKKS, "cpu")
    client = lt.keygen(ctx)
    return float(client.decrypt(client.encrypt(np.full(4, i / 4))).unmarked()[0].real)
first = own(1)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert np.allclose(pool.map_async(own, range(4)).get(300), np.arange(4) / 4, atol=1e-2)
""")
        return
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        got = pool.map_async(_own_context, range(4)).get(600)
    assert all(abs(v - i / 4) < 1e-2 for i, v in enumerate(got))
