"""Writes files of the native client, in a process whose entropy is fixed (fixed_entropy.c): ``native_files.py JOB``, a
JSON file with the preset, the folder, and what to make."""

import json
import sys
from pathlib import Path

import numpy as np

import latticino as lt


def main(job):
    folder, tfhe = Path(job["folder"]), job["scheme"] == "TFHE"
    context = (lt.tfhe.Context if tfhe else lt.Context)(job["preset"], device="cpu", threads=1)
    client = lt.keygen(context)
    if tfhe:
        keys = client.server_keys(public=job["public"])
    else:
        plan = context.plan(lambda x: (x * x + x.rotate(1)).sum(), lt.Shape((8,)))
        keys = client.server_keys(plan, public=job["public"])
        (folder / "labels.json").write_text(json.dumps({repr(k): v for k, v in plan.keys.items()}))
    (folder / "native_keys").write_bytes(lt.to_bytes(keys))
    for i, x in enumerate(job["encrypt"]):
        values = np.array(x["values"], dtype=x["numpy"]).reshape(x["shape"])
        options = {"dtype": x["type"]} if tfhe else {"range": x["range"] and tuple(x["range"]), "level": x["level"]}
        (folder / f"native_{i}").write_bytes(lt.to_bytes(client.encrypt(values, **options)))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
