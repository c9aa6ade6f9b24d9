"""Sends rows to service_server.py, which multiplies them by its weights."""

import io
import sys
from urllib.request import urlopen

import numpy as np

x = np.random.default_rng(2).uniform(-1, 1, (10, 16))
request = io.BytesIO()
np.save(request, x)
with urlopen(f"http://localhost:{sys.argv[1]}/", request.getvalue()) as answer:
    result = np.load(io.BytesIO(answer.read()))
print(result.round(2))
