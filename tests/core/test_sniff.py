"""What is no log is said to be none, and what is one is left alone."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.log.sniff import name_problem


@pytest.mark.parametrize(
    ("head", "word"),
    [
        (b"", "empty"),
        (gzip.compress(b"log", mtime=0), "zcat"),
        (bz2.compress(b"log"), "bzcat"),
        (lzma.compress(b"log"), "xzcat"),
        ("a log\n".encode("utf-16"), "iconv"),
        (b"\x7fELF\x02\x01", "program"),
        (b"GGUF\x03\x00\x00\x00", "GGUF"),
        (bytes(100), "not text"),
    ],
)
def test_what_is_no_log_is_named(head: bytes, word: str) -> None:
    assert word in (name_problem(head) or "")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=4))
def test_text_may_be_a_log(text: str) -> None:
    data = b"x " + text.encode()

    assert name_problem(data) is None


def test_a_stray_nul_does_not_make_a_log_something_else() -> None:
    assert name_problem(b"line\n" * 100 + b"\x00") is None
