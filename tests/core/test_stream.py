"""Streamed answers in the dialects of the engines, and what they say when."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.stream import StreamReader


def read(*events: Any) -> StreamReader:
    """A reader that took the events at 1, 2, 3… ns; those that are no bytes become JSON."""
    reader = StreamReader()
    for at_ns, event in enumerate(events, start=1):
        reader.take(at_ns, event if isinstance(event, bytes) else json.dumps(event).encode())
    return reader


def text(value: str, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "text": value, "finish_reason": more.pop("finish", None)}
    return {"choices": [choice], **more}


def delta(finish: str | None = None, usage: Any = None, **said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}], "usage": usage}


def used(tokens: int, prompt: int = 5) -> dict[str, Any]:
    return {"completion_tokens": tokens, "prompt_tokens": prompt, "total_tokens": tokens + prompt}


def test_a_completion_has_its_tokens_from_the_last_event() -> None:
    reader = read(
        text("a"), text(" b", finish="length"), {"choices": [], "usage": used(6)}, b"[DONE]"
    )

    assert reader.text == "a b"
    assert (reader.at_ns, reader.totals) == ([1, 2], [None, None])
    assert (reader.last_total, reader.prompt_tokens, reader.finish) == (6, 5, "length")
    assert reader.is_done
    assert reader.error is None


def test_the_role_and_the_end_of_a_chat_are_no_pieces() -> None:
    reader = read(
        delta(role="assistant", content=""),
        delta(content="a"),
        delta(content="b"),
        delta(finish="stop"),
        b"[DONE]",
    )

    assert reader.at_ns == [2, 3]
    assert (reader.text, reader.finish, reader.finish_ns) == ("ab", "stop", 4)


def test_reasoning_counts_as_text_and_is_not_counted_twice_under_two_names() -> None:
    reader = read(
        delta(role="assistant", reasoning_content="hm", reasoning="hm", content=None),
        delta(reasoning=" so"),
        delta(content=" yes"),
        delta(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}]),
    )

    assert reader.text == "hm so yes"
    assert reader.at_ns == [1, 2, 3]


def test_usage_in_every_event_tells_the_tokens_of_each_piece() -> None:
    reader = read(
        delta(role="assistant", content="", usage=used(0)),
        delta(content="abc", usage=used(3)),
        delta(content="", usage=used(4)),  # half a character: a token without text
        delta(content="d", finish="length", usage=used(6)),
        {"choices": [], "usage": used(6)},
    )

    assert (reader.at_ns, reader.totals) == ([2, 3, 4], [3, 4, 6])


def test_llama_cpp_tells_the_tokens_in_its_timings_and_the_drafts_in_the_last() -> None:
    last = {"predicted_n": 5, "draft_n": 6, "draft_n_accepted": 3}
    reader = read(
        text("a", timings={"predicted_n": 1}),
        text("bcd", timings={"predicted_n": 4, "draft_n": 3, "draft_n_accepted": 2}),
        text("", finish="length", timings=last, usage=used(5)),
    )

    assert (reader.at_ns, reader.totals) == ([1, 2, 3], [1, 4, 5])
    assert reader.details == last


def test_a_total_that_comes_with_the_end_alone_makes_no_piece_of_it() -> None:
    reader = read(text("a"), text("", finish="length", timings={"predicted_n": 5}))

    assert (reader.at_ns, reader.last_total) == ([1], 5)


def test_llama_cpps_own_route_is_understood() -> None:
    reader = read(
        {"content": "a", "stop": False},
        {"content": "", "stop": True, "stop_type": "limit", "tokens_predicted": 2},
    )

    assert (reader.text, reader.finish, reader.last_total) == ("a", "limit", 2)


def native(value: str, tokens: int, finish: str | None = None) -> dict[str, Any]:
    reason = {"type": finish, "length": tokens} if finish else None
    meta = {"completion_tokens": tokens, "prompt_tokens": 4, "finish_reason": reason}
    return {"text": value, "meta_info": meta | ({"spec_verify_ct": 2} if finish else {})}


def test_sglangs_own_route_repeats_the_text() -> None:
    reader = read(native("a", 1), native("a b", 3), native("a b c", 4, "length"), b"[DONE]")

    assert reader.text == "a b c"
    assert (reader.at_ns, reader.totals) == ([1, 2, 3], [1, 3, 4])
    assert reader.finish == "length"
    assert reader.details["spec_verify_ct"] == 2


def test_sglang_may_send_what_is_new_only() -> None:
    assert read(native("a", 1), native(" b", 3), native(" c", 4, "length")).text == "a b c"
    # The second begins with the first, which is only found out at the third.
    assert read(native("a", 1), native("ab", 3), native("c", 4, "length")).text == "aabc"


def test_a_stop_word_that_the_last_event_leaves_out_does_not_repeat_the_text() -> None:
    reader = read(native("a", 1), native("ab", 2), native("ab STOP", 4), native("ab ", 4, "stop"))

    assert reader.text == "ab "


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"error": {"message": "out of memory", "code": 500}}, "out of memory"),
        ({"error": "aborted"}, "aborted"),
        ({"object": "error", "message": "too long", "code": 400}, "too long"),
        ({"code": 500, "message": "slot failed", "type": "server_error"}, "slot failed"),
        ({"error": {}}, "an error without a message"),
        (b"<html>", "cannot be understood: '<html>'"),
        ([1], "cannot be understood"),
    ],
)
def test_an_error_inside_the_stream_is_kept_and_ends_the_reading(event: Any, error: str) -> None:
    reader = read(text("a"), event, text("b"), b"[DONE]")

    assert error in (reader.error or "")
    assert reader.text == "a"
    assert not reader.is_done


WORDS = ["choices", "text", "delta", "content", "usage", "meta_info", "timings", "error"]
WORDS += ["stop", "completion_tokens", "finish_reason", "message", "stop_type"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(WORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES | st.binary(max_size=8)))
def test_no_event_breaks_the_reader(events: list[Any]) -> None:
    reader = read(*events)

    assert len(reader.at_ns) == len(reader.totals)
    assert reader.at_ns == sorted(reader.at_ns)
    assert isinstance(reader.text, str)
