"""Bodies of requests: what each engine is asked in its own words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firedup.core.measure.completion import Generation, build_body
from firedup.core.measure.prompt import Message

MESSAGES = (Message("system", "Be brief."), Message("user", "Hi"))


def body(route: str, **how: Any) -> dict[str, Any]:
    generation = Generation(**{"max_tokens": 8, "streams": True, "ignores_eos": True, **how})
    value: dict[str, Any] = json.loads(build_body(route, "m", MESSAGES, "all text", generation))
    return value


def test_chat_sends_the_messages_and_completions_the_text() -> None:
    chat, plain = body("/v1/chat/completions"), body("/v1/completions")

    assert chat["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]
    assert "prompt" not in chat
    assert plain["prompt"] == "all text"
    assert plain["stream_options"] == {"include_usage": True}


def test_an_unknown_server_is_asked_for_nothing_that_it_might_refuse() -> None:
    assert "ignore_eos" not in body("/v1/completions", min_tokens=3)
    assert "min_tokens" not in body("/v1/completions", min_tokens=3)


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_engines_that_can_count_each_piece_and_go_on_after_the_end(engine: str) -> None:
    asked = body("/v1/chat/completions", engine=engine, min_tokens=3, seed=7)

    assert asked["ignore_eos"] is True
    assert (asked["min_tokens"], asked["seed"]) == (3, 7)
    assert asked["stream_options"]["continuous_usage_stats"] is True


def test_llama_cpp_counts_in_its_timings() -> None:
    asked = body("/v1/completions", engine="llama-cpp")

    assert asked["timings_per_token"] is True
    assert asked["ignore_eos"] is True


def test_sglangs_own_route_has_its_own_words() -> None:
    assert body("/generate", engine="sglang", min_tokens=2, extra={"rid": "x"}) == {
        "text": "all text",
        "stream": True,
        "rid": "x",
        "sampling_params": {
            "max_new_tokens": 8,
            "temperature": 0,
            "ignore_eos": True,
            "min_new_tokens": 2,
        },
    }
