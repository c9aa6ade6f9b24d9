"""The known answers of the seed expander (format version 1) come from an independent ChaCha20."""

import pathlib

import expansion_reference

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


def test_rfc8439_keystream():
    # RFC 8439, Sec. 2.3.2: the first words of block 1.
    nonce = bytes.fromhex("000000090000004a00000000")
    stream = expansion_reference.keystream(bytes(range(32)), 1, nonce, 64)
    assert stream[:8].hex() == "10f1e7e4d13b5915"


def test_known_answers_match_the_independent_library():
    assert (DATA / "expansion_v1.txt").read_text() == expansion_reference.text()


def test_errors_match_the_independent_library():
    assert (DATA / "errors_v1.txt").read_text() == expansion_reference.error_text()
