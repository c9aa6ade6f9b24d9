"""Results of saved programs that may not fit level 0, where `lt.to_bytes(y, final=True)` brings those that do."""

import warnings

import numpy as np
import pytest

import latticino as lt
from latticino.saved import files

PRESET = "test-n10-boot-insecure"  # level 0 holds values up to 512


@pytest.mark.parametrize("function, stated, values, fits", [
    (lambda x: x * 500, (-1, 1), [1.0, -1], True), (lambda x: x * 520, (-1, 1), [1.0, -1], False),
    (lambda x: x + 0, (0, 600), [600.0, 0], False), (lambda x: (x * 600).declare(-90, 90), (-1, 1), [0.1, -0.1], True),
    (lambda x: x * 520, None, [1.0, -1], False), (lambda x: x * 500, None, [1.0, 0.1], True),
    # All 64 values may be 1, because nothing else is known of them.
    (lambda x: x.sum() * 7, None, [0.1] * 64, True), (lambda x: x.sum() * 8, None, [0.1] * 64, False)])
def test_a_misfit_is_what_an_answer_keeps_above_level_0(function, stated, values, fits):
    ctx = lt.Context(PRESET, "cpu", threads=1)
    program = files.from_bytes(files.captured(function, ctx, (lt.Shape((len(values),), None, stated),), {}))
    found = program._misfits
    assert bool(found) != fits and all(m.output == 0 and m.assumed == (stated is None) for m in found)
    assert all("may reach" in m.had and "values below 512 at level 0" in m.needs for m in found)
    client = lt.keygen(ctx)
    ctx.use(client.server_keys(program.plan))
    y = program.run(ctx, *program.encrypt(client, values))
    with warnings.catch_warnings():
        warnings.simplefilter("error", lt.RangeWarning)
        sent = lt.from_bytes(lt.to_bytes(y, final=True), ctx)
    assert ("Answer" in repr(sent)) == fits and (sent.level > 0) != fits
    assert np.abs(client.decrypt(sent).unmarked() - client.decrypt(y).unmarked()).max() < 2**-10


def test_results_at_level_0_and_several_results():
    ctx = lt.Context(PRESET, "cpu", threads=1)
    program = files.from_bytes(files.captured(lambda x: (x.to_level(0), x * 300, x), ctx, (lt.Shape((4,), 2, (0, 5)),), {}))
    assert [m.output for m in program._misfits] == [1] and [y.level for y in program.outputs] == [0, 2, 2]
