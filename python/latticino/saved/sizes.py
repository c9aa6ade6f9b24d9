"""How many bytes files of ciphertexts have, from shapes alone: src/io/container.h says what is in them."""

from __future__ import annotations

import json
import math

from .. import _native
from ..ckks.ciphertext import Ciphertext
from ..claims import noise
from ..common.layout import Layout
from ..files import saving
from ..tfhe import types

_HEADER, _DIGEST, _SIGNATURE = 96, 32, 112
_ENTRY, _SEED, _LENGTH = 18, 32, 4  # bytes of a ciphertext's or batch's fields, of a seed, and of a count
_LONGEST_NOTE = 1 << 16


def _framing_bytes(note: int, entries: int) -> int:
    """All bytes except seeds and payload."""
    return _HEADER + _LENGTH + note + _LENGTH + entries * _ENTRY + 2 * _DIGEST


def fresh_bytes(x: Ciphertext) -> int:
    """Bytes of an array like this one, if the owner of the key has just encrypted it with the range that it claims."""
    params, level, count = x.context.params, x.level, len(x._parts)
    known = _native.Known.fresh(x.range, noise.fresh(params, x.scale, x.slots))
    if x.layout.is_plain:  # a fresh array has zeros after its values, whatever this one has there
        x = Ciphertext(x.context, x._parts, Layout.plain(x.shape, x.slots), known)
    note = saving.note_of(x, known, as_declared=True)
    return _framing_bytes(len(note.encode()), count) + count * (_SEED + _limb_bytes(params, level))


def most_bytes(params: _native.Params, level: int, count: int) -> int:
    """An upper bound on the bytes of a signed file of so many ciphertexts at a level, whatever is known about them."""
    return _framing_bytes(_LONGEST_NOTE, count) + count * (_SEED + 2 * _limb_bytes(params, level)) + _SIGNATURE


def _limb_bytes(params: _native.Params, level: int) -> int:
    return int(params.limbs(level)) * int(params.n) * 4


def fresh_tfhe_bytes(params: _native.TfheParams, shape: tuple[int, ...], bits: int) -> int:
    """The same for encrypted booleans or integers of a type."""
    batches, note = _batches(params, bits), json.dumps({"shape": shape, "dtype": types.name_of(bits)})
    return _framing_bytes(len(note), batches) + batches * (_SEED + 4 * math.prod(shape))


def most_tfhe_bytes(params: _native.TfheParams, shape: tuple[int, ...], bits: int) -> int:
    batches = _batches(params, bits)
    each = 4 * math.prod(shape) * (int(params.big_dimension) + 1)
    return _framing_bytes(_LONGEST_NOTE, batches) + batches * (_SEED + each) + _SIGNATURE


def _batches(params: _native.TfheParams, bits: int) -> int:
    return max(bits // max(params.message_bits, 1), 1)
