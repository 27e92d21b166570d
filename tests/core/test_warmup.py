"""Which first requests are not counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.measured import Request
from firedup.core.measure.warmup import find_warm_up, mark_warm_up

MS = 1_000_000


def make_visit(
    tpots_ms: list[float], *, ttft_ms: float = 50, block: int = 0, error: str | None = None
) -> list[Request]:
    """Requests of 101 tokens one after the other."""
    found, now = [], 0
    for count, tpot_ms in enumerate(tpots_ms):
        first = now + int(ttft_ms * MS)
        last = first + int(100 * tpot_ms * MS)
        one = Request(f"p{count}", "chat", now, first, last, tokens=101, block=block, error=error)
        found.append(one)
        now = last
    return found


def test_the_first_request_of_every_stream_is_warm_up() -> None:
    visit = make_visit([10.0] * 20)

    assert find_warm_up(visit).count == 1
    assert find_warm_up(visit, streams=4).count == 4


def test_warm_up_goes_on_until_times_settle() -> None:
    found = find_warm_up(make_visit([40, 25, 18, 12, *[10, 10.3, 9.8] * 6]))

    assert (found.count, found.has_settled) == (4, True)
    assert "time per token" in found.why


def test_a_slow_first_token_is_warm_up_too() -> None:
    slow = make_visit([10, 10, 10], ttft_ms=900)
    visit = [*slow, *make_visit([10.0] * 17)]

    assert find_warm_up(visit).count == 3


def test_a_slow_request_after_settled_ones_is_kept() -> None:
    visit = make_visit([10, 10, 10, 60, *[10] * 12])

    assert find_warm_up(visit).count == 1


def test_an_arm_that_never_settles_loses_a_third_and_is_told_apart() -> None:
    found = find_warm_up(make_visit([100 * 0.8**n + 1 for n in range(18)]))

    assert (found.count, found.has_settled) == (6, False)


def test_text_of_many_speeds_is_no_warm_up() -> None:
    found = find_warm_up(make_visit([10, 14, 8, 12, 16, 9, 13, 7, 15, 11, 8, 16, 10, 12]))

    assert found.count == 1


def test_each_visit_warms_up_anew() -> None:
    visits = [*make_visit([30, *[10] * 9]), *make_visit([30, *[10] * 9], block=1)]

    marked = mark_warm_up(visits)

    assert [n for n, one in enumerate(marked) if one.is_warm_up] == [0, 10]


@given(st.lists(st.floats(1, 100), max_size=30), st.integers(1, 8))
def test_nothing_is_lost_and_at_least_two_thirds_are_left(tpots: list[float], streams: int) -> None:
    visit = make_visit(tpots)
    marked = mark_warm_up(visit, streams)
    dropped = sum(one.is_warm_up for one in marked)

    assert [one.prompt for one in marked] == [one.prompt for one in visit]
    assert min(streams, len(visit)) <= dropped <= max(streams, len(visit) / 3)
    assert [one.is_warm_up for one in mark_warm_up(marked, streams)].count(True) >= dropped
