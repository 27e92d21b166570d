"""Names of models: repacks are the same weights, versions are not, and some names say nothing."""

from __future__ import annotations

import pytest

from firedup.drafter.names import can_be_same, model_name


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("Kimi-K2.5", "Kimi-K2.5-NVFP4", True),
        ("Kimi-K2-Instruct", "Kimi-K2.5", False),
        ("Kimi-K2.5", "Kimi-K2.6", False),
        ("Llama-3.1-8B-Instruct", "Meta-Llama-3.1-8B-Instruct-FP8-dynamic", True),
        ("Llama-3.1-8B", "Llama-3.1-8B-Instruct", False),
        ("Qwen3-8B", "qwen3_8b_w4a16.gguf", True),
        ("Qwen3-8B", "Llama-3.1-8B", False),
        ("Qwen3-8B", "target", None),
        ("checkpoint-500", "Kimi-K2.5", None),
        ("Llama3.1-8B", "llama-3.1-8b", True),
    ],
)
def test_names_are_compared_by_what_they_say(left: str, right: str, same: bool | None) -> None:
    assert can_be_same(left, right) is same
    assert can_be_same(right, left) is same


def test_the_name_is_the_folders_or_that_of_the_hubs_cache() -> None:
    assert model_name("box:/data/Kimi-K2.5/") == "Kimi-K2.5"
    assert model_name("moonshotai/Kimi-K2.5") == "Kimi-K2.5"
    cached = "~/hub/models--moonshotai--Kimi-K2.5/snapshots/0a1b2c"
    assert model_name(cached) == "Kimi-K2.5"
    assert model_name("") == ""
