"""Sends encrypted rows to service_server.py, which multiplies them by its weights."""

import sys
from urllib.request import urlopen

import numpy as np

import latticino as lt

x = np.random.default_rng(2).uniform(-1, 1, (10, 16))
ctx = lt.Context("n13-d40-leveled-v1", "cpu")
client = lt.keygen(ctx)
keys = client.server_keys(lambda x: x @ np.ones((16, 4)), x)
urlopen(f"http://localhost:{sys.argv[1]}/keys", lt.to_bytes(keys)).close()
with urlopen(f"http://localhost:{sys.argv[1]}/", lt.to_bytes(client.encrypt(x))) as answer:
    result = client.decrypt(lt.from_bytes(answer.read(), ctx)).unmarked()
print(result.round(2))
