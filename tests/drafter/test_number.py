"""Bytes of tensors become the numbers that they are."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.drafter.number import decode_floats, decode_integers


@given(values=st.lists(st.floats(width=32, allow_nan=False), max_size=20))
def test_bf16_is_the_upper_half_of_f32(values: list[float]) -> None:
    whole = struct.pack(f"<{len(values)}f", *values)
    halves = b"".join(whole[n + 2 : n + 4] for n in range(0, len(whole), 4))
    cut = b"".join(b"\0\0" + whole[n + 2 : n + 4] for n in range(0, len(whole), 4))

    assert decode_floats(halves, "BF16") == struct.unpack(f"<{len(values)}f", cut)


@pytest.mark.parametrize(("dtype", "kind"), [("F16", "<f2"), ("F32", "<f4"), ("F64", "<f8")])
@given(values=st.lists(st.floats(width=16, allow_nan=False), max_size=20))
def test_floats_are_those_of_numpy(dtype: str, kind: str, values: list[float]) -> None:
    assert decode_floats(np.array(values, kind).tobytes(), dtype) == tuple(values)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("I8", "<i1"), ("U8", "<u1"), ("I16", "<i2"), ("U16", "<u2"), ("I32", "<i4"), ("U32", "<u4"),
     ("I64", "<i8"), ("U64", "<u8"), ("BOOL", "<u1")],
)  # fmt: skip
@given(values=st.lists(st.integers(0, 127), max_size=20))
def test_whole_numbers_are_those_of_numpy(dtype: str, kind: str, values: list[int]) -> None:
    assert decode_integers(np.array(values, kind).tobytes(), dtype) == tuple(values)


# Values by the definitions of the two formats: largest, smallest normal, smallest, one.
@pytest.mark.parametrize(
    ("dtype", "byte", "value"),
    [
        ("F8_E4M3", 0x7E, 448.0), ("F8_E4M3", 0x08, 2.0**-6), ("F8_E4M3", 0x01, 2.0**-9),
        ("F8_E4M3", 0x38, 1.0), ("F8_E4M3", 0xB8, -1.0), ("F8_E4M3", 0x00, 0.0),
        ("F8_E5M2", 0x7B, 57344.0), ("F8_E5M2", 0x04, 2.0**-14), ("F8_E5M2", 0x01, 2.0**-16),
        ("F8_E5M2", 0x3C, 1.0), ("F8_E5M2", 0x7C, math.inf), ("F8_E5M2", 0xFC, -math.inf),
    ],
)  # fmt: skip
def test_eight_bits_of_float(dtype: str, byte: int, value: float) -> None:
    assert decode_floats(bytes([byte]), dtype) == (value,)


def test_eight_bits_that_are_no_number() -> None:
    assert all(math.isnan(decode_floats(bytes([b]), "F8_E4M3")[0]) for b in (0x7F, 0xFF))
    assert all(math.isnan(decode_floats(bytes([b]), "F8_E5M2")[0]) for b in (0x7D, 0xFF))


def test_what_has_no_numbers_of_that_kind_is_refused() -> None:
    with pytest.raises(KeyError):
        decode_integers(b"ab", "BF16")
    with pytest.raises(KeyError):
        decode_floats(b"ab", "I16")
