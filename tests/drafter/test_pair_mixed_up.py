"""What someone new gives by mistake: swapped folders, one folder twice, sizes that are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firedup.drafter.checkpoint import Checkpoint, Tensor
from firedup.drafter.facts_draft import draft_facts
from firedup.drafter.tell import config_evidence
from tests.drafter.pairs import EAGLE3, LLAMA, found, harm_of, pair


def _plain(name: str) -> Tensor:
    return Tensor(name, "BF16", (64, 64), "model.safetensors", 0, 8192)


def test_a_target_that_is_a_drafter_is_told_as_swapped() -> None:
    finding = found(pair(EAGLE3, LLAMA), "target-is-drafter")
    assert finding is not None
    assert finding.harm.value == "crash"
    assert harm_of(pair(), "target-is-drafter") is None


def test_a_model_is_no_drafter_of_its_own() -> None:
    case = pair()
    one = Checkpoint("/models/toy", "", LLAMA, {"a": _plain("a")})
    twice = replace(case, target=one, draft=replace(one, path="/models/toy/"))
    twice = replace(twice, draft_facts=draft_facts(one))
    assert harm_of(twice, "same-model") == "risk"
    copied = replace(twice, draft=replace(one, path="/models/copy"))
    assert harm_of(copied, "same-model") == "risk"
    layered = {**LLAMA, "num_nextn_predict_layers": 1}
    assert harm_of(replace(twice, draft=replace(one, config=layered)), "same-model") is None
    assert harm_of(case, "same-model") is None


@pytest.mark.parametrize("value", [-128, 10**30, 0, "128", [1], -1, float("inf"), [], True, 1.5])
def test_a_size_that_is_none_is_named_with_its_value(value: Any) -> None:
    for case in (pair(hidden_size=value), pair({**LLAMA, "hidden_size": value})):
        finding = found(case, "config-number")
        assert finding is not None
        assert finding.harm.value == "crash"
        assert f"hidden_size {value!r}" in finding.message


def test_sizes_per_layer_and_sizes_left_out_are_possible() -> None:
    assert harm_of(pair({**LLAMA, "intermediate_size": [8, 16]}), "config-number") is None
    assert harm_of(pair(head_dim=None), "config-number") is None


def test_a_key_that_is_there_is_not_said_to_be_missing() -> None:
    one = Checkpoint("/m", "", {"hidden_size": "128"}, {})
    assert "is '128'" in config_evidence(one, "hidden_size", None).text
    assert "is not there" in config_evidence(one, "vocab_size", None).text


def test_without_a_config_no_producer_is_guessed() -> None:
    tensors = {name: _plain(name) for name in ("midlayer.self_attn.q_proj.weight", "d2t")}
    assert draft_facts(Checkpoint("/m", "", {}, tensors)).producer is None


@pytest.mark.parametrize(
    ("tp", "heads", "kv_heads", "harm"),
    [(3, 4, 4, "crash"), (2, 4, 2, None), (4, 4, 2, None), (4, 12, 6, "crash"), (1, 4, 2, None)],
)
def test_heads_are_shared_evenly(tp: int, heads: int, kv_heads: int, harm: str | None) -> None:
    command = f"python -m sglang.launch_server --model-path /m --tp {tp}"
    sizes: dict[str, Any] = {"num_attention_heads": heads, "num_key_value_heads": kv_heads}
    assert harm_of(pair(command=command, **sizes), "heads-not-divisible") == harm
