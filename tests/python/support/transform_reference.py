"""Transforms, base conversions and automorphisms by their definitions: tests/data/transforms_v1.txt.

Half and Eval are sums over powers of roots, as src/poly/domain.h defines them; there is no fast
transform here. `python transform_reference.py` prints the file.
"""

import hashlib

import numpy as np

LOG_DEGREES = (10, 13, 16, 17)
HEADER = "# case log_n detail sha256(residues, u32 little endian) first two and last two residues"


def is_prime(q):
    return q > 1 and all(q % d for d in range(2, int(q**0.5) + 1))


def largest_primes(log_n, bits, count):
    step = 2 << log_n
    q = ((1 << bits) - 2) // step * step + 1
    found = []
    while len(found) < count:
        if is_prime(q):
            found.append(q)
        q -= step
    return found


def primes(log_n):
    """One prime each of 20, 25, 30 and 31 bits, then three more as targets of conversions."""
    (p25, r25), (p30, r30), (p31, r31) = (largest_primes(log_n, bits, 2) for bits in (25, 30, 31))
    return [*largest_primes(log_n, 20, 1), p25, p30, p31, r31, r30, r25]


def words(log_n):
    """32-bit words of a linear congruential generator seeded with log_n, to be reduced mod q."""
    state, out = log_n, []
    for _ in range(1 << log_n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(state >> 32)
    return np.array(out, dtype=np.uint64)


def reversed_bits(count):
    bits = count.bit_length() - 1
    return np.array([int(f"{i:0{bits}b}"[::-1], 2) for i in range(count)], dtype=np.int64)


def root_powers(log_n, q):
    """1, psi .. psi^(2N-1) for psi = x^((q-1)/2N), x >= 2 the least that gives a primitive root."""
    x = 2
    while pow(x, (q - 1) // 2, q) != q - 1:
        x += 1
    psi, table = pow(x, (q - 1) >> (log_n + 1), q), [1]
    for _ in range((2 << log_n) - 1):
        table.append(table[-1] * psi % q)
    return np.array(table, dtype=np.uint64)


def half(a, log_n, q):
    """Block k of a: the remainder by X^cols - psi^(cols (2 bitrev(k) + 1))."""
    n, rows = 1 << log_n, 1 << (log_n // 2)
    table = root_powers(log_n, q)
    exponent = n // rows * (2 * reversed_bits(rows) + 1)
    a = a.reshape(rows, -1)
    out = np.zeros_like(a)
    for j in range(rows):
        out = (out + table[exponent * j % (2 * n)][:, None] * a[j]) % q
    return out.reshape(n)


def evaluated(a, log_n, q):
    """a(psi^(2 bitrev(i) + 1)), by way of the remainders."""
    n, rows = 1 << log_n, 1 << (log_n // 2)
    table = root_powers(log_n, q)
    remainder = half(a, log_n, q).reshape(rows, -1)
    exponent = (2 * reversed_bits(n) + 1).reshape(rows, -1)
    out = np.zeros_like(remainder)
    for c in range(n // rows):
        out = (out + table[exponent * c % (2 * n)] * remainder[:, c : c + 1]) % q
    return out.reshape(n)


def converted(a, sources, targets):
    """sum_j centred(a_j (D/q_j)^-1 mod q_j) D/q_j in every target, D the product of the sources."""
    product, out = 1, []
    for q in sources:
        product *= q
    for p in targets:
        total = np.zeros(len(a[0]), dtype=np.int64)
        for limb, q in zip(a, sources):
            y = (limb * pow(product // q, -1, q) % q).astype(np.int64)
            y = np.where(y > q // 2, y - q, y)
            total = (total + y * (product // q % p)) % p
        out.append(total.astype(np.uint64))
    return out


def automorphism(a, galois, q):
    """X -> X^galois on coefficients."""
    n = len(a)
    to = np.arange(n) * galois % (2 * n)
    out = np.zeros_like(a)
    out[to % n] = np.where(to < n, a, (q - a) % q)
    return out


def line(case, log_n, detail, limbs):
    data = np.concatenate(limbs).astype("<u4")
    digest = hashlib.sha256(data.tobytes()).hexdigest()
    return f"{case} {log_n} {detail} {digest} {data[0]} {data[1]} {data[-2]} {data[-1]}\n"


def lines(log_n):
    ring = primes(log_n)
    sources, targets = ring[:4], ring[3:]
    a = [words(log_n) % np.uint64(q) for q in sources]
    text = ""
    for limb, q in zip(a, sources):
        text += line("Half", log_n, q, [half(limb, log_n, q)])
        text += line("Eval", log_n, q, [evaluated(limb, log_n, q)])
    moved = converted(a[:3], sources[:3], targets)
    text += line("ConvertCoeff", log_n, "3to4", moved)
    text += line("ConvertHalf", log_n, "3to4", [half(x, log_n, q) for x, q in zip(moved, targets)])
    for galois in (125, (2 << log_n) - 1):
        turned = [automorphism(x, galois, q) for x, q in zip(a, sources)]
        text += line("AutomorphismCoeff", log_n, galois, turned)
        text += line("AutomorphismEval", log_n, galois,
                     [evaluated(x, log_n, q) for x, q in zip(turned, sources)])
    return text


def text():
    return HEADER + "\n" + "".join(map(lines, LOG_DEGREES))


if __name__ == "__main__":
    print(text(), end="")
