"""Rows of records that the tests of `latticino bench` make up."""


def timed(name, value, unit, **params):
    return {"name": name, "value": value, "unit": unit, "device": "NVIDIA H200", "backend": "cuda",
            "mode": "replayed", "preset": "n16-d40-boot-v1", "date": "2026-11-21", "commit": "unknown",
            "params": {"N": 65536, **params}}
