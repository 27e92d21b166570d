"""What servers' own counters rose by: ranks summed, restarts noticed, others' tokens told."""

from __future__ import annotations

from pathlib import Path

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.counter import Look, Rise, read_look, rise_between
from firedup.core.measure.exposition import parse_exposition

RUNS = Path(__file__).parent.parent / "data/engine-runs"


def look(*engines: tuple[int, int, int], since: float = 1.7e9, tokens: int = 0) -> Look:
    """A scrape of vLLM with drafts, draft tokens and accepted tokens of each engine."""
    lines = [f'vllm:generation_tokens_total{{engine="0"}} {tokens}']
    for number, row in enumerate(engines):
        for name, value in zip(("drafts", "draft_tokens", "accepted_tokens"), row, strict=True):
            series = f"vllm:spec_decode_num_{name}"
            lines.append(f'{series}_total{{engine="{number}"}} {value}')
            lines.append(f'{series}_created{{engine="{number}"}} {since}')
        place = f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="{number}",position='
        lines.append(f'{place}"0"}} {row[2]}')
    return read_look(parse_exposition("\n".join(lines)))


def test_the_ranks_of_a_server_are_summed_and_their_birth_is_no_count() -> None:
    before = look((10, 30, 5), (20, 60, 10), tokens=100)
    after = look((20, 60, 15), (50, 150, 40), tokens=180)

    assert rise_between(before, after) == Rise(Counts(40, 120, 40, (40,)), 80)


def test_a_counter_that_fell_gives_a_reason_and_no_negative_number() -> None:
    rise = rise_between(look((10, 30, 5)), look((3, 9, 2)))

    assert rise.counts is None
    assert rise.why_not is not None
    assert "restarted" in rise.why_not


def test_one_rank_of_two_that_restarted_is_seen_behind_a_rising_sum() -> None:
    rise = rise_between(look((10, 30, 5), (10, 30, 5)), look((90, 270, 50), (2, 6, 1)))

    assert rise.why_not is not None


def test_a_counter_that_began_anew_and_rose_beyond_is_seen_by_its_birth() -> None:
    rise = rise_between(look((10, 30, 5)), look((90, 270, 50), since=1.8e9))

    assert rise.why_not is not None


def test_a_restart_between_visits_makes_their_sum_void() -> None:
    whole = Rise(Counts(10, 30, 5), 40).plus(Rise(why_not="it restarted"))

    assert whole.why_not == "it restarted"


def test_what_was_not_drafted_before_begins_at_zero() -> None:
    before = read_look(parse_exposition("llamacpp:tokens_predicted_total 24\n"))
    after = read_look(
        parse_exposition(
            "llamacpp:tokens_predicted_total 48\nllamacpp:n_decode_total 16\n"
            "llamacpp:spec_decode_num_drafts_total 14\n"
            "llamacpp:spec_decode_num_draft_tokens_total 39\n"
            "llamacpp:spec_decode_num_accepted_tokens_total 8\n"
        )
    )

    assert rise_between(before, after) == Rise(Counts(14, 39, 8), 24, 16)
    assert rise_between(before, before) == Rise(None, 0)


def test_a_recorded_scrape_of_vllm_is_read_whole() -> None:
    text = (RUNS / "vllm/b_ngram.metrics.txt").read_text()

    rise = rise_between(Look(), read_look(parse_exposition(text)))

    assert rise.counts == Counts(92, 242, 100, (58, 28, 11, 3))
    assert rise.generated == 480


def test_a_server_without_counters_says_nothing() -> None:
    assert rise_between(Look(), Look()) == Rise()
