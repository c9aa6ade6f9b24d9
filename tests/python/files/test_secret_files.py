"""Files of secret keys through the Python API: passphrases, permissions, and what they may replace."""

import hashlib
import hmac
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import latticino as lt

PASSPHRASE = "correct h\u00f6rse"


@pytest.fixture(scope="module")
def gates():
    ctx = lt.tfhe.Context("test-tfhe-gates-insecure", "cpu", threads=1)
    return ctx, lt.keygen(ctx)


@pytest.mark.slow
def test_a_passphrase_opens_what_it_sealed(ctx, client, gates, tmp_path):
    path, x = tmp_path / "key", np.array([0.5, -0.25])
    lt.save_secret_key(path, client, passphrase=PASSPHRASE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    owner = lt.load_client(path, ctx, passphrase="correct ho\u0308rse")  # the same letters in another Unicode form
    assert owner.key_id == client.key_id
    assert np.allclose(owner.decrypt(client.encrypt(x)), x, atol=1e-3)
    other, secret = gates
    lt.save_secret_key(path, secret, passphrase=b"bytes")
    bits = np.array([True, False])
    assert (lt.load_client(path, other, passphrase=b"bytes").decrypt(secret.encrypt(bits)) == bits).all()
    assert os.listdir(tmp_path) == ["key"]


@pytest.mark.slow
def test_wrong_and_missing_passphrases_are_named(gates, tmp_path):
    ctx, client = gates
    sealed, plain = tmp_path / "sealed", tmp_path / "plain"
    lt.save_secret_key(sealed, client, passphrase=PASSPHRASE)
    lt.save_secret_key(plain, client)
    with pytest.raises(lt.KeyError, match="check the passphrase"):
        lt.load_client(sealed, ctx, passphrase="correct horse")
    with pytest.raises(lt.KeyError, match="passphrase= in Python"):
        lt.load_client(sealed, ctx)
    with pytest.raises(lt.KeyError, match="not encrypted"):
        lt.load_client(plain, ctx, passphrase=PASSPHRASE)
    for wrong in ("", b"", 5, "\ud800"):
        with pytest.raises(lt.ValueError):
            lt.save_secret_key(tmp_path / "new", client, passphrase=wrong)
    assert not (tmp_path / "new").exists()
    damaged = bytearray(sealed.read_bytes())
    damaged[300] ^= 1
    sealed.write_bytes(damaged)
    with pytest.raises(lt.FileError):
        lt.load_client(sealed, ctx, passphrase=PASSPHRASE)


def test_files_that_others_may_read_are_refused(gates, tmp_path):
    ctx, client = gates
    path = tmp_path / "key"
    lt.save_secret_key(path, client)
    for mode in (0o644, 0o660, 0o604):
        path.chmod(mode)
        with pytest.raises(lt.FileError, match="chmod 600"):
            lt.load_client(path, ctx)
    path.chmod(0o600)
    assert lt.load_client(path, ctx).key_id == client.key_id


def test_only_regular_files_are_replaced(gates, tmp_path):
    _, client = gates
    target, link, fifo = tmp_path / "target", tmp_path / "link", tmp_path / "fifo"
    target.write_text("kept")
    link.symlink_to(target)
    os.mkfifo(fifo)
    for path in (link, fifo, tmp_path, "/dev/null"):
        with pytest.raises(lt.FileError):
            lt.save_secret_key(path, client)
    assert target.read_text() == "kept" and link.is_symlink() and stat.S_ISFIFO(fifo.stat().st_mode)


CRASH = """
import resource, signal, sys, warnings
warnings.simplefilter("ignore")
import latticino as lt
client = lt.keygen(lt.tfhe.Context("test-tfhe-gates-insecure", "cpu", threads=1))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # a write beyond the limit ends the process, as a crash would
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
lt.save_secret_key(sys.argv[1], client)
"""


def test_a_crash_leaves_no_secret_behind(tmp_path, child_environment):
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("a system without O_TMPFILE")
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY, 0o600))
    except OSError:
        pytest.skip("a file system without files that have no name")
    (tmp_path / "old").write_text("kept")
    for name in ("new", "old"):
        crashed = subprocess.run([sys.executable, "-c", CRASH, tmp_path / name], env=child_environment, capture_output=True)
        assert crashed.returncode == -signal.SIGXFSZ, crashed.stderr
    assert os.listdir(tmp_path) == ["old"] and (tmp_path / "old").read_text() == "kept"


@pytest.mark.slow
def test_the_format_by_an_independent_library(gates, tmp_path):
    """docs/security.md#files, followed with hashlib and cryptography."""
    algorithms = pytest.importorskip("cryptography.hazmat.primitives.ciphers.algorithms")
    from cryptography.hazmat.primitives.ciphers import Cipher

    _, client = gates
    sealed, plain = tmp_path / "sealed", tmp_path / "plain"
    lt.save_secret_key(sealed, client, passphrase=b"secret")
    lt.save_secret_key(plain, client)
    data, coefficients = sealed.read_bytes(), plain.read_bytes()[96 + 32:-32]
    assert data[8:12] == b"\3\0\0\0" and plain.read_bytes()[8:12] == b"\1\0\0\0"
    metadata, payload = data[96:96 + 48], data[96 + 48 + 32:-32]
    kind, log_n, r, p = np.frombuffer(metadata[:16], "<u4").tolist()
    assert (kind, log_n, r, p) == (1, 17, 8, 1)
    key = hashlib.scrypt(b"secret", salt=metadata[16:], n=1 << log_n, r=r, p=p, maxmem=1 << 28, dklen=64)
    context = data[16:20] + data[24:24 + 48] + metadata
    assert hmac.new(key[32:], context + payload[:-32], "sha256").digest() == payload[-32:]
    assert Cipher(algorithms.ChaCha20(key[:32], bytes(16)), None).decryptor().update(payload[:-32]) == coefficients
