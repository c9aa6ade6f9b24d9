"""The seed expander, written from src/crypto/expand.h on top of an independent ChaCha20."""

import hashlib
import struct

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20


def keystream(key: bytes, counter: int, nonce: bytes, length: int) -> bytes:
    """RFC 8439 keystream; the library's nonce is the 32-bit counter before the 96-bit nonce."""
    cipher = Cipher(ChaCha20(key, struct.pack("<I", counter) + nonce), mode=None)
    return cipher.encryptor().update(bytes(length))


def expand_limb(seed: bytes, stream: int, prime_index: int, q: int, n: int) -> list[int]:
    data = keystream(seed, 0, struct.pack("<QI", stream, prime_index), 16 * n)
    return [int.from_bytes(data[16 * i : 16 * i + 16], "little") % q for i in range(n)]


def cases():
    """(seed, stream, prime index, q, n) of the known-answer file."""
    for i, (stream, index, q, n) in enumerate(
        [
            (0, 0, 2147473409, 1024),
            (3, 58, 2147352577, 4096),
            (2**64 - 1, 2**32 - 1, 1073479681, 1024),
            (0x123456789ABCDEF0, 7, 12289, 1000),
            (1, 1, 998244353, 65536),
        ]
    ):
        yield hashlib.sha256(b"expansion %d" % i).digest(), stream, index, q, n


def text() -> str:
    """The known-answer file: one case a line, with the SHA-256 of the residues as u32."""
    lines = ["# seed stream prime_index q n sha256(residues, u32 little endian)"]
    for seed, stream, index, q, n in cases():
        residues = expand_limb(seed, stream, index, q, n)
        digest = hashlib.sha256(struct.pack(f"<{n}I", *residues)).hexdigest()
        lines.append(f"{seed.hex()} {stream} {index} {q} {n} {digest}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(text(), end="")
