import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.view.paper import Paper, choose_paper, count_columns, is_path, pad


def test_text_is_wrapped_at_words():
    lines = Paper(columns=20).fold("the weights of TP3 and TP5", indent="  - ")

    assert lines == ["  - the weights of", "    TP3 and TP5"]


def test_a_word_longer_than_a_line_is_broken():
    assert Paper(columns=6).fold("abcdefghij k", indent="  ") == ["  abcd", "  efgh", "  ij k"]


def test_a_path_is_never_broken():
    lines = Paper(columns=12).fold("see '/a/long/way/to/go' for more", indent="  ")

    assert lines == ["  see", "  '/a/long/way/to/go'", "  for more"]
    assert Paper(columns=12).fold("a/b " + "x/" * 400)[1] == "x/" * 6


def test_a_message_keeps_its_beginning_and_a_bit_of_its_end():
    message = "abcdefghij" * 7 + "0123456789" * 20

    assert Paper().cut_message(message, 90) == message[:60] + "…" + message[-29:]
    assert Paper().cut_message(message, 150) == message[:102] + "…" + message[-47:]
    assert Paper().cut_message(message, 66) == message[:54] + "…" + message[-11:]
    assert Paper().cut_message(message, 30) == message[:20] + "…" + message[-9:]


def test_a_long_line_is_cut_around_its_middle():
    paper = Paper()

    assert (
        paper.cut_middle("CUDA out of memory. Tried to allocate 2 GiB", 20)
        == "CUDA out o…ate 2 GiB"
    )
    assert paper.cut_middle("short", 20) == "short"


def test_the_ellipsis_of_ascii_paper_is_three_dots():
    assert Paper(has_unicode=False).cut("abcdefghij", 8) == "abcde..."


def test_a_wide_letter_takes_two_columns():
    assert count_columns("模型a") == 5
    assert count_columns("\x1b[31mred\x1b[0m") == 3
    assert pad("模", 4) == "模  "


def test_painted_text_is_clipped_without_losing_its_paint():
    paper = Paper(has_colour=True)

    clipped = paper.clip(paper.paint("abcdef", "red") + "ghi", 4)
    assert clipped == "\x1b[31mabcd\x1b[0m"


def test_paper_without_unicode_takes_ascii_alone():
    assert Paper(has_unicode=False).finish(["✓ ready · 模型 ━━"]) == "+ ready - ?? =="


@pytest.mark.parametrize(
    ("environ", "is_terminal", "encoding", "colour", "is_unicode"),
    [
        ({"TERM": "xterm-256color"}, True, "utf-8", True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, "UTF-8", False, True),
        ({"TERM": "dumb"}, True, "utf-8", False, False),
        ({"TERM": "xterm"}, False, "utf-8", False, True),
        ({"TERM": "xterm", "FORCE_COLOR": "1"}, False, "utf-8", True, True),
        ({"TERM": "xterm"}, True, "ANSI_X3.4-1968", True, False),
        ({"TERM": "xterm"}, True, "iso-8859-1", True, False),
        ({}, False, None, False, False),
    ],
)
def test_paper_follows_the_habits_of_terminals(environ, is_terminal, encoding, colour, is_unicode):
    paper = choose_paper(columns=90, is_terminal=is_terminal, encoding=encoding, environ=environ)

    assert paper == Paper(columns=90, has_colour=colour, has_unicode=is_unicode)


@given(st.text(), st.integers(1, 60), st.text(" ", max_size=4), st.booleans())
def test_folding_keeps_every_letter_and_the_width(text, columns, indent, is_unicode):
    lines = Paper(columns=columns, has_unicode=is_unicode).fold(text, indent=indent)

    assert "".join("".join(lines).split()) == "".join(text.split())
    if columns >= 6 and not any(is_path(word) for word in text.split()):
        assert all(count_columns(line) <= columns for line in lines)


@given(st.text(), st.integers(4, 60))
def test_cut_text_fits(text, columns):
    assert count_columns(Paper().cut_middle(text, columns)) <= columns
    assert count_columns(Paper().cut_message(text, columns)) <= columns
    assert count_columns(Paper().cut(text, columns)) <= columns


@given(st.text())
def test_ascii_paper_never_holds_anything_else(text):
    assert Paper(has_unicode=False).spell(text).isascii()
