"""Answers replayed with stamps: times, counts and text are exactly those of the replay."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.measured import Request
from firedup.core.measure.stream import StreamReader
from firedup.probe.answered import conclude
from firedup.probe.call import Call
from firedup.probe.exchange import Exchange

HEADERS = {"content-type": "text/event-stream"}


def replay(
    slices: list[tuple[int, bytes]], path: str = "/v1/completions", problem: str | None = None
) -> Request:
    exchange = Exchange(is_native=path.endswith("/generate"))
    exchange.start(200, HEADERS)
    for at_ns, data in slices:
        exchange.parts.append(data)
        exchange.mark(at_ns, len(data))
    return conclude(Call(path, b"", keeps_gaps=True), exchange, 1000, problem)


def pack(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def text(value: str, finish: str | None = None, **more: Any) -> bytes:
    return pack({"choices": [{"index": 0, "text": value, "finish_reason": finish}], **more})


def count(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 9, "completion_tokens": tokens}


def test_a_replayed_stream_has_exactly_its_times() -> None:
    pieces = [(2000 + 10 * n, text(f" {n}", usage=count(3 * n + 1))) for n in range(100)]
    last = (4000, text(" end", "length", usage=count(300)))

    request = replay([*pieces, last, (4500, b"data: [DONE]\n\n")])

    assert request == Request(
        prompt="",
        category="",
        begun_ns=1000,
        first_ns=2000,
        last_ns=4000,
        prompt_tokens=9,
        tokens=300,
        events=101,
        first_tokens=1,
        most_tokens=3,
        longest_gap_ns=4000 - 2990,
        gap_at_ns=2990,
        gaps_ns=(*[3] * (3 * 99), 505, 505),
        arrivals=101,
        finish="length",
        text="".join(f" {n}" for n in range(100)) + " end",
    )
    assert request.ttft_s == 1e-6
    assert request.tpot_s == pytest.approx(2e-6 / 299)


def test_a_chat_says_its_role_before_its_first_token() -> None:
    said = [(1500, {"role": "assistant", "content": ""})]
    said += [(2000 + n, {"content": f" {n}"}) for n in range(50)]
    slices = [
        (at, pack({"choices": [{"index": 0, "delta": one, "finish_reason": None}]}))
        for at, one in said
    ]
    slices += [(3000, pack({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))]
    slices += [(3001, pack({"choices": [], "usage": count(120)}))]

    request = replay(slices, "/v1/chat/completions")

    assert (request.first_ns, request.last_ns, request.events) == (2000, 2049, 50)
    assert (request.tokens, request.first_tokens, request.gaps_ns) == (120, None, None)
    assert request.error is None


def native(value: str, tokens: int, finish: str | None = None, **spec: int) -> bytes:
    meta = {"prompt_tokens": 4, "completion_tokens": tokens, **spec}
    return pack({"text": value, "meta_info": meta | {"finish_reason": finish and {"type": finish}}})


def test_sglangs_own_stream_has_the_counters_of_its_last_event() -> None:
    slices = [(2000 + n, native("ab" * (n + 1), 2 * (n + 1))) for n in range(20)]
    spec = {"spec_verify_ct": 12, "spec_accept_token_num": 30, "spec_draft_token_num": 36}
    slices += [(2100, native("ab" * 21, 42, "length", **spec)), (2101, b"data: [DONE]\n\n")]

    request = replay(slices, "/generate")

    assert (request.text, request.tokens, request.events) == ("ab" * 21, 42, 21)
    assert (request.first_tokens, request.most_tokens) == (2, 2)
    assert request.counts == Counts(12, 36, 30)


@pytest.mark.parametrize(
    ("slices", "problem", "error"),
    [
        ([(2, text("a"))], "the server closed the connection", "connection (after 1 piece)"),
        ([(2, text("a"))], None, "ended without saying that it was its end (after 1 piece)"),
        ([], "no text within 5 s", "no text within 5 s"),
        ([(2, b": ping\n\n")], "no text within 5 s", "no text within 5 s (before any text)"),
        (
            [(2, text("a", usage=count(3))), (3, pack({"error": {"message": "no memory"}}))],
            None,
            "the server told an error inside the stream: no memory (after 1 piece, 3 tokens)",
        ),
        ([(2, b"data: {broken\n\n")], None, "cannot be understood"),
        ([(2, b"data: [DONE]\n\n")], None, "an end and nothing before it"),
    ],
)
def test_a_broken_stream_says_why_and_how_much_came(
    slices: list[tuple[int, bytes]], problem: str | None, error: str
) -> None:
    request = replay(slices, problem=problem)

    assert error in (request.error or "")


def test_what_happens_after_the_end_mark_does_no_harm() -> None:
    slices = [(2, text("a", "stop")), (3, b"data: [DONE]\n\n")]

    assert replay(slices, problem="the server closed the connection").error is None


def test_an_answer_of_one_end_token_still_has_a_time() -> None:
    request = replay([(7, text("", "stop")), (8, pack({"choices": [], "usage": count(1)}))])

    assert (request.first_ns, request.tokens, request.events) == (7, 1, 0)


EVENTS = st.lists(
    st.one_of(
        st.builds(text, st.text(max_size=3)),
        st.builds(
            lambda value, n: text(value, usage=count(n)), st.text(max_size=2), st.integers(0, 9)
        ),
        st.builds(
            lambda said: pack({"choices": [{"delta": said, "finish_reason": None}]}),
            st.dictionaries(
                st.sampled_from(["content", "reasoning", "reasoning_content", "role"]),
                st.none() | st.text(max_size=2) | st.integers(),
            ),
        ),
        st.builds(native, st.text(max_size=3), st.integers(0, 9)),
        st.sampled_from(
            [
                text("a", timings={"predicted_n": 3}),
                text("a", timings={"predicted_n": 3.5}),
                text("a", usage=count(2), timings={"predicted_n": 3}),
                text("end", "stop"),
                pack({"choices": [], "usage": count(4)}),
                pack({"error": "bad"}),
                b"data: [DONE]\n\n",
                b": ping\n\n",
                b"data: a\ndata: b\n\n",
                b"data: 1\n\n",
                b'data: {"choices": [{"text": "a"}, {"text": "b"}]}\n\n',
                b'data: {"choices":[{"text":"\\ud800"}]}\n\n',
            ]
        ),
    ),
    min_size=1,
    max_size=30,
)


def facts(reader: StreamReader) -> tuple[Any, ...]:
    names = "at_ns totals last_total prompt_tokens finish finish_ns details error is_done text"
    return tuple(getattr(reader, name) for name in names.split())


@given(EVENTS, st.booleans(), st.integers(0, 25))
def test_the_quick_way_leads_where_the_plain_one_does(
    events: list[bytes], is_native: bool, repeat: int
) -> None:
    # The same event many times makes batches of one form likely.
    events = events + events[:1] * repeat
    plain = StreamReader()
    for at_ns, data in enumerate(events):
        if data.startswith(b"data") and data.count(b"\n") == 2:
            plain.take(at_ns, data[6:-2])
        elif data.startswith(b"data"):
            plain.take(at_ns, b"a\nb")
    exchange = Exchange(is_native=is_native)
    exchange.start(200, HEADERS)

    for at_ns, data in enumerate(events):
        exchange.parts.append(data)
        exchange.mark(at_ns, len(data))
    exchange.finish()

    assert facts(exchange.reader) == facts(plain)


@given(EVENTS, st.lists(st.integers(0, 3000)), st.booleans())
def test_slicing_the_bytes_differently_changes_nothing_but_the_stamps(
    events: list[bytes], cuts: list[int], is_native: bool
) -> None:
    stream = b"".join(events)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    found = []
    for ends in (edges, [0, len(stream)]):
        exchange = Exchange(is_native=is_native)
        exchange.start(200, HEADERS)
        for begin, end in pairwise(ends):
            exchange.parts.append(stream[begin:end])
            exchange.mark(7, end - begin)
        exchange.finish()
        found.append(facts(exchange.reader) if exchange.is_stream else None)

    assert found[0] == found[1]


def test_an_answer_without_end_is_given_up() -> None:
    exchange = Exchange()
    exchange.start(200, {"content-type": "application/json"})
    part = b"{" + b" " * (1 << 20)

    goes_on = []
    for _ in range(70):
        exchange.parts.append(part)
        goes_on.append(exchange.mark(1, len(part)))

    assert goes_on[0]
    assert not goes_on[-1]
    assert "longer than 64 MiB" in (exchange.problem or "")
