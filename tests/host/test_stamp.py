"""Logs whose lines carry the time at which a tool took them: the stamps go, the bytes stay."""

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.host.journal import JournalEntries, read_unit
from firedup.host.stamp import Cursor, Decoder, Poured, Sifter, StampedLines, read_stamp

AT = b"2026-11-29T21:38:28.123456789Z "
AT_NS = 1795988308_123456789


def read_all(decoder: Decoder, data: bytes, cuts: list[int]) -> list[Poured]:
    found = []
    places = [0, *sorted(cuts), len(data)]
    for start, end in itertools.pairwise(places):
        found += decoder.feed(data[start:end])
    return found + decoder.close()


def test_a_stamp_is_read_and_left_out() -> None:
    assert StampedLines().feed(AT + b"fired up\n") == [Poured(AT_NS, b"fired up\n")]


@pytest.mark.parametrize(
    ("text", "rest_ns"),
    [
        ("2026-11-29T21:38:28Z", 0),
        ("2026-11-29T21:38:28.5Z", 500_000_000),
        ("2026-11-29T22:38:28.000000001+01:00", 1),
        ("2026-11-29T16:08:28.000000001-05:30", 1),
    ],
)
def test_every_form_of_a_stamp_is_read(text: str, rest_ns: int) -> None:
    assert read_stamp(text) == 1795988308_000000000 + rest_ns


def test_never_is_no_time() -> None:
    assert read_stamp("0001-01-01T00:00:00Z") is None
    assert read_stamp("soon") is None


def test_what_has_no_stamp_was_said_by_the_tool() -> None:
    decoder = StampedLines()
    data = AT + b"one\nError response from daemon: configured logging driver does not support\n"

    assert read_all(decoder, data, []) == [Poured(AT_NS, b"one\n")]
    assert decoder.words[-1].startswith("Error response from daemon")


def test_the_stamps_within_a_line_that_was_stored_in_pieces_go_as_well() -> None:
    line = bytes(97 + i % 26 for i in range(40000))
    data = AT + line[:16384] + AT + line[16384:32768] + AT + line[32768:] + b"\n"

    (found,) = read_all(StampedLines(), data, [])

    assert found.data == line + b"\n"


def test_a_log_line_that_begins_with_a_stamp_of_its_own_keeps_it() -> None:
    (found,) = StampedLines().feed(AT + AT + b"x\n")

    assert found.data == AT + b"x\n"


LINES = st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=8)


@given(LINES, st.lists(st.integers(0, 400), max_size=6))
def test_slicing_stamped_lines_differently_changes_nothing(
    lines: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(AT + line + b"\n" for line in lines)

    found = read_all(StampedLines(), data, [min(cut, len(data)) for cut in cuts])

    assert [one.data for one in found] == [line + b"\n" for line in lines]


def entry(number: int, message: bytes) -> bytes:
    """As `journalctl --output=export` writes it: a message with line breaks has its length."""
    head = b"__CURSOR=s=%d\n__REALTIME_TIMESTAMP=%d\n" % (number, 1000 + number)
    if b"\n" in message:
        return head + b"MESSAGE\n" + struct.pack("<Q", len(message)) + message + b"\n\n"
    return head + b"MESSAGE=" + message + b"\n\n"


@given(st.lists(st.integers(0, 200), max_size=4), st.lists(st.integers(0, 900), max_size=6))
def test_a_line_that_is_too_long_to_be_held_loses_nothing_however_it_is_sliced(
    sizes: list[int], cuts: list[int]
) -> None:
    lines = [bytes(97 + i % 26 for i in range(size)) + b"\n" for size in sizes]
    data = b"".join(AT + line for line in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("firedup.host.stamp.LINE_LIMIT_BYTES", 50)
        whole = read_all(StampedLines(), data, [])
        sliced = read_all(StampedLines(), data, [min(cut, len(data)) for cut in cuts])

    assert sliced == whole
    assert b"".join(piece.data for piece in whole) == b"".join(lines)


@given(st.lists(st.binary(max_size=30), max_size=6), st.lists(st.integers(0, 500), max_size=6))
def test_slicing_a_journal_differently_changes_nothing(
    messages: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(entry(i, message) for i, message in enumerate(messages))

    found = read_all(JournalEntries(), data, [min(cut, len(data)) for cut in cuts])

    assert [one.data for one in found] == [message + b"\n" for message in messages]
    assert [one.place for one in found] == [f"s={i}" for i in range(len(messages))]
    assert [one.wall_ns for one in found] == [(1000 + i) * 1000 for i in range(len(messages))]


# Docker's stamps rise; a pod's may repeat. What was read is told again from some earlier line on.
TIMES = st.lists(st.integers(0, 3), min_size=1, max_size=30).map(
    lambda steps: [sum(steps[: i + 1]) for i in range(len(steps))]
)


@given(TIMES, st.data())
def test_what_is_told_again_is_let_through_once(times: list[int], data: st.DataObject) -> None:
    lines = [Poured(at, b"line %d\n" % (i % 3)) for i, at in enumerate(times)]
    cut = data.draw(st.integers(0, len(lines)))
    first = Sifter(Cursor())
    found = first.sift(lines[:cut])
    since = first.cursor.since_ns or 0
    again = data.draw(st.integers(0, since))  # tools tell from the whole second, or from earlier

    found += Sifter(first.cursor).sift([one for one in lines if one.wall_ns >= again])

    assert found == lines


def test_a_clock_that_is_set_back_loses_no_line() -> None:
    sifter = Sifter(Cursor())
    lines = [Poured(9_000 + i, b"%d\n" % i) for i in range(1000)]
    back = [Poured(10, b"after\n"), Poured(11, b"the clock was set\n")]

    assert sifter.sift(lines + back) == lines + back
    new = [Poured(12, b"new\n")]
    assert Sifter(sifter.cursor).sift(lines + back + new) == new


def test_lines_that_the_tool_has_lost_hide_no_new_one() -> None:
    sifter = Sifter(Cursor())
    sifter.sift([Poured(at, b"x\n") for at in range(5)])
    new = [Poured(9, b"new\n"), Poured(9, b"newer\n")]

    assert Sifter(sifter.cursor).sift([Poured(4, b"x\n"), *new]) == new


def test_systemd_tells_how_a_unit_ended() -> None:
    told = {
        "LoadState": "loaded", "ActiveState": "failed", "SubState": "failed", "MainPID": "0",
        "ExecMainPID": "812", "ExecMainCode": "2", "ExecMainStatus": "9", "Result": "oom-kill",
        "InvocationID": "0a1b",
    }  # fmt: skip

    unit = read_unit("sglang", told)

    assert (unit.is_running, unit.code, unit.signal, unit.oom_killed) == (False, None, 9, True)
