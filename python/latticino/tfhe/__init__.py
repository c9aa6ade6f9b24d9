"""TFHE: exact computing on encrypted booleans and unsigned integers.

    ctx = lt.tfhe.Context("tfhe-2-2-v1")
    client = lt.keygen(ctx)
    ctx.use(client.server_keys())
    x = client.encrypt([3, 200], dtype="u8")
    client.decrypt(lt.where(x < 100, x + 1, 0))

Keys, files and devices as for CKKS; docs/tfhe.md has the costs.
"""

from .array import EncryptedArray
from .client import Client, ServerKeys
from .context import Context, Session, preset, presets
from .debug import NotEncryptedArray
from .plan import Plan, Shape

__all__ = ["Client", "Context", "EncryptedArray", "NotEncryptedArray", "Plan", "ServerKeys", "Session", "Shape",
           "preset", "presets"]
