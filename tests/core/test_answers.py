"""What servers answer, in every dialect, and what their counters mean."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.acceptance import Counts, acceptance_of, count_meta, count_metrics
from firedup.core.measure.completion import build_request, parse_answer, parse_error, parse_models
from firedup.core.measure.exposition import parse_exposition, total_of


def test_each_route_is_asked_in_its_own_dialect() -> None:
    plain = json.loads(build_request("/v1/completions", "m", "hi", 3))
    chat = json.loads(build_request("/v1/chat/completions", "m", "hi", 3))
    native = json.loads(build_request("/generate", "m", "hi", 3))

    assert (plain["prompt"], plain["max_tokens"], plain["temperature"]) == ("hi", 3, 0)
    assert chat["messages"] == [{"role": "user", "content": "hi"}]
    assert native == {"text": "hi", "sampling_params": {"max_new_tokens": 3, "temperature": 0}}


@pytest.mark.parametrize(
    ("body", "text", "tokens"),
    [
        ({"choices": [{"text": " blue"}], "usage": {"completion_tokens": 1}}, " blue", 1),
        ({"choices": [{"message": {"content": "blue"}}]}, "blue", None),
        ({"choices": [{"message": {"reasoning_content": "hm", "content": None}}]}, "hm", None),
        ({"text": "blue", "meta_info": {"completion_tokens": 4}}, "blue", 4),
        ([{"text": "blue", "meta_info": {}}], "blue", None),
    ],
)
def test_the_text_is_found_in_every_dialect(body: object, text: str, tokens: int | None) -> None:
    answer = parse_answer(json.dumps(body).encode())

    assert answer is not None
    assert (answer.text, answer.tokens) == (text, tokens)


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_no_body_breaks_the_readers(body: bytes) -> None:
    parse_answer(body)
    parse_models(body)
    parse_error(body)


def test_errors_and_model_names_are_found() -> None:
    assert parse_error(b'{"error": {"message": "no such model"}}') == "no such model"
    assert parse_error(b'{"detail": "busy"}') == "busy"
    assert parse_error(b"out of\n  memory\n") == "out of memory"


def test_of_a_web_page_its_title_is_told() -> None:
    page = b"<!DOCTYPE HTML>\n<html><head><title>Error\n response</title></head><h1>No"
    assert parse_error(page) == "a web page (Error response)"
    assert parse_error(b"<html>") == "a web page"
    assert parse_models(b'{"data": [{"id": "tiny"}]}') == ("tiny",)


SCRAPE = """\
# HELP vllm:spec_decode_num_drafts_total Number of drafts
vllm:spec_decode_num_drafts_total{engine="0",model_name="a\\"b"} 100.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="a"} 50.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="a"} 1.7e9
vllm:spec_decode_num_draft_tokens_total{engine="0"} 450
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 248
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 103
broken line
"""


def test_engines_are_summed_and_twins_ignored() -> None:
    samples = parse_exposition(SCRAPE)

    assert total_of(samples, "vllm:spec_decode_num_drafts_total") == 150
    assert count_metrics(samples) == Counts(150, 450, 248, (103,))
    assert samples[0].labels["model_name"] == 'a"b'


def test_a_scrape_without_the_counters_says_nothing() -> None:
    assert count_metrics(parse_exposition("sglang:gen_throughput 1.0")) is None


def test_the_length_includes_the_bonus_token() -> None:
    acceptance = acceptance_of(Counts(150, 450, 248), "/metrics")

    assert acceptance.length == pytest.approx(2.6533, abs=1e-4)
    assert acceptance.rate == pytest.approx(0.5511, abs=1e-4)


def test_fifteen_percent_of_three_is_a_length_of_1_45() -> None:
    assert acceptance_of(Counts(100, 300, 45), "x").length == pytest.approx(1.45)


def test_no_drafts_give_no_length_but_a_reason() -> None:
    acceptance = acceptance_of(Counts(0, 0, 0), "x")

    assert (acceptance.length, acceptance.why_not) == (None, "not one draft was verified")


@pytest.mark.parametrize(
    ("meta", "length"),
    [
        # The numbers that a real SGLang 0.5.23 gave for a good toy drafter: 96 tokens in 29 steps.
        (
            {
                "completion_tokens": 96,
                "spec_verify_ct": 29,
                "spec_num_correct_drafts": 67,
                "spec_num_proposed_drafts": 87,
            },
            1 + 67 / 29,
        ),
        (
            {
                "completion_tokens": 96,
                "spec_verify_ct": 95,
                "spec_accept_token_num": 0,
                "spec_draft_token_num": 285,
            },
            1.0,
        ),
        ({"completion_tokens": 97, "spec_verify_ct": 48}, 2.0),
    ],
)
def test_every_generation_of_sglangs_names_is_read(meta: dict[str, object], length: float) -> None:
    counts = count_meta(meta)

    assert counts is not None
    assert acceptance_of(counts, "x").length == pytest.approx(length)


def test_a_request_without_speculation_has_no_counts() -> None:
    assert count_meta({"completion_tokens": 96}) is None


def test_a_rate_is_not_invented_where_the_proposed_tokens_are_unknown() -> None:
    counts = count_meta({"completion_tokens": 31, "spec_verify_ct": 10})

    assert counts is not None
    acceptance = acceptance_of(counts, "x")
    assert (acceptance.length, acceptance.rate, acceptance.proposed) == (3.0, None, None)
