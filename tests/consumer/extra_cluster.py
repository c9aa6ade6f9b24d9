"""A batch over a worker of Dask: `./latticino test --more package` runs it where the package is installed as [cluster]."""

import warnings

import distributed
import numpy as np

import latticino as lt

warnings.simplefilter("ignore", lt.SecurityWarning)
ctx = lt.Context("test-n10-boot-insecure", device="cpu")
lt.save_program("score.lt", lambda x: x * x + 0.25, ctx, lt.Shape((4,), 1, (-1, 1)))
program, client, x = lt.load_program("score.lt"), lt.keygen(ctx), np.array([1.0, -0.5, 0.25, 0.0])
with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, \
        lt.cluster.Executor("blobs", lt.cluster.Dask(cluster, device="cpu", threads=1)) as executor:
    result, = executor.map("score.lt", client.server_keys(program.plan), [client.encrypt(x, 1)])
assert np.abs(result.decrypt(client).unmarked() - (x * x + 0.25)).max() < 2**-8
print(f"latticino {lt.__version__} works with distributed {distributed.__version__}")
