"""The demo's screen: prose and commands on any paper, and nothing but JSON in JSON."""

import io
import json

from firedup.demo.screen import JSON, Screen
from firedup.view.paper import Paper, count_columns


def tell(columns: int = 40, *, has_unicode: bool = True) -> tuple[Screen, io.StringIO]:
    stream = io.StringIO()
    return Screen(stream, Paper(columns, has_unicode=has_unicode)), stream


def test_a_long_command_is_broken_so_that_a_flag_stays_with_its_value():
    screen, stream = tell(columns=36)

    screen.show_command(("serve", "--model", "big model", "--port", "8080", "-c", "1024", "--fast"))

    assert stream.getvalue().split("\n") == [
        "",
        "$ serve --model 'big model' \\",
        "    --port 8080 -c 1024 --fast",
        "",
        "",
    ]


def test_a_broken_command_is_still_the_same_command_to_a_shell():
    import shlex

    screen, stream = tell(columns=30)
    words = ("firedup", "run", "--", "python", "-m", "a.b", "--port", "1", "it's", "--last")

    screen.show_command(words)

    typed = stream.getvalue().strip().removeprefix("$ ")
    assert tuple(shlex.split(typed.replace("\\\n", " "))) == words


def test_a_table_puts_its_last_column_below_where_it_does_not_fit():
    rows = (("name", "n", "verdict"), ("one", "1", "good"), ("eleven", "11", "too long for it"))

    wide, wide_stream = tell(columns=60)
    wide.show_table(rows)
    narrow, narrow_stream = tell(columns=24)
    narrow.show_table(rows)

    assert wide_stream.getvalue().split("\n")[1:4] == [
        "  name     n  verdict",
        "  one      1  good",
        "  eleven  11  too long for it",
    ]
    assert narrow_stream.getvalue().split("\n")[1:6] == [
        "  name     n",
        "  one      1",
        "    good",
        "  eleven  11",
        "    too long for it",
    ]


def test_a_quoted_message_keeps_its_indents_and_loses_control_sequences():
    screen, stream = tell(columns=24)

    screen.quote("refused\n  because it \x1b[2Jis taken\nDo so.")

    lines = stream.getvalue().split("\n")
    assert lines[0] == "│ refused"
    assert lines[1].startswith("│   because")
    assert lines[-2] == "│ Do so."
    assert "\x1b" not in stream.getvalue()


def test_prose_fits_the_paper_and_its_letters():
    screen, stream = tell(columns=30, has_unicode=False)

    screen.head("A title – of more than thirty columns", "It goes on … and on, to the very end.")

    assert all(count_columns(line) <= 30 for line in stream.getvalue().split("\n"))
    assert stream.getvalue().isascii()


def test_json_has_the_events_and_no_prose():
    stream = io.StringIO()
    screen = Screen(stream, Paper(), style=JSON)

    screen.head("title", "prose")
    screen.show_command(("ls",))
    screen.quote("message")
    screen.show_table((("a", "b"), ("1", "2")))
    screen.tell("scene", scene=1)

    assert json.loads(stream.getvalue()) == {"schema": 1, "event": "scene", "scene": 1}
