"""The seed expander and the errors of secret seeds, written from src/crypto/expand.h, src/crypto/gaussian.h and
src/ops/operations.h (SampleGaussian) on top of an independent ChaCha20 and decimal arithmetic."""

import decimal
import hashlib
import struct
import sys

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20


def keystream(key: bytes, counter: int, nonce: bytes, length: int) -> bytes:
    """RFC 8439 keystream. The library's nonce is the 32-bit counter followed by the 96-bit nonce."""
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
    """The known-answer file: one case per line, with the SHA-256 of the residues as u32."""
    lines = ["# seed stream prime_index q n sha256(residues, u32 little endian)"]
    for seed, stream, index, q, n in cases():
        residues = expand_limb(seed, stream, index, q, n)
        digest = hashlib.sha256(struct.pack(f"<{n}I", *residues)).hexdigest()
        lines.append(f"{seed.hex()} {stream} {index} {q} {n} {digest}")
    return "\n".join(lines) + "\n"


def gaussian_table(sigma: str) -> list[int]:
    """round(2^127 Pr[|x| <= k]) as far as it is not 2^127."""
    with decimal.localcontext() as context:
        context.prec = 100
        rate = -1 / (2 * decimal.Decimal(float(sigma)) ** 2)
        weights = [(2 if k else 1) * (rate * k * k).exp() for k in range(200)]
        total, reached, table = sum(weights), decimal.Decimal(0), []
        for weight in weights:
            reached += weight
            entry = int((reached / total * 2**127).to_integral_value())
            if entry == 2**127:
                return table
            table.append(entry)
    raise ValueError("a sigma too wide for 200 entries")


def errors(seed: bytes, index: int, sigma: str, n: int) -> list[int]:
    table = gaussian_table(sigma)
    data = keystream(seed, 0, struct.pack("<QI", index, 2**32 - 1), 16 * n)
    words = [int.from_bytes(data[16 * i : 16 * i + 16], "little") for i in range(n)]
    return [sum(w % 2**127 >= entry for entry in table) * (-1 if w >> 127 else 1) for w in words]


def error_cases():
    """(seed, index, sigma, q, n) of the known-answer file of errors."""
    for i, (index, sigma, q, n) in enumerate(
        [
            (0, "3.19", 12289, 1024),
            (1, "3.19", 2147352577, 65536),
            (2**64 - 1, "0.5", 998244353, 2048),
            (0x123456789ABCDEF0, "4", 1073479681, 4096),
        ]
    ):
        yield hashlib.sha256(b"errors %d" % i).digest(), index, sigma, q, n


def error_text() -> str:
    lines = ["# seed index sigma q n sha256(residues, u32 little endian)"]
    for seed, index, sigma, q, n in error_cases():
        residues = [x % q for x in errors(seed, index, sigma, n)]
        digest = hashlib.sha256(struct.pack(f"<{n}I", *residues)).hexdigest()
        lines.append(f"{seed.hex()} {index} {sigma} {q} {n} {digest}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(error_text() if sys.argv[1:] == ["errors"] else text(), end="")
