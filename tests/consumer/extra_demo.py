"""A demo with its plot: `./latticino test --more package` runs it where the package is installed as [demo]."""

import subprocess
import sys
from pathlib import Path

import rich
import safetensors.numpy

words = ["helr", "--preset", "test-n12-boot-insecure", "--data", "digits", "--rows", "16", "--iterations", "1", "--device", "cpu"]
subprocess.run([Path(sys.prefix, "bin", "latticino"), "demo", *words, "--output", "plot.png"], check=True, stdout=subprocess.PIPE)
assert Path("plot.png").read_bytes().startswith(b"\x89PNG")
assert safetensors.numpy.load(safetensors.numpy.save({})) == {} and rich.get_console()
print("the demo works with what [demo] installs")
