"""The network of `latticino conformance`: bits are equal after every step, and a difference is found and named."""

import pytest

import latticino as lt
from latticino.measure import network_conformance


@pytest.mark.slow
def test_a_network_gives_equal_bits(device, monkeypatch, capsys):
    """The plain code of one CPU thread against the device; on a CPU against the vector code of several threads."""
    enc = network_conformance.compiled()
    monkeypatch.setattr(network_conformance, "compiled", lambda: enc)
    assert {step.form for step in enc._placement.steps} >= {None, "real"} and enc.plan.bootstraps >= 2
    row = network_conformance.compare(device, 0, 3)
    assert (row["name"], row["value"], row["passed"], row["backend"]) == ("conformance.network", 0, True, device)
    assert row["comparisons"] == len(enc._placement.steps) + 2
    assert ", equal (" in capsys.readouterr().out

    class Other(network_conformance._Side):
        """A network whose recording ends with another sign in the plain code."""

        def _run(self, x):
            y = super()._run(x)
            return y if self.context.simd else -y

    monkeypatch.setattr(network_conformance, "_Side", Other)
    row = network_conformance.compare(device, 0, 3)
    assert (row["value"], row["passed"]) == (2, False)
    assert "recording differs" in capsys.readouterr().out


def test_digests_tell_ciphertexts_apart(device):
    ctx = lt.Context(network_conformance.PRESET, device)
    client = lt.keygen(ctx)
    x = client.encrypt([0.25, 0.5])
    assert network_conformance._digest(x) == network_conformance._digest(x[:])
    assert network_conformance._digest(x) != network_conformance._digest(client.encrypt([0.25, 0.5]))
