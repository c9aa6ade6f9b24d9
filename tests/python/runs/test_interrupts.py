"""Ctrl-C: acts within a second, leaves operands and contexts usable, and ends a command without a long traceback. The
second is that of an idle machine. Other tests run at the same time, so work is limited in CPU time, which they do not
increase. Waiting is limited to LATE seconds, which is less than the work would take without the interrupt.
"""

import signal
import subprocess
import sys
import time
from os import sysconf
from pathlib import Path

import pytest

LATE = 20.0  # in seconds

# Work that takes longer than the test waits, in a loop, so that the interrupt comes somewhere in it.
PREPARE = """
import os, sys, time, warnings
import numpy as np
import latticino as lt
warnings.simplefilter("ignore")
def ckks(name):
    ctx = lt.Context(name, "cpu", threads=THREADS); client = lt.keygen(ctx)
    return ctx, client
THREADS = 2
"""
CKKS = PREPARE + """
ctx, client = ckks("test-n10-boot-insecure")
x = np.linspace(-1, 1, 64)
ctx.use(client.server_keys(ctx.plan(lambda a: (a * a).rotate(1) @ np.ones((64, 64)), x),
                           ctx.plan(lambda a: a.bootstrap(), lt.Shape((64,), 0))))
a = client.encrypt(x)
def usable():
    assert lt.precision(client.decrypt((a * a).rotate(1)), np.roll(x * x, -1)).worst > 12
    program = lt.record(lambda v: v * v)
    assert lt.precision(client.decrypt(program(a)), x * x).worst > 12
"""
TFHE = PREPARE + """
ctx = lt.tfhe.Context("tfhe-2-2-v1", "cpu", threads=THREADS); client = lt.keygen(ctx)
"""
WORK = {
    "bootstrapping": (CKKS, "low = a.to_level(0)", "low.bootstrap()"),
    "products": (CKKS, "", "a * a"),
    "recording": (CKKS, "low = a.to_level(0)", "lt.record(lambda v: v.bootstrap())(low)"),
    "replaying": (CKKS, "p = lt.record(lambda v: v * v * v); p(a)", "p(a)"),
    "encryption": (CKKS, "long = np.zeros(2**19)", "client.encrypt(long)"),
    "keys": (CKKS, "", "client.server_keys(lambda v: sum(v.rotate(k) for k in range(1, 60)), x)"),
    "matrices": (CKKS, "w = np.random.default_rng(1).normal(size=(512, 512)); v = client.encrypt(np.zeros(512)); "
                 "ctx._products.limit = 0", "ctx.matrix_product(w + np.random.rand(), 512, 3)"),
    "plans": (CKKS, "", "ctx.plan(lambda v: [v.to_level(0).bootstrap() for _ in range(20)], x)"),
    "parameters": (PREPARE + "def usable():\n    time.sleep(0.2)\n    assert lt.make_params(N=2**13, levels=2).n == 2**13\n", "",
                   "try: lt.make_params(levels=10**6)\nexcept lt.ParameterError: pass"),
    "tables": (CKKS + "ctx.use(client.server_keys(lambda v: v.apply_lut(abs).rotate(1) + (v * v).rotate(1), x))\n", "",
               "a.apply_lut(abs)"),
    "files": (CKKS, "long = client.encrypt(np.zeros(2**17)); path = sys.argv[1]",
              "lt.save_ciphertext(path, long); lt.load_ciphertext(path, ctx)"),
    "a TFHE product": (TFHE + "ctx.use(client.server_keys())\nu = client.encrypt(np.arange(64), 'u16')\n"
                       "def usable():\n    v = client.encrypt([3, 2], 'u4')\n    assert (client.decrypt(v * v) == [9, 4]).all()\n",
                       "", "u * u"),
    "keys of TFHE": (TFHE + "def usable():\n    assert (client.decrypt(client.encrypt([3, 2], 'u4')) == [3, 2]).all()\n",
                     "", "client.server_keys()"),
    "encryption by TFHE": (TFHE + "many = np.zeros(10_000, np.uint64)\ndef usable():\n    v = client.encrypt([3, 2], 'u4')\n    time.sleep(0.2)\n    assert (client.decrypt(v) == [3, 2]).all()\n", "", "client.encrypt(many, 'u64')  # long"),
    "errors of many ciphertexts": (
        PREPARE + "ctx = lt.tfhe.Context('test-tfhe-2-2-tiny-insecure', 'cpu', threads=THREADS); client = lt.keygen(ctx)\n"
        "many = np.zeros(10**6, np.uint8)\ndef usable():\n    v = client.encrypt([3, 2], 'u4')\n    time.sleep(0.2)\n"
        "    assert (client.decrypt(v) == [3, 2]).all()\n", "", "client.encrypt(many, 'u8')"),
    "explanations": (CKKS + "params = lt.preset('n16-d40-boot-v1')\n", "", "params.explain()"),
    "decryption by TFHE": (TFHE + "many = client.encrypt(np.zeros(500, np.uint64), 'u64')\ndef usable():\n    v = client.encrypt([3, 2], 'u4')\n    time.sleep(0.2)\n    assert (client.decrypt(v) == [3, 2]).all()\n", "",
                           "client.decrypt(many)"),
}
BUSY = CKKS + """
import threading
calls = []
def slow(v):
    calls.append(1)
    time.sleep(60 if len(calls) > 1 else 0)  # the first run computes; later ones hold the queue
    return v * v
threading.Thread(target=lambda: lt.record(slow)(a), daemon=True).start()
while len(calls) < 2:
    time.sleep(0.01)
time.sleep(0.1)
"""
FULL = CKKS + """
size = ctx.resident.bytes
tight = lt.Context("test-n10-boot-insecure", "cpu", threads=1, key_budget=size + size // 2)
owners = [lt.keygen(tight) for _ in range(2)]
plans = [tight.plan(lambda a: (a * a).rotate(1) @ np.ones((64, 64)), x), tight.plan(lambda a: a.bootstrap(), lt.Shape((64,), 0))]
first, second = (tight.bind(c.server_keys(*plans)) for c in owners)
b = second(owners[1].encrypt(x))
held = first.evaluator  # an operation of another client, which does not end
"""
WAITS = {  # work that waits for other threads
    "a recording of another thread": (BUSY, "a * a"), "encryption beside it": (BUSY, "client.encrypt(x)"),
    "a recording beside it": (BUSY, "lt.record(lambda v: v * v)(a)"), "memory for keys": (FULL, "b * b")}


@pytest.mark.slow
@pytest.mark.parametrize("name", WAITS)
def test_an_interrupt_ends_waiting(name, child_environment):
    script, work = WAITS[name]
    script += f"""
try:
    print("ready", flush=True)
    {work}
    print("ended", flush=True)
except KeyboardInterrupt:
    print("caught", flush=True)
os._exit(0)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=child_environment)
    try:
        assert child.stdout.readline() == "ready\n", child.communicate()[1]
        time.sleep(0.5)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "caught\n", child.communicate(timeout=300)[1]
        assert time.monotonic() - start < LATE
    finally:
        child.kill()


LOOP = """
exec(sys.argv[2])
work = compile(sys.argv[3], "work", "exec")
exec(work) if not sys.argv[3].startswith(("u * u", "client.server_keys()", "client.encrypt(many, ")) else None
try:
    print("ready", flush=True)
    while True:
        exec(work)
except KeyboardInterrupt:
    print("caught", time.process_time(), flush=True)
usable()
print("usable", flush=True)
"""


def cpu_seconds(pid):
    """CPU time of a process and its threads so far; None if the system does not state it."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return None
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / sysconf("SC_CLK_TCK")


def rest_of(child):
    """What a child writes until it ends, and its status. `communicate` would lose lines that `readline` has read ahead."""
    return child.stdout.read(), child.stderr.read(), child.wait(300)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORK)
def test_an_interrupt_acts_at_once_and_leaves_all_usable(name, tmp_path, child_environment):
    script, prepare, work = WORK[name]
    child = subprocess.Popen([sys.executable, "-c", script + LOOP, str(tmp_path / "file"), prepare, work],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=child_environment)
    try:
        assert child.stdout.readline() == "ready\n", child.communicate()[1]
        time.sleep(0.3)
        before, start = cpu_seconds(child.pid), time.monotonic()
        child.send_signal(signal.SIGINT)
        caught, _, computed = child.stdout.readline().partition(" ")
        seconds = time.monotonic() - start
        assert caught == "caught", child.communicate()[1]
        ended = rest_of(child)
    finally:
        child.kill()
    assert ended == ("usable\n", "", 0)
    assert seconds < LATE
    if before is not None:
        assert float(computed) - before < 2, "a second of two threads"


@pytest.mark.slow
def test_a_handler_that_raises_nothing_lets_the_work_end(child_environment):
    script = CKKS + """
import signal
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
low = a.to_level(0)
y = low.bootstrap()
print("ready", flush=True)
while not seen:
    y = low.bootstrap()
assert lt.precision(client.decrypt(y), x).worst > 8
signal.signal(signal.SIGINT, signal.default_int_handler)
usable()
print("usable", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=child_environment)
    assert child.stdout.readline() == "ready\n", child.communicate()[1]
    child.send_signal(signal.SIGINT)
    assert rest_of(child) == ("usable\n", "", 0)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["demo", "--preset", "test-n12-boot-insecure", "--no-plot", "--device", "cpu"],
                                     ["conformance", "--device", "cpu"], ["fuzz", "--device", "cpu", "--part", "ckks"],
                                     ["fuzz", "--device", "cpu", "--part", "tfhe"]], ids=lambda c: c[0])
def test_commands_end_in_one_line(command, child_environment):
    if command[0] == "demo":
        import latticino as lt

        pytest.importorskip("sklearn")
        command = [c if c != "test-n12-boot-insecure" or c in lt.presets() else "test-n10-boot-insecure" for c in command]
    fuzz = command[0] == "fuzz"  # prints only at the end, but shows its progress if asked to
    child = subprocess.Popen([sys.executable, "-u", "-m", "latticino", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env=child_environment | {"PYTHONWARNINGS": "ignore", "LATTICINO_PROGRESS": str(int(fuzz))})
    try:
        assert (child.stderr if fuzz else child.stdout).readline()
        time.sleep(0.5)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        err = child.stderr.read()
        assert child.wait(300) == 130, err
    finally:
        child.kill()
    *steps, last = err.splitlines()
    assert last == "latticino: interrupted" and all(fuzz and step.startswith("fuzz of ") for step in steps), err
    assert time.monotonic() - start < LATE  # including the end of the interpreter


LOCKS = """
import signal, time
from latticino.common.locks import Lock
signal.signal(signal.SIGALRM, signal.default_int_handler)
for k in range(60):
    end = time.monotonic() + 20
    try:  # before the timer starts: on a busy machine it may end before the next line
        signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0001 * k)
        while time.monotonic() < end:
            Lock()
        print("lost", flush=True)
        break
    except KeyboardInterrupt:
        pass
"""


def test_no_interrupt_is_lost_where_locks_are_destroyed(child_environment):
    """Plans make and destroy contexts, each with its locks."""
    done = subprocess.run([sys.executable, "-c", LOCKS], capture_output=True, text=True, env=child_environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_interrupt_while_an_error_is_made_is_not_lost(monkeypatch):
    """Python runs its handler at the first line that follows long work of the core: a line of the exception's class."""
    import latticino as lt

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lt.Error, "__init__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lt.make_params(levels=10**6)
    with pytest.raises(lt.ParameterError):
        lt.make_params(levels=10**6)


INJECTED = CKKS + """
import dis, threading
from latticino.common.constants import ConstantCache
from latticino.common.locks import Lock
from latticino.common.recording import Scope
PACKAGE = os.path.dirname(lt.__file__)
ENDS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "CALL_FUNCTION_KW", "CALL_FUNCTION", "CALL_METHOD", "JUMP_BACKWARD")
after = {}
def may_come(frame):  # the interpreter looks for signals where functions begin, and after calls and jumps back
    code = frame.f_code
    if code not in after:
        names = [(i.offset, i.opname) for i in dis.get_instructions(code) if i.opname != "CACHE"]
        after[code] = {o for (_, before), (o, name) in zip([(0, "")] + names, names) if before in ENDS or name == "RESUME"}
    return frame.f_lasti in after[code]
def interrupted(work, k):
    # whether the work was ended by an interrupt at its k-th place
    passed = 0
    def trace(frame, event, _):
        nonlocal passed
        if not frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and may_come(frame):
            passed += 1
            if passed == k:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    try:
        work()
        return passed >= k
    except KeyboardInterrupt as why:
        kept.append(why)  # whatever its frames hold stays alive
        return True
    finally:
        sys.settrace(None)
import contextlib
kept = []
cache = ConstantCache(16, len)
lock = Lock()
def work():
    {work}
def all_is_free():
    assert Scope.current() is None and ctx._debugger is None
    for held in (lock.own, cache.held, ctx._lock.own, ctx._constants.held, ctx._products.held, ctx._tables.held):
        assert not held._is_owned(), "a lock stayed held"
    assert cache.bytes == sum(map(len, cache._kept.values())), "a constant was not counted"
work()
for k in range(1, 100_000):
    if not interrupted(work, k):
        break
    all_is_free()
assert k > {least}, k
usable()
done = []
t = threading.Thread(target=lambda: (usable(), done.append(1)), daemon=True)
t.start()
t.join(60)
assert done, "another thread waits"
print("usable", flush=True)
os._exit(0)
"""
INJECTED_INTO = {
    "constants": ("cache._kept.clear(); cache._bytes = 0; [cache.get(i, lambda: bytes(12)) for i in range(3)]", 15),
    "a cache that is held": ("\n    with cache.held:\n        cache.get(7, lambda: bytes(3))", 5),
    "recording": ("lt.record(lambda v: v + v)(a)", 100),
    "debugging": ("\n    with lt.debug(ctx, client):\n        a + a", 50),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="the places of another interpreter are not known")
@pytest.mark.parametrize("name", INJECTED_INTO)
def test_an_interrupt_at_any_place_leaves_nothing_held_or_open(name, child_environment):
    """At each place in the package where the interpreter checks for signals, one after the other."""
    work, least = INJECTED_INTO[name]
    script = INJECTED.replace("{work}", work).replace("{least}", str(least))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=child_environment, timeout=600)
    assert (done.stdout, done.returncode) == ("usable\n", 0), done.stderr[-3000:]
