"""What all streams together gave: time in which a load was not asked is none of its own."""

from __future__ import annotations

from dataclasses import replace

from firedup.core.measure.figures import figures_of
from firedup.core.measure.measured import Cell, Load, Request

_S = 1_000_000_000


def _ask(name: str, begun_s: float, seconds: float, block: int = 0) -> Request:
    """An answer of 100 tokens."""
    begun_ns = round(begun_s * _S)
    last_ns = begun_ns + round(seconds * _S)
    return Request(name, name[:4], begun_ns, begun_ns + 1000, last_ns, tokens=100, block=block)


def test_the_turns_of_another_load_are_not_counted() -> None:
    # Four visits of eight streams at once, a second each; ten seconds later the next one.
    requests = tuple(_ask(f"code-{v}-{n}", 10 * v, 1) for v in range(4) for n in range(8))

    assert figures_of(Cell(Load(8), requests)).whole.all_tokens_per_s == 800


def test_streams_that_overlap_are_counted_once() -> None:
    requests = (_ask("code-1", 0, 2), _ask("code-2", 1, 2), _ask("code-3", 1.5, 0.5))

    assert figures_of(Cell(Load(2), requests)).whole.all_tokens_per_s == 100


def test_an_open_load_waits_for_its_next_request() -> None:
    requests = (_ask("code-1", 0, 1), _ask("code-2", 4, 1))

    assert figures_of(Cell(Load(rate=0.25), requests)).whole.all_tokens_per_s == 40


def test_an_open_load_that_was_asked_in_turn_with_another_arm_did_not_wait_for_that() -> None:
    requests = tuple(_ask(f"code-{n}", 100 * n, 1, block=n) for n in range(2))

    assert figures_of(Cell(Load(rate=0.25), requests)).whole.all_tokens_per_s == 100


def test_tokens_that_were_not_told_are_no_tokens_a_second() -> None:
    told = _ask("code-1", 0, 1)

    assert (
        figures_of(Cell(Load(1), (told, replace(told, tokens=None)))).whole.all_tokens_per_s is None
    )


def test_answers_that_were_held_back_tell_no_times() -> None:
    held = replace(_ask("code-1", 0, 1), events=40, arrivals=2)
    figures = figures_of(Cell(Load(1), (held, replace(held, prompt="code-2"))))

    for one in (figures.whole, figures.categories["code"]):
        assert (one.tokens_per_s, one.tpot_s, one.ttft_s, one.step_s) == (None,) * 4
    assert figures.whole.all_tokens_per_s == 200


def test_of_a_category_it_is_not_said() -> None:
    requests = (_ask("code-1", 0, 1), _ask("chat-1", 0, 1))
    figures = figures_of(Cell(Load(2), requests))

    assert figures.whole.all_tokens_per_s == 200
    assert [one.all_tokens_per_s for one in figures.categories.values()] == [None, None]
