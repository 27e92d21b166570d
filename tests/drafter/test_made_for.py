"""The target that a drafter names as its own, against what the target's place and card call it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from firedup.drafter.case import Case
from firedup.host.agent.checkpoint import describe_checkpoint
from tests.drafter.pairs import EAGLE3, LLAMA, found, pair

INSTRUCT = "meta-llama/Llama-3.1-8B-Instruct"
AWQ = {"quantization_config": {"quant_method": "awq"}}


def case_of(path: str, card: dict[str, Any], target: dict[str, Any] | None = None) -> Case:
    case = pair(LLAMA | (target or {}), EAGLE3, path=path, target_model=INSTRUCT)
    extra = {"README.md": card} if card else {}
    facts = replace(case.target_facts, quantization="awq" if target else None)
    return replace(case, target=replace(case.target, extra=extra), target_facts=facts)


@pytest.mark.parametrize(
    ("path", "card", "target"),
    [
        ("/m/Llama-3.1-8B-Instruct", {}, None),
        ("/m/Llama-3.1-8B-Instruct", {"base_model": ["meta-llama/Llama-3.1-8B"]}, None),
        ("/m/my-awq", {"base_model": [INSTRUCT]}, AWQ),
        ("/m/mine", {"base_model": [INSTRUCT], "base_model_relation": "quantized"}, None),
        ("/m/target", {}, None),
        ("/m/target", {"base_model": ["meta-llama/Llama-3.1-8B"]}, None),
    ],
)
def test_a_drafter_of_the_same_weights_is_no_stranger(
    path: str, card: dict[str, Any], target: dict[str, Any] | None
) -> None:
    assert found(case_of(path, card, target), "made-for-another-target") is None


@pytest.mark.parametrize(
    ("path", "card", "said"),
    [
        ("/m/my-tune", {"base_model": [INSTRUCT]}, "my-tune was trained further from"),
        (
            "/m/Llama-3.1-8B-Medical",
            {"base_model": [INSTRUCT], "base_model_relation": "finetune"},
            "Llama-3.1-8B-Medical was trained further from",
        ),
        ("/m/Llama-3.1-8B", {}, "the same family, another version"),
        ("/m/target", {"base_model": ["Qwen/Qwen3-8B"]}, "not for Qwen3-8B"),
    ],
)
def test_a_drafter_of_other_weights_is_told(path: str, card: dict[str, Any], said: str) -> None:
    finding = found(case_of(path, card), "made-for-another-target")

    assert finding is not None
    assert said in finding.message


def test_a_card_says_what_a_model_was_made_of_and_how(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text(
        "---\nlicense: mit\nbase_model:\n- a/b\n- c/d\nbase_model_relation: finetune\n---\n# x\n"
    )

    documents = describe_checkpoint(str(tmp_path))["documents"]

    assert documents["README.md"] == {
        "base_model": ["a/b", "c/d"],
        "base_model_relation": "finetune",
    }
