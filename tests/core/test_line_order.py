"""A log that an export has turned round says the same as before, at its own places."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.log.order import is_newest_first, turn_round

LOG = """\
[2026-11-29 10:00:00] one
[2026-11-29 10:00:05 TP0] two
[2026-11-29 10:00:09 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
ValueError: bad
[2026-11-29 10:00:12] Received sigquit
"""
TURNED = "".join(reversed(LOG.splitlines(keepends=True)))
RECORDS = LOG.splitlines(keepends=True)
BY_RECORD = RECORDS[6] + "".join(RECORDS[2:6]) + RECORDS[1] + RECORDS[0]


def test_time_that_runs_backwards_is_noticed() -> None:
    assert is_newest_first(TURNED.encode())
    assert is_newest_first(BY_RECORD.encode())
    assert not is_newest_first(LOG.encode())
    assert not is_newest_first(b"no time stamps\n" * 9)


def test_ranks_whose_lines_cross_do_not_turn_a_log_round() -> None:
    lines = [f"[2026-11-29 10:00:{10 + n - n % 2 * 2:02d}] x\n" for n in range(20)]

    assert not is_newest_first("".join(lines).encode())


def test_lines_come_in_the_order_in_which_they_were_written() -> None:
    assert turn_round(TURNED.encode()).data.decode() == LOG
    assert turn_round(BY_RECORD.encode()).data.decode() == LOG


@given(st.lists(st.binary(max_size=6).map(lambda text: text.replace(b"\n", b"\r")), max_size=9))
def test_each_byte_is_found_where_it_was(lines: list[bytes]) -> None:
    log = b"".join(line + b"\n" for line in lines)
    turned = turn_round(log)

    assert turned.data == b"".join(line + b"\n" for line in reversed(lines))
    assert all(log[turned.place(at)] == turned.data[at] for at in range(len(turned.data)))
