"""Flags that fit a drafter: right for kind, version and target, and nothing to fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import firedup.demo
from firedup.cli.compose import fit_models
from firedup.cli.fitted import fit_asked
from firedup.core.error import UsageError
from firedup.drafter.checks.drafter_context import ALLOWED
from firedup.drafter.flags import Wish, fit, fit_kind
from tests.drafter.pairs import KIMI, LLAMA, pair
from tests.drafter.zoo_folder import broken_folders

MODELS = Path(firedup.demo.__file__).parent / "vllm_model"
TARGET, DRAFT = str(MODELS / "t8"), str(MODELS / "t8_eagle3")
WISH = Wish("/models/draft", tp=8)


def value_of(words: tuple[str, ...], flag: str) -> str | None:
    return words[words.index(flag) + 1] if flag in words else None


@pytest.mark.parametrize(
    ("engine", "kind", "word"),
    [
        ("sglang", "eagle3", "EAGLE3"),
        ("sglang", "mtp", "EAGLE"),
        ("sglang", "draft-model", "STANDALONE"),
        ("llama-cpp", "eagle3", "draft-eagle3"),
        ("llama-cpp", "draft-model", "draft-simple"),
    ],
)
def test_the_algorithm_is_that_of_the_kind(engine: str, kind: str, word: str) -> None:
    assert word in fit_kind(engine, kind, WISH).words


@pytest.mark.parametrize("kind", ["eagle", "mtp", "draft-model"])
def test_reasons_speak_of_the_drafter_that_there_is(kind: str) -> None:
    choices = fit_kind("sglang", kind, WISH).choices

    assert all(choice.reason for choice in choices)
    assert not any("EAGLE3" in choice.reason or "fc" in choice.reason for choice in choices)


def test_a_drafter_that_an_engine_is_not_known_to_serve_is_doubted() -> None:
    unknown = fit_kind("sglang", "unknown", WISH, pair(LLAMA))
    known = fit_kind("sglang", "eagle3", WISH, pair(LLAMA))

    assert any("not known to serve" in doubt for doubt in unknown.doubts)
    assert not any("not known to serve" in doubt for doubt in known.doubts)


def test_vllm_is_told_the_method() -> None:
    (name, config) = fit_kind("vllm", "eagle3", WISH).words
    assert name == "--speculative-config"
    assert json.loads(config) == {
        "method": "eagle3",
        "model": "/models/draft",
        "num_speculative_tokens": 3,
    }


def test_a_chain_has_steps_top_k_and_draft_tokens_together() -> None:
    words = fit_kind("sglang", "eagle3", WISH).words
    flags = (
        "--speculative-num-steps",
        "--speculative-eagle-topk",
        "--speculative-num-draft-tokens",
    )
    assert [value_of(words, flag) for flag in flags] == ["3", "1", "4"]


def test_what_is_chosen_gives_the_checks_of_flags_nothing_to_say() -> None:
    target = {**KIMI, "quantization_config": {"quant_method": "compressed-tensors"}}
    case = pair(target, version="0.5.23", max_position_embeddings=2048, torch_dtype="float16")
    fitted = fit(case, "sglang", WISH)

    assert [one.id for one in fitted.findings if one.subject == "flags"] == []
    assert value_of(fitted.words, "--speculative-draft-attention-backend") == "triton"
    assert value_of(fitted.words, "--speculative-draft-model-quantization") == "unquant"
    assert value_of(fitted.words, "--dtype") == "bfloat16"
    assert fitted.variables == ((ALLOWED, "1"),)
    assert all(choice.reason for choice in fitted.choices)


def test_an_older_version_gets_no_flag_that_it_does_not_have() -> None:
    fitted = fit(pair(KIMI, version="0.5.6"), "sglang", WISH)

    assert "--speculative-draft-attention-backend" not in fitted.words
    assert any("use 0.5.7" in doubt for doubt in fitted.doubts)
    assert not fitted.fits
    assert any(one.id == "target-without-capture" for one in fitted.findings)


@pytest.mark.parametrize(("version", "has"), [("0.5.6", False), ("0.5.7", True), (None, False)])
def test_the_soft_watchdog_is_suggested_where_the_version_is_known_to_have_it(
    version: str | None, *, has: bool
) -> None:
    words = fit_kind("sglang", "eagle3", WISH, pair(LLAMA, version=version)).words
    assert ("--soft-watchdog-timeout" in words) is has


def test_the_memory_fraction_needs_the_size_of_a_gpu() -> None:
    assert any("--gpu-memory" in doubt for doubt in fit_kind("sglang", "eagle3", WISH).doubts)
    words = fit_kind("sglang", "eagle3", Wish("d", 8, 141.0)).words
    assert value_of(words, "--mem-fraction-static") == "0.90"
    small = fit_kind("sglang", "eagle3", Wish("d", 1, 24.0)).words
    assert value_of(small, "--mem-fraction-static") == "0.75"
    none = fit_kind("sglang", "eagle3", Wish("d", 1, 5.0))
    assert "--mem-fraction-static" not in none.words
    assert any("too little" in doubt for doubt in none.doubts)


def test_a_plain_pair_needs_nothing_beside_the_chain() -> None:
    fitted = fit(pair(LLAMA), "sglang", WISH)
    assert fitted.variables == ()
    assert len(fitted.choices) == 5


def test_real_files_are_fitted_for_the_engines_that_serve_them() -> None:
    asked: dict[str, Any] = {"engine": None, "version": None, "tp": 2, "gpu_gb": None, "host": None}
    found = fit_asked(TARGET, DRAFT, **asked)

    assert [(one.engine, one.fits) for one in found] == [("sglang", True), ("vllm", True)]
    for one in found:
        assert set(one.words) <= set(one.command)
        assert TARGET in one.command
        assert "2" in one.command


def test_a_broken_drafter_fits_in_no_engine() -> None:
    target, draft = broken_folders("d2t-ids")
    asked: dict[str, Any] = {"version": None, "tp": None, "gpu_gb": None, "host": None}
    (one,) = fit_asked(str(target), str(draft), engine="sglang", **asked)

    assert not one.fits
    assert [finding.id for finding in one.findings] == ["d2t-absolute-ids"]


def test_an_engine_of_which_nothing_is_known_is_wrong_use() -> None:
    asked: dict[str, Any] = {"version": None, "tp": None, "gpu_gb": None, "host": None}
    with pytest.raises(UsageError, match="nothing is known of drafters in generic"):
        fit_asked(TARGET, DRAFT, engine="generic", **asked)


def test_run_composes_with_the_same_flags() -> None:
    read = fit_models("sglang", TARGET, DRAFT, None, None)
    unread = fit_models("sglang", "Qwen/Qwen3-8B", "some/eagle3", None, None)
    absent = fit_models("sglang", "/nowhere/target", "/nowhere/draft", None, None)

    assert read
    assert unread
    assert absent
    assert read.words[:2] == unread.words[:2] == ("--speculative-algorithm", "EAGLE3")
    assert value_of(unread.words, "--speculative-draft-model-path") == "some/eagle3"
    assert absent.words[4:] == unread.words[4:]
    assert fit_models("generic", "t", "d", None, None) is None
