"""Tests that need what a machine lacks: no GPU, no memory. Each runs in a separate process, and nothing is replaced."""

import subprocess
import sys

import pytest

from latticino import _native

OUT_OF_MEMORY = """
import resource
import numpy as np
import latticino as lt

ctx = lt.Context("test-n10-leveled-insecure", device="cpu", threads=1)
client = lt.keygen(ctx)
x, large = np.linspace(-1, 1, ctx.slots), np.zeros(ctx.slots * 512)
ctx.use(client.server_keys(lambda a: a * a, x))
a = client.encrypt(x)
client.decrypt(a * a)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, resource.RLIM_INFINITY))
for request in (lambda: client.encrypt(large), lambda: [a + a for _ in range(4096)]):
    try:
        request()
    except lt.OutOfMemoryError as error:
        assert "needs" in str(error), error
    else:
        raise SystemExit("there was memory enough")
assert lt.precision(client.decrypt(a * a), x * x).worst > 14
print("works on")
"""

# Allocates the largest ciphertexts until the device is full, twice: released memory is available again.
OUT_OF_DEVICE_MEMORY = """
import numpy as np
import latticino as lt

ctx = lt.Context("n16-d40-boot-v1", device="cuda")
client = lt.keygen(ctx)
x = np.linspace(-1, 1, ctx.slots)
ctx.use(client.server_keys(lambda a: a * a, x))
a = client.encrypt(x)
total = ctx._native.device["total_bytes"]
for _ in range(2):
    held = []
    try:
        while len(held) * a.nbytes < 2 * total:
            held.append(a + a)
    except lt.OutOfMemoryError as error:
        assert "needs" in str(error) and error.operation, error
        assert len(held) * a.nbytes > total // 4
    else:
        raise SystemExit("there was memory enough")
    last = held.pop()
    del held[-2:]  # room to decrypt in; operands and results stay usable
    assert lt.precision(client.decrypt(last), 2 * x).worst > 14
    del held, last
    assert lt.precision(client.decrypt(a * a), x * x).worst > 14
print("works on")
"""

# One thread encrypts while another records programs that encrypt: with the locks of client and queue
# taken in two orders, each would wait for the other.
TWO_LOCKS = """
import sys
import threading
import numpy as np
import latticino as lt

ctx = lt.Context("test-n10-leveled-insecure", device=sys.argv[1], threads=1)
client = lt.keygen(ctx)
x = np.linspace(-1, 1, 64)
ctx.use(client.server_keys(lambda b: b * b, x))
a, stop, counted = client.encrypt(x), threading.Event(), [0]

def encrypt():
    while not stop.is_set():
        client.encrypt(x)
        client.decrypt_for_sharing(a, noise_bound=1024.0, queries=1)
        counted[0] += 1

threads = [threading.Thread(target=encrypt) for _ in range(2)]
for thread in threads:
    thread.start()
try:
    for _ in range(40):
        try:
            lt.record(lambda b: b + client.encrypt(x))(a)
        except lt.UnsupportedError:
            pass
        else:
            raise SystemExit("an encryption was recorded")
finally:
    stop.set()
for thread in threads:
    thread.join()
assert counted[0] > 0 and lt.precision(client.decrypt(client.encrypt(x) + a), 2 * x).worst > 14
print("works on")
"""


def run(program, environment, *arguments):
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=600,
                          env=environment)


def test_cuda_without_a_gpu_is_an_error(child_environment):
    if _native.cuda_built() and _native.cuda_device_count() > 0:
        pytest.skip("a GPU answers")
    program = "import latticino as lt\nlt.Context('test-n10-leveled-insecure', device='cuda')"
    done = run(program, child_environment)
    assert done.returncode == 1 and "latticino.errors.DeviceError: Context: had" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_operands_outlive_running_out_of_memory(child_environment):
    done = run(OUT_OF_MEMORY, child_environment)
    assert done.stdout == "works on\n", done.stderr


@pytest.mark.gpu
def test_operands_outlive_running_out_of_device_memory(child_environment):
    done = run(OUT_OF_DEVICE_MEMORY, child_environment)
    assert done.stdout == "works on\n", done.stderr


def test_locks_of_client_and_queue_are_taken_in_one_order(device, child_environment):
    done = run(TWO_LOCKS, child_environment, device)
    assert done.stdout == "works on\n", done.stderr
