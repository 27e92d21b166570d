"""The parts from which invented recordings are made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.demo.recording import Clock, Curve, Log, render_bar, render_pace

CLOCK = Clock(boottime_ns=5_000_000_000, wall_ns=1_795_946_412_000_000_000)


def test_a_line_has_the_prefix_of_its_rank_at_its_second():
    log = Log(CLOCK)

    log.say(61.9, "Load weight begin.", 3)
    log.say(62.0, "main speaks")

    assert [event.data for event in log.events()] == [
        b"[2026-11-29 10:01:13 TP3] Load weight begin.\n",
        b"[2026-11-29 10:01:14] main speaks\n",
    ]


def test_writes_come_in_their_order_in_time_and_fill_the_file_without_gaps():
    log = Log(CLOCK)
    for at_s, text in ((2.0, "late"), (1.0, "\rearly"), (2.0, "later")):
        log.write(at_s, text)

    events = list(log.events())

    assert [(e.at_ns, e.offset, e.data) for e in events] == [
        (6_000_000_000, 0, b"\rearly"),
        (7_000_000_000, 6, b"late"),
        (7_000_000_000, 10, b"later"),
    ]


@pytest.mark.parametrize(
    ("at_s", "value"), [(-1.0, 0.0), (0.0, 0.0), (2.5, 25.0), (10.0, 100.0), (11.0, 100.0)]
)
def test_a_curve_is_straight_between_its_points_and_flat_outside(at_s, value):
    assert Curve(((0.0, 0.0), (10.0, 100.0))).at(at_s) == value


@given(st.integers(1, 200), st.data())
def test_the_bars_look_as_those_of_tqdm(total, data):
    tqdm = pytest.importorskip("tqdm").tqdm
    done = data.draw(st.integers(0, total))
    elapsed_s = data.draw(st.floats(0.5, 3000)) if done else 0.0

    meter = tqdm.format_meter(done, total, elapsed_s, prefix="Capturing", ascii=False)

    bar, pace = render_bar(done, total), render_pace(done, total, elapsed_s)
    assert meter.endswith(f"|{bar}| {done}/{total} [{pace}]")
