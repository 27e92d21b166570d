"""Scripts as JSON, and the recorded forms that become scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.testing.recorded import load_recorded
from firedup.testing.script import (
    End,
    Http,
    Kill,
    Piece,
    Rotation,
    Script,
    ScriptError,
    Speculation,
    Stop,
    parse_script,
    render_script,
)


@given(st.lists(st.binary(max_size=20), max_size=4))
def test_any_bytes_survive_the_way_through_json(data):
    script = Script(tuple(Piece(float(n), one) for n, one in enumerate(data)))

    assert parse_script(render_script(script)) == script


def test_a_script_with_everything_is_read_back_equal():
    script = Script(
        pieces=(Piece(0.5, b"\r 1/2\xff", "stdout"),),
        http=Http(1.0, 30000, health=((1.0, 503), (2.0, 200)), speculation=Speculation(length=2.5)),
        end=End(9.0, signal=9),
        stop=Stop((Piece(0.0, b"bye"),), 1, 0.5),
        children=("a", "b"),
        kills=(Kill(3.0, 1),),
        work=((1.0, 2.0),),
        log="x.log",
        rotations=(Rotation(4.0, "truncate"),),
        speed=3.0,
    )

    assert parse_script(render_script(script)) == script


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nonsense", "no JSON"),
        ("[]", "no JSON object"),
        ('{"pieces": [{"at_s": 1, "text": "a", "stream": "x"}]}', "stream is one of"),
        ('{"kills": [{"at_s": 1, "child": 0}]}', "there is no child 0"),
        ('{"rotations": [{"at_s": 1}]}', "rotations need `log`"),
        ('{"speed": 0}', "speed is above 0"),
        ('{"http": {"prot": 1}}', "http: .*prot"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_by_name(text, complaint):
    with pytest.raises(ScriptError, match=complaint):
        parse_script(text)


def test_a_timing_table_holds_one_bytes_literal_per_line(tmp_path):
    table = tmp_path / "run.timing.tsv"
    table.write_text("0.5\tb'loading \\r'\n1.25\tb'\\xe2\\x96\\x88\\n'\n")

    script = load_recorded(table)

    assert script.pieces == (Piece(0.5, b"loading \r"), Piece(1.25, b"\xe2\x96\x88\n"))


def test_a_plain_log_is_played_line_by_line(tmp_path):
    log = tmp_path / "run.log"
    log.write_bytes(b"one\ntwo\r\nhalf")

    script = load_recorded(log, line_s=2.0)

    assert script.pieces == (Piece(0.0, b"one\n"), Piece(2.0, b"two\r\n"), Piece(4.0, b"half"))


def test_a_run_that_died_of_a_signal_does_so_again(tmp_path):
    run = tmp_path / "run.events.jsonl"
    run.write_text('{"t": 1.0, "b": "Received sigquit\\n"}\n{"exit": -9, "t": 2.0}\n')

    assert load_recorded(run).end == End(2.0, signal=9)
