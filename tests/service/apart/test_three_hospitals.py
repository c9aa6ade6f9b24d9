"""examples/served/three_hospitals.py at a small set: three tenants with keys of their own, and every decision of the network."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parents[3] / "examples" / "served"


def test_three_hospitals(capsys, monkeypatch):
    spec = importlib.util.spec_from_file_location("three_hospitals", HERE / "three_hospitals.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    seen, compared = [], example.compared
    monkeypatch.setattr(example, "compared", lambda *given: (seen.append(given), compared(*given)))
    example.main(["--preset", "test-n12-boot-insecure", "--patients", "4", "--workers", "2"])
    assert [name for name, *_ in seen] == list(example.HOSPITALS) and len(seen) == 3
    decided = []
    for _, patients, answers, (w, b, v, c) in seen:
        signs = np.where(patients @ w + b > 0, 1, -1)
        assert patients.shape == (4, 30) and answers.tolist() == (signs @ v + c > 0).tolist()
        decided += answers.tolist()
    assert set(decided) == {True, False} and "12 patients of 3 hospitals" in capsys.readouterr().out
    with pytest.raises(AssertionError):  # because the example itself finds one wrong decision
        compared("north", seen[0][1], seen[0][2] ^ np.array([False, False, False, True]), seen[0][3])
