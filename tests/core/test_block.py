"""Tracebacks and other multi-line messages are folded per source."""

from __future__ import annotations

import pytest

from firedup.core.log.block import Blocks, Mark, Shape
from firedup.core.log.line import decode_line


def marks(text: str) -> list[tuple[str, Mark]]:
    blocks = Blocks()
    found = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = decode_line(
            raw.encode(), offset=number, end=number, number=number, is_progress=False, year=2026
        )
        found.append((line.message, blocks.feed(line)))
    return found


def shapes(text: str) -> list[Shape]:
    return [mark.shape for _, mark in marks(text)]


TRACE = """\
Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
ValueError: too small
"""


def test_the_exception_is_the_last_line_of_its_traceback() -> None:
    assert shapes(TRACE) == [Shape.OPENER, Shape.FRAME, Shape.FRAME, Shape.EXCEPTION]


def test_an_exception_of_any_name_ends_a_traceback() -> None:
    assert shapes(TRACE.replace("ValueError", "queue.Empty"))[-1] is Shape.EXCEPTION


def test_a_message_of_several_lines_belongs_to_its_exception() -> None:
    found = shapes(TRACE + "possible reasons:\n - this\n - that\n")

    assert found[-3:] == [Shape.DETAIL] * 3


def test_the_exceptions_of_a_chain_are_counted_from_the_innermost() -> None:
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    found = marks(TRACE + link + TRACE.replace("ValueError", "RuntimeError"))

    exceptions = [(text, mark.position) for text, mark in found if mark.shape is Shape.EXCEPTION]
    assert exceptions == [("ValueError: too small", 0), ("RuntimeError: too small", 1)]
    assert len({mark.block for _, mark in found if mark.block}) == 1


def test_lines_without_prefix_belong_to_the_record_before_them() -> None:
    text = "[2026-01-01 00:00:00 TP3] Scheduler hit an exception: " + TRACE
    found = marks(text)

    assert found[-1][1].shape is Shape.EXCEPTION
    assert found[-1][1].source.rank == "TP3"


def test_a_traceback_whose_lines_all_have_a_prefix_is_folded_too() -> None:
    text = "".join(
        f"(Worker_TP1 pid=5) ERROR 01-01 00:00:00 [w.py:1] {line}\n" for line in TRACE.splitlines()
    )

    assert shapes(text) == [Shape.OPENER, Shape.FRAME, Shape.FRAME, Shape.EXCEPTION]


def test_an_inline_opener_may_be_followed_by_lines_with_the_same_prefix() -> None:
    head = "[2026-01-01 00:00:00 TP0] "
    lines = ("Scheduler hit an exception: " + TRACE).splitlines()

    assert shapes("\n".join(head + line for line in lines))[-1] is Shape.EXCEPTION


def test_other_ranks_do_not_disturb_a_traceback() -> None:
    lines = TRACE.splitlines()
    other = "[2026-01-01 00:00:00 TP1] Load weight begin."

    found = shapes("\n".join([*lines[:2], other, *lines[2:]]))

    assert found == [Shape.OPENER, Shape.FRAME, Shape.PLAIN, Shape.FRAME, Shape.EXCEPTION]


def test_a_new_record_of_the_same_writer_ends_what_its_last_one_began() -> None:
    head = "[2026-01-01 00:00:00 TP0] "
    found = shapes(head + "failed: " + TRACE + head + "next\nfree text\n")

    assert found[-2:] == [Shape.PLAIN, Shape.PLAIN]


def test_a_lone_error_an_argument_error_and_an_abort_are_told_apart() -> None:
    assert shapes("WARNING: KeyError: 'x'") == [Shape.LONE]
    assert shapes("sglang serve: error: unrecognized arguments: --x") == [Shape.USAGE]
    assert shapes("terminate called after throwing an instance of 'c10::Error'") == [Shape.NATIVE]
    assert shapes("/src/ggml.c:10: GGML_ASSERT(n == m) failed") == [Shape.NATIVE]
    assert shapes("all is well: 3 errors expected") == [Shape.PLAIN]


def test_a_traceback_that_never_ends_is_given_up() -> None:
    blocks = Blocks()
    for number, text in enumerate(["Traceback (most recent call last):", *["noise"] * 100]):
        raw = text.encode()
        blocks.feed(
            decode_line(raw, offset=number, end=0, number=number, is_progress=False, year=2026)
        )

    assert not blocks.is_open


GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 3, in main
  |     run()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "b.py", line 3, in go
    |     raise ValueError("too small")
    | ValueError: too small
    +------------------------------------
"""


def test_a_group_of_exceptions_is_told_from_its_members() -> None:
    found = shapes(GROUP)

    assert found[3] is Shape.GROUP
    assert found[8] is Shape.EXCEPTION


def test_a_panic_gives_its_reason_in_the_line_after_its_place() -> None:
    text = "thread '<unnamed>' panicked at src/lib.rs:20:5:\nno such variant\nnote: run with …\n"

    assert shapes(text) == [Shape.PLAIN, Shape.NATIVE, Shape.PLAIN]


def test_a_panic_of_older_rust_stands_in_one_line() -> None:
    text = "thread 'main' panicked at 'no such variant', src/lib.rs:20:5\nnote: run with …\n"

    assert shapes(text) == [Shape.NATIVE, Shape.PLAIN]


@pytest.mark.parametrize("lead", ["    ", "gpu01: ", "> ", "sgl-0 server "])
@pytest.mark.parametrize("head", ["", "[2026-01-01 00:00:00 TP3] Scheduler hit an exception: "])
def test_what_stands_before_every_line_of_a_log_hides_no_exception(lead: str, head: str) -> None:
    text = "".join(f"{lead}{line}" for line in (head + TRACE).splitlines(keepends=True))
    is_label = bool(lead.strip())

    found = shapes(text)

    # A label is peeled off with the record behind it; then nothing tells it on the next line.
    assert found[0] is Shape.OPENER
    if not (is_label and head):
        assert found == [Shape.OPENER, Shape.FRAME, Shape.FRAME, Shape.EXCEPTION]


def test_of_a_record_that_an_actor_prints_only_the_first_line_has_the_rank() -> None:
    actor = "(ServeReplica pid=311) "
    text = "[2026-01-01 00:00:00 TP3] Scheduler hit an exception: " + TRACE
    found = marks("".join(f"{actor}{line}" for line in text.splitlines(keepends=True)))

    assert [mark.shape for _, mark in found] == [
        Shape.OPENER,
        Shape.FRAME,
        Shape.FRAME,
        Shape.EXCEPTION,
    ]
    assert found[-1][1].source.rank == "TP3"
