"""Bytes of a tensor → numbers, with the standard library alone."""

from __future__ import annotations

import struct
from functools import cache

# dtype → bytes of an item
ITEM_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2,
    "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}  # fmt: skip
FLOATS = ("BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E5M2")
_FORMS = {
    "I8": "b", "U8": "B", "BOOL": "B", "I16": "h", "U16": "H", "F16": "e", "I32": "i", "U32": "I",
    "F32": "f", "I64": "q", "U64": "Q", "F64": "d",
}  # fmt: skip


def decode_integers(data: bytes, dtype: str) -> tuple[int, ...]:
    """Whole numbers of a dtype that has them. KeyError for any other."""
    if dtype.startswith(("F", "B")) and dtype != "BOOL":
        raise KeyError(dtype)
    count = len(data) // ITEM_BYTES[dtype]
    return struct.unpack(f"<{count}{_FORMS[dtype]}", data)


def decode_floats(data: bytes, dtype: str) -> tuple[float, ...]:
    """Numbers of a dtype in FLOATS. KeyError for any other."""
    if dtype == "BF16":  # the upper halves of F32
        whole = bytearray(2 * len(data))
        whole[2::4] = data[0::2]
        whole[3::4] = data[1::2]
        return struct.unpack(f"<{len(data) // 2}f", whole)
    if dtype.startswith("F8"):
        table = _eighths(dtype)
        return tuple([table[byte] for byte in data])
    if dtype not in FLOATS:
        raise KeyError(dtype)
    return struct.unpack(f"<{len(data) // ITEM_BYTES[dtype]}{_FORMS[dtype]}", data)


@cache
def _eighths(dtype: str) -> tuple[float, ...]:
    """The value of each byte in an eight-bit float."""
    exponents = {"F8_E4M3": 4, "F8_E5M2": 5}[dtype]
    return tuple(_eighth(byte, exponents) for byte in range(256))


def _eighth(byte: int, exponents: int) -> float:
    """E5M2 has infinities as F16 has them; E4M3 has none, and NaN at its two ends alone."""
    fractions = 7 - exponents
    sign = -1.0 if byte & 128 else 1.0
    exponent = (byte & 127) >> fractions
    fraction = byte & ((1 << fractions) - 1)
    most, bias = (1 << exponents) - 1, (1 << (exponents - 1)) - 1
    if exponent == most and exponents == 5:
        return sign * float("inf") if fraction == 0 else float("nan")
    if exponent == most and fraction == (1 << fractions) - 1:
        return float("nan")
    if exponent == 0:
        return float(sign * fraction * 2.0 ** (1 - bias - fractions))
    return float(sign * (1 + fraction / (1 << fractions)) * 2.0 ** (exponent - bias))
