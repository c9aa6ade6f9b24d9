"""Bytes of an answer: as it is, at level 0, and final. `./latticino python bench/answer_bytes.py [PRESET]`."""

import sys
import warnings

import numpy as np

import latticino as lt


def main(preset: str) -> None:
    warnings.simplefilter("ignore", lt.SecurityWarning)
    ctx = lt.Context(preset)
    client = lt.keygen(ctx)
    x = np.random.default_rng(1).uniform(-1, 1, ctx.slots)
    ctx.use(client.server_keys(lambda a: a * a, x))
    print(f"{preset}, product of {ctx.slots:,} values; bytes, and measured bits of the mean error")
    for title, stated in (("range assumed", None), ("range declared", (-1, 1))):
        y = client.encrypt(x, range=stated)
        y = y * y
        low, final = y.to_level(0), lt.to_bytes(y, final=True)
        bits = [lt.precision(client.decrypt(v), x * x).mean for v in (y, low, lt.from_bytes(final, ctx))]
        print(f"  {title}: level {y.level} {len(lt.to_bytes(y)):,} ({bits[0]:.2f}); level 0 {len(lt.to_bytes(low)):,} "
              f"({bits[1]:.2f}); final {len(final):,} ({bits[2]:.2f})")
    total = client.encrypt(x, range=(-1, 1)).to_level(0)
    print(f"  one value, range declared: final {len(lt.to_bytes(client.encrypt(x[:1], range=(-1, 1)), final=True)):,}; "
          f"{ctx.slots:,} fresh values: final {len(lt.to_bytes(total, final=True)):,}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "n16-d40-boot-v1")
