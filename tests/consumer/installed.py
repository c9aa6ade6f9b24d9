"""A program of a user who installed the package: `./latticino test --more package` runs it outside the checkout."""

import importlib.metadata
import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

import latticino as lt

assert Path(lt.__file__).is_relative_to(sys.prefix), lt.__file__
assert importlib.metadata.version("latticino") == lt.__version__
names = {str(name) for name in importlib.metadata.files("latticino")}
assert {"latticino/py.typed", "latticino/_native.pyi"} <= names
assert not [name for name in names if "test" in name or not name.startswith(("latticino", "../../../bin/latticino"))], names

warnings.simplefilter("ignore", lt.SecurityWarning)
ctx = lt.Context("test-n10-boot-insecure", device="cpu")
client = lt.keygen(ctx)
x = np.linspace(-1, 1, 100)


def program(a):
    return (a * a + 0.5).bootstrap() - a.rotate(1)


ctx.use(client.server_keys(program, x))
assert lt.precision(client.decrypt(program(client.encrypt(x))), x * x + 0.5 - np.roll(x, -1)).mean > 8

exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", device="cpu")
owner = lt.keygen(exact)
exact.use(owner.server_keys())
a = owner.encrypt(np.array([3, 200, 77], dtype=np.uint8))
assert owner.decrypt(lt.where(a > 100, a - 100, a * 2)).tolist() == [6, 100, 154]

command = Path(sys.prefix, "bin", "latticino")
told = subprocess.run([command, "info"], check=True, capture_output=True, text=True).stdout
assert "n16-d40-boot-v1" in told and lt.__version__ in told
print(f"latticino {lt.__version__} works where it was installed")
