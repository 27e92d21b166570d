"""Acceptance by position, and what each engine's rate means as a length."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.acceptance import (
    Counts,
    acceptance_of,
    count_meta,
    count_metrics,
    length_of_old_log_rate,
    length_of_rate,
    positions_of,
    rate_of_length,
    sum_counts,
)
from firedup.core.measure.exposition import parse_exposition

RUNS = Path(__file__).parent.parent / "data/engine-runs"


def answered(name: str, number: int = 0) -> dict[str, object]:
    """What a real SGLang 0.5.23 said of one request."""
    recorded = json.loads((RUNS / f"sglang/{name}.answers.json").read_text())
    meta: dict[str, object] = json.loads(recorded[f"/generate#{number}"]["body"])["meta_info"]
    return meta


def scraped(name: str) -> Counts | None:
    return count_metrics(parse_exposition((RUNS / f"vllm/{name}.metrics.txt").read_text()))


@pytest.mark.parametrize(
    ("run", "counts", "length"),
    [
        ("t1_toy_eagle3", Counts(29, 87, 67, (26, 24, 17)), 3.3103),
        ("s05_tp2_eagle3", Counts(29, 87, 67, (26, 24, 17)), 3.3103),
        ("t3_toy_eagle_not3", Counts(42, 126, 56, (30, 14, 12)), 2.3333),
    ],
)
def test_a_recorded_sglang_says_how_far_its_drafts_got(
    run: str, counts: Counts, length: float
) -> None:
    found = count_meta(answered(run))

    assert found == counts
    assert acceptance_of(counts, "x").length == pytest.approx(length, abs=1e-4)
    assert sum(counts.positions) == counts.accepted


def test_a_recorded_baseline_says_nothing_and_not_zero() -> None:
    assert count_meta(answered("t0_toy_baseline")) is None
    assert scraped("a_base") is None


def test_a_recorded_vllm_gives_the_share_of_each_position() -> None:
    counts = scraped("d_eagle3")

    assert counts is not None
    found = positions_of(counts)
    assert found is not None
    assert found.reached[0] > found.reached[1] > found.reached[2]
    assert 1 + sum(found.reached) == pytest.approx(acceptance_of(counts, "x").length)
    assert found.given[0] == found.reached[0]
    assert found.given[2] == pytest.approx(found.reached[2] / found.reached[1])


def test_vllms_random_drafter_is_accepted_nowhere() -> None:
    counts = scraped("d_eagle3_random")

    assert counts is not None
    found = positions_of(counts)
    assert acceptance_of(counts, "x").length == 1
    assert found is not None
    assert found.reached == (0, 0, 0)
    assert found.given == (0, None, None)


def test_vllms_n_grams_count_the_steps_with_a_draft_alone() -> None:
    assert scraped("b_ngram") == Counts(92, 242, 100, (58, 28, 11, 3))


def test_positions_that_were_never_reached_are_zero_and_not_missing() -> None:
    meta = {"spec_verify_ct": 95, "spec_num_correct_drafts": 0, "spec_num_proposed_drafts": 285}

    found = count_meta(meta | {"spec_correct_drafts_histogram": [95]})

    assert found == Counts(95, 285, 0, (0, 0, 0))


def test_a_histogram_that_disagrees_with_the_steps_is_not_used() -> None:
    meta = {"spec_verify_ct": 9, "spec_accept_token_num": 4, "spec_accept_histogram": [3, 2, 1]}

    assert count_meta(meta) == Counts(9, None, 4)


def test_the_oldest_names_leave_the_prefills_token_out() -> None:
    # 96 tokens in 95 steps: one came with the prefill, so that not one was drafted.
    assert count_meta({"completion_tokens": 96, "spec_verify_ct": 95}) == Counts(95, None, 0)


@pytest.mark.parametrize(
    ("rate", "draft_tokens", "length"),
    [(0.15, 3, 1.45), (0.0, 3, 1.0), (1.0, 5, 6.0), (67 / 87, 3, 1 + 67 / 29)],
)
def test_a_share_of_k_is_a_length(rate: float, draft_tokens: int, length: float) -> None:
    assert length_of_rate(rate, draft_tokens) == pytest.approx(length)
    assert rate_of_length(length, draft_tokens) == pytest.approx(rate)


def test_sglangs_old_log_counted_the_bonus_token_in_its_rate() -> None:
    # 0.25 of four verified tokens is the root alone: nothing was accepted.
    assert length_of_old_log_rate(0.25, 4) == 1
    assert length_of_old_log_rate(0.3625, 4) == pytest.approx(1.45)


@given(st.lists(st.lists(st.integers(0, 50), min_size=4, max_size=4), min_size=1, max_size=6))
def test_positions_add_up_to_the_accepted_tokens(histograms: list[list[int]]) -> None:
    many = [
        count_meta(
            {
                "spec_verify_ct": sum(one),
                "spec_num_correct_drafts": sum(n * count for n, count in enumerate(one)),
                "spec_num_proposed_drafts": 3 * sum(one),
                "spec_correct_drafts_histogram": one,
            }
        )
        for one in histograms
    ]
    whole = sum_counts(one for one in many if one is not None)

    assert whole is not None
    assert sum(whole.positions) == whole.accepted
    assert list(whole.positions) == sorted(whole.positions, reverse=True)
    assert whole.since(whole) == Counts(0, 0, 0, tuple(0 for _ in whole.positions))


def test_what_no_drafter_can_have_proposed_is_not_counted_one_by_one() -> None:
    meta = {"spec_verify_ct": 1, "spec_num_correct_drafts": 0, "spec_num_proposed_drafts": 10**12}
    found = count_meta(meta | {"spec_correct_drafts_histogram": [1]})
    names = ("drafts", "draft_tokens", "accepted_tokens")
    scrape = "".join(f"vllm:spec_decode_num_{name}_total 3\n" for name in names)
    scrape += 'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="99999999999"} 1\n'
    counted = count_metrics(parse_exposition(scrape))

    assert found is not None
    assert len(found.positions) == 1000
    assert counted == Counts(3, 3, 3)


def test_counters_that_are_no_numbers_are_as_good_as_none() -> None:
    names = ("drafts", "draft_tokens", "accepted_tokens")
    scrape = "".join(f"vllm:spec_decode_num_{name}_total NaN\n" for name in names)

    assert count_metrics(parse_exposition(scrape)) is None
