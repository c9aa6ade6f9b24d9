"""Compares claims of precision with errors of several runs, because errors of one run may be small or large by chance.
"""

import numpy as np

# Bits that the mean error of a few results of a network under one key may lie above the plan's. Of networks with 3 to 16 results
# it lay up to 0.6 bits above it in the mean over keys, with a deviation of 0.6.
LUCK = 3.5


def rms_ratio(client, program, make, clear, claims, runs=48):
    """Root mean square of errors over that of claimed errors: one run's claim may be small by chance.

    Where a run has one error and one claim, both normal numbers, its square follows F with as many degrees of freedom as
    there are runs: of 48 it lies above 4 with a probability of 2e-6, and where the claim varies little, below 1/4 with
    one of 2e-8.
    """
    errors, claimed = [], []
    for _ in range(runs):
        x = make()
        y = program(client.encrypt(x, **claims(make)))
        errors.append(np.abs(client.decrypt(y).unmarked() - clear(x)).mean())
        claimed.append(y._known.errors(y.size, y._full)[0])
    return float(np.linalg.norm(errors) / np.linalg.norm(claimed))
