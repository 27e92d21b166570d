"""The keeper counts stillness as the core does, and knows a token when the probe does."""

import json
from dataclasses import asdict
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.event import Sample
from firedup.core.measure.completion import parse_answer
from firedup.core.model import Process, Stage
from firedup.core.verdict.liveness import Liveness
from firedup.host.agent.ask import has_generated
from firedup.host.agent.still import Stillness
from firedup.session.recipe import LIMITS

NS = 1_000_000_000

processes = st.lists(
    st.tuples(
        st.integers(1, 3),  # pid
        st.integers(1, 2),  # start ticks
        st.sampled_from("RSTtZ"),
        st.sampled_from([0.0, 0.01, 0.02, 0.5]),  # CPU seconds more
        st.sampled_from([0, 4 << 20, 5 << 20]),  # bytes read more
        st.sampled_from([0, 15 << 20, 17 << 20, -(8 << 20)]),  # bytes grown
    ),
    max_size=3,
    unique_by=lambda row: row[:2],
)
steps = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 5, 200, 700]), st.sampled_from([0, 0, 0, 100, -50]), processes
    ),
    min_size=1,
    max_size=12,
)


@given(steps)
def test_the_keeper_calls_a_stall_when_the_core_does(rows: list[Any]) -> None:
    at_s, log_size, sums = 1000, 500, {}  # type: ignore[var-annotated]
    core, keeper = Liveness(), Stillness(asdict(LIMITS))
    for more_s, more_log, tree in rows:
        at_s, log_size = at_s + more_s, max(0, log_size + more_log)
        found = []
        for pid, ticks, state, cpu_s, read, grown in tree:
            was = sums.get((pid, ticks), (0.0, 0, 1 << 30))
            now = (was[0] + cpu_s, was[1] + read, was[2] + grown)
            sums[(pid, ticks)] = now
            found.append(Process(pid, ticks, 0, "p", state, now[0], now[2], now[1]))
        sample = Sample(at_s * NS, 0, log_size, tuple(found))
        core.feed(sample)
        keeper.feed(msgspec.to_builtins(sample))

        # A keeper knows no stages: its patience is that of the most patient one.
        told = bool(core.stall(sample.at_ns, Stage.DIST_INIT))
        assert keeper.is_stalled(is_up=False) == told


BODIES = [
    b"",
    b"no json",
    b"[]",
    b"[1]",
    b"{}",
    b"\xff",
    b'{"text": "red", "meta_info": {"completion_tokens": 1}}',
    b'[{"text": "red", "meta_info": {"completion_tokens": 1}}]',
    b'{"text": "", "meta_info": {"completion_tokens": 0}}',
    b'{"text": "", "meta_info": {"completion_tokens": 1}}',
    b'{"text": ""}',
    b'{"text": "x"}',
    b'{"choices": []}',
    b'{"choices": [7]}',
    b'{"choices": [{"text": "x"}]}',
    b'{"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}',
    b'{"choices": [{"text": "x"}], "usage": {"completion_tokens": 0}}',
    b'{"choices": [{"text": "x"}], "usage": {"completion_tokens": true}}',
    b'{"choices": [{"message": {"content": "x"}}]}',
    b'{"choices": [{"message": {"content": null, "reasoning_content": "x"}}]}',
    b'{"choices": [{"message": {"content": null, "reasoning": "x"}}], "usage": null}',
    b'{"choices": [{"message": {}}]}',
    b'{"choices": [{"message": 5}], "usage": {"completion_tokens": 3}}',
]


@pytest.mark.parametrize("body", BODIES)
def test_the_keeper_takes_for_a_token_what_the_probe_does(body: bytes) -> None:
    answer = parse_answer(body)
    is_proof = answer is not None and not (
        answer.tokens == 0 or (answer.tokens is None and not answer.text)
    )

    assert has_generated(body) == is_proof


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    ["choices", "text", "message", "content", "usage", "completion_tokens"]
                ),
                inner,
            )
        ),
    )
)
def test_no_answer_confuses_the_keeper(value: Any) -> None:
    assert has_generated(json.dumps(value).encode()) in (True, False)
