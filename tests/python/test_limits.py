"""What a machine does not have: a GPU, memory. Each in a process of its own, with nothing replaced."""

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


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def test_cuda_without_a_gpu_is_an_error():
    if _native.cuda_built() and _native.cuda_device_count() > 0:
        pytest.skip("a GPU answers")
    done = run("import latticino as lt\nlt.Context('test-n10-leveled-insecure', device='cuda')")
    assert done.returncode == 1 and "latticino.errors.DeviceError: Context: had" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_operands_outlive_running_out_of_memory():
    done = run(OUT_OF_MEMORY)
    assert done.stdout == "works on\n", done.stderr
