"""Headers of safetensors files and their index."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.drafter.safetensors import expected_size, header_size, shards_of


@given(st.lists(st.integers(0, 1000), max_size=6))
def test_a_whole_file_is_exactly_as_long_as_its_header_says(sizes: list[int]) -> None:
    tensors, at = {}, 0
    for number, size in enumerate(sizes):
        tensors[f"t{number}"] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    header = json.dumps({"__metadata__": {"format": "pt"}, **tensors}).encode()
    data = struct.pack("<Q", len(header)) + header + bytes(at)

    assert header_size(data) == len(header)
    assert expected_size(data[8 : 8 + len(header)]) == len(data)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (b"", "only 0 bytes"),
        (b"1234567", "only 7 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "promise a header of"),
        (bytes(8), "promise a header of 0 bytes"),
    ],
)
def test_what_cannot_be_a_header_is_said(head: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        header_size(head)


@pytest.mark.parametrize(
    "header", [b"{}}", b"[]", b'{"w": 1}', b'{"w": {"data_offsets": [1]}}', b"\xff\xfe"]
)
def test_a_header_that_is_not_the_format_s_json_is_said(header: bytes) -> None:
    with pytest.raises(ValueError, match="not the JSON"):
        expected_size(header)


def test_an_index_names_each_of_its_files_once() -> None:
    index = json.dumps(
        {"weight_map": {"a": "2.safetensors", "b": "1.safetensors", "c": "2.safetensors"}}
    )

    assert shards_of(index.encode()) == ("1.safetensors", "2.safetensors")


@pytest.mark.parametrize("index", [b"", b"[]", b"{}", b'{"weight_map": 3}', b"\xff"])
def test_an_index_that_cannot_be_read_is_said(index: bytes) -> None:
    with pytest.raises(ValueError, match="no readable weight_map"):
        shards_of(index)
