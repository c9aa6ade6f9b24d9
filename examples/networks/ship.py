"""Writes the weights that a recipe trained in the form that ships with the package, together with their record.

    ./latticino python examples/networks/ship.py trained/rnn/rnn.npz

It needs no torch. `--weights FILE` of a demo takes the recipe's own file as well.
"""

import shutil
import sys
from pathlib import Path

from latticino.workloads import trained


def ship(path):
    """The .safetensors file, and its size."""
    out = trained.FOLDER / path.with_suffix(".safetensors").name
    out.parent.mkdir(exist_ok=True)
    trained.write(out, trained.read(path))
    shutil.copy(path.with_suffix(".json"), out.with_suffix(".json"))
    return out, out.stat().st_size


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("{}: {:,} bytes".format(*ship(Path(name))))
