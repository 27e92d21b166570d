"""The lines around a cause are those of the log, whatever else stands in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.log.context import (
    SIDE_BYTES,
    Recent,
    holds_line,
    last_lines,
    wanted_span,
    with_context,
)
from firedup.core.model import Cause, Explanation, Verdict


def crash(offset: int | None) -> Explanation:
    cause = Cause("oom", None, "boom", 1, offset, None, None, "", None)
    return Explanation("sglang", None, Verdict.CRASHED, None, None, 0.9, cause=cause)


def around(log: bytes, at: int, count: int = 2) -> tuple[tuple[str, ...], tuple[str, ...]]:
    explanation = crash(at)
    span = wanted_span(explanation)
    assert span is not None
    found = with_context(explanation, log[span[0] : sum(span)], count).cause
    assert found is not None
    return found.before, found.after


def test_so_many_lines_stand_on_each_side() -> None:
    log = b"a\nb\nc\nboom\nd\ne\nf\n"

    assert around(log, log.index(b"boom")) == (("b", "c"), ("d", "e"))


def test_empty_lines_and_overwritten_bars_are_passed_over() -> None:
    log = b"a\n\n 10%\r 50%\r100%\n\nboom\n\r\n\x1b[31md\x1b[0m\r\ne\n"

    assert around(log, log.index(b"boom")) == (("a", "100%"), ("d", "e"))


def test_a_cause_may_be_the_first_line_or_the_last() -> None:
    assert around(b"boom", 0) == ((), ())
    assert around(b"boom\na", 0) == ((), ("a",))


def test_of_a_huge_log_only_whole_lines_are_shown() -> None:
    long = b"x" * SIDE_BYTES
    log = long + b"\na\nboom\nb\n" + long + b"\n"

    assert around(log, log.index(b"boom"), 5) == (("a",), ("b",))


def test_nothing_is_wanted_without_a_line() -> None:
    assert wanted_span(crash(None)) is None
    assert with_context(crash(None), b"a\n", 2) == crash(None)


def test_the_last_lines_of_a_part_are_whole() -> None:
    assert last_lines(b"half\na\n\nb\n", 5, is_whole=False) == ("a", "b")
    assert last_lines(b"half\na\n\nb", 2, is_whole=True) == ("a", "b")


@given(st.lists(st.binary(min_size=1, max_size=9)), st.integers(0, 40), st.integers(0, 40))
def test_what_is_still_there_is_read_as_it_was(
    blocks: list[bytes], offset: int, length: int
) -> None:
    whole = b"".join(blocks)
    recent = Recent(limit=8)
    for block in blocks:
        recent.feed(block)

    found = recent.read(offset, length)

    assert found in (whole[offset : offset + length], b"")
    if offset >= len(whole) - 8:
        assert found == whole[offset : offset + length]


def test_marks_below_code_are_passed_over_beside_a_cause_and_kept_at_the_end() -> None:
    log = b"    f(x)\n    ~^^^\n[rank0]:      ^^^^\nboom\nafter\n"

    assert around(log, log.index(b"boom")) == (("    f(x)",), ("after",))
    assert last_lines(log, 4, is_whole=True)[0] == "    ~^^^"


def test_a_line_is_known_again_by_its_place_and_its_text() -> None:
    log = b"a\n\x1b[31mboom: \xff\x1b[0m \r\nboom\n"

    assert holds_line(log, 2, "boom: \ufffd")
    assert not holds_line(log, 2, "boom: b")
    assert not holds_line(log, 0, "boom")
    assert not holds_line(log, len(log) - 1, "boom")
    assert not holds_line(b"", 0, "boom")
