"""Checks that need to know engines: flags, architectures, layers, norms, rope, contexts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firedup.core.checked import Harm
from firedup.drafter.checkpoint import Tensor
from firedup.drafter.checks.drafter_context import ALLOWED
from firedup.drafter.expected import expected_tensors
from firedup.drafter.facts_draft import draft_facts
from tests.drafter.pairs import EAGLE3, IDS, KIMI, LLAMA, found, harm_of, pair

RUN = "python3 -m sglang.launch_server --model-path /models/target"
DRAFT = "--speculative-draft-model-path /models/draft"
NESTED = {
    "architectures": ["Eagle3DraftModel"],
    "speculators_model_type": "eagle3",
    "draft_vocab_size": 128,
    "transformer_layer_config": {**LLAMA, "num_hidden_layers": 1},
    "speculators_config": {"algorithm": "eagle3"},
}


def vllm(config: str) -> str:
    return f"vllm serve /models/target --speculative-config '{config}'"


@pytest.mark.parametrize(
    ("command", "ident", "harm"),
    [
        (
            f"{RUN} --speculative-algorithm EAGLE {DRAFT}",
            "algorithm-not-the-drafters",
            "silent-loss",
        ),
        (f"{RUN} --speculative-algorithm EAGLE3 {DRAFT}", "algorithm-not-the-drafters", None),
        (
            f"{RUN} --speculative-algorithm STANDALONE {DRAFT}",
            "algorithm-not-the-drafters",
            "crash",
        ),
        (f"{RUN} --speculative-algorithm NGRAM", "algorithm-not-the-drafters", None),
        (f"{RUN} --speculative-algorithm EAGLE3", "drafter-not-given", "crash"),
        (f"{RUN} {DRAFT}", "drafter-without-algorithm", "silent-loss"),
        (
            f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --speculative-eagle-topk 1",
            "draft-steps-not-given",
            "crash",
        ),
        (
            (
                f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --speculative-num-steps 3"
                " --speculative-eagle-topk 1 --speculative-num-draft-tokens 8"
            ),
            "draft-tokens-adjusted",
            "note",
        ),
        (
            (
                f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --speculative-num-steps 3"
                " --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
            ),
            "draft-tokens-adjusted",
            None,
        ),
        (
            f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --speculative-token-map m.pt",
            "token-map-ignored",
            "note",
        ),
        (
            f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --speculative-use-rejection-sampling",
            "rejection-sampling-with-draft-vocabulary",
            "crash",
        ),
        (
            f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --quantization fp8",
            "quantization-inherited",
            "crash",
        ),
        (
            (
                f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --quantization fp8"
                " --speculative-draft-model-quantization unquant"
            ),
            "quantization-inherited",
            None,
        ),
        (
            vllm('{"model": "/models/draft", "num_speculative_tokens": 3}'),
            "method-not-named",
            "crash",
        ),
        (
            vllm('{"model": "/models/eagle3-draft", "num_speculative_tokens": 3}'),
            "method-not-named",
            "risk",
        ),
        (
            vllm('{"model": "/models/eagle-3", "num_speculative_tokens": 3}'),
            "method-not-named",
            "crash",
        ),
        (
            vllm('{"method": "eagle3", "model": "/models/draft"}'),
            "draft-tokens-not-given",
            "crash",
        ),
        (
            vllm(
                '{"method": "draft_model", "model": "/models/draft", "num_speculative_tokens": 3}'
            ),
            "algorithm-not-the-drafters",
            "crash",
        ),
        (
            "llama-server -m t.gguf -md d.gguf --spec-type draft-simple",
            "algorithm-not-the-drafters",
            "silent-loss",
        ),
        ("llama-server -m t.gguf --spec-type draft-eagle3", "drafter-not-given", "crash"),
    ],
)
def test_flags_are_judged_with_the_drafter(command: str, ident: str, harm: str | None) -> None:
    assert harm_of(pair(command=command), ident) == harm


def test_a_finding_on_flags_shows_them_and_what_to_write() -> None:
    case = pair(command=f"{RUN} --speculative-algorithm EAGLE {DRAFT}", engine="sglang")
    finding = found(case, "algorithm-not-the-drafters")
    assert finding
    assert finding.subject == "flags"
    assert finding.evidence[0].text == "--speculative-algorithm EAGLE"
    assert finding.remedy == "Launch it with --speculative-algorithm EAGLE3."


@pytest.mark.parametrize(
    ("engine", "version", "harm"),
    [
        ("sglang", "0.5.9", "crash"),
        ("sglang", "0.5.10", None),
        ("vllm", "0.17.1", "crash"),
        ("vllm", "0.18.1", None),
        ("llama-cpp", None, None),
        ("sglang", None, "risk"),
    ],
)
def test_kimi_needs_a_version_that_hands_out_its_hidden_states(
    engine: str, version: str | None, harm: str | None
) -> None:
    assert harm_of(pair(KIMI, engine=engine, version=version), "target-without-capture") == harm


def test_a_target_of_a_type_that_vllm_refused_is_refused_in_old_versions_alone() -> None:
    target = {**LLAMA, "architectures": ["Phi3ForCausalLM"], "model_type": "phi3"}
    for version, harm in (("0.15.1", "crash"), ("0.22.1", None)):
        case = pair(target, engine="vllm", version=version)
        assert harm_of(case, "target-without-capture") == harm


@pytest.mark.parametrize(
    ("architecture", "engine", "version", "harm"),
    [
        ("Eagle3LlamaForCausalLM", "sglang", "0.5.23", "crash"),
        ("Eagle3LlamaForCausalLM", "vllm", "0.32.0", None),
        ("LlamaForCausalLMEagle3", "sglang", "0.5.23", None),
    ],
)
def test_the_architecture_must_be_one_that_the_engine_knows(
    architecture: str, engine: str, version: str, harm: str | None
) -> None:
    case = pair(architectures=[architecture], engine=engine, version=version)
    assert harm_of(case, "drafter-architecture-unknown") == harm


def test_the_nested_format_is_for_vllm_alone() -> None:
    assert harm_of(pair(draft=NESTED, engine="sglang"), "drafter-architecture-unknown") == "crash"
    assert harm_of(pair(draft=NESTED, engine="vllm"), "drafter-architecture-unknown") is None
    assert harm_of(pair(draft=NESTED), "drafter-architecture-unknown") == "risk"


def test_captured_layers_are_told_for_each_engine_and_version() -> None:
    case = pair(KIMI, eagle_config={IDS: [2, 30, 58]})
    finding = found(case, "captured-layers")
    assert finding
    assert finding.harm is Harm.NOTE
    told = {(one.engine, one.versions): one.text for one in finding.consequences}
    assert told["sglang", "<0.5.13"] == "captures 3, 31, 59"
    assert told["sglang", ">=0.5.13"] == "captures 2, 30, 58"
    assert told["llama-cpp", ""] == "captures 2, 30, 58"


@pytest.mark.parametrize(
    ("engine", "version", "harm"),
    [("sglang", "0.5.23", None), ("vllm", "0.32.0", "silent-loss"), ("vllm", "0.21.0", None)],
)
def test_ids_of_outputs_are_one_layer_early_in_vllm(
    engine: str, version: str, harm: str | None
) -> None:
    case = pair(eagle_config={IDS: [1, 15, 28]}, engine=engine, version=version)
    assert harm_of(case, "captured-layers-differ") == harm


@pytest.mark.parametrize(
    ("more", "layers", "ident", "harm"),
    [
        ({"eagle_config": {IDS: [1, 15, 32]}}, 32, "layer-ids-out-of-range", "crash"),
        ({"eagle_config": {IDS: [1, 15, 28]}}, 32, "layer-ids-out-of-range", None),
        ({}, 6, "layer-ids-collide", "crash"),
        ({}, 8, "layer-ids-collide", None),
        ({"eagle_config": {IDS: [3, 3, 9]}}, 32, "layer-ids-collide", "crash"),
        ({IDS: [5, 6, 7]}, 32, "layer-ids-not-read", "silent-loss"),
        ({IDS: [2, 16, 29]}, 32, "layer-ids-not-read", None),
        ({"eagle_config": {IDS: [5, 6, 7]}}, 32, "layer-ids-not-read", None),
    ],
)
def test_layer_ids_must_be_layers_distinct_and_where_they_are_read(
    more: dict[str, Any], layers: int, ident: str, harm: str | None
) -> None:
    target = {**LLAMA, "num_hidden_layers": layers}
    case = pair(target, engine="sglang", version="0.5.23", **more)
    assert harm_of(case, ident) == harm


@pytest.mark.parametrize(
    ("flag", "engine", "version", "harm"),
    [
        ("norm_before_residual", "sglang", "0.5.23", "silent-loss"),
        ("norm_before_residual", "vllm", "0.32.0", None),
        ("norm_output", "sglang", "0.5.11", "silent-loss"),
        ("norm_output", "sglang", "0.5.12", None),
        ("norm_before_fc", "sglang", "0.5.16", "silent-loss"),
        ("fc_norm", "vllm", "0.21.0", "crash"),
        ("fc_norm", "llama-cpp", None, "crash"),
    ],
)
def test_norm_flags_are_honoured_from_some_version_on(
    flag: str, engine: str, version: str | None, harm: str | None
) -> None:
    flags: dict[str, Any] = {flag: True}
    case = pair(engine=engine, version=version, **flags)
    assert harm_of(case, "norm-flag-not-honoured") == harm


def test_a_nested_config_without_the_residual_flag_has_two_meanings() -> None:
    assert harm_of(pair(draft=NESTED, engine="vllm"), "norm-flag-by-default") == "risk"


@pytest.mark.parametrize(
    ("engine", "version", "harm"),
    [
        ("sglang", "0.5.9", "silent-loss"),
        ("sglang", "0.5.10", None),
        ("vllm", "0.11.2", "silent-loss"),
    ],
)
def test_a_rope_base_under_the_new_key_alone_is_lost_in_old_versions(
    engine: str, version: str, harm: str | None
) -> None:
    draft = {key: value for key, value in EAGLE3.items() if key != "rope_theta"}
    case = pair(draft=draft, engine=engine, version=version, rope_parameters={"rope_theta": 1e6})
    assert harm_of(case, "rope-parameters-not-read") == harm


def test_two_rope_bases_in_one_config_are_a_risk() -> None:
    case = pair(rope_parameters={"rope_theta": 1e6})
    assert harm_of(case, "rope-theta-differs") == "risk"


@pytest.mark.parametrize(
    ("command", "engine", "harm"),
    [
        (f"{RUN} --speculative-algorithm EAGLE3 {DRAFT}", "sglang", "crash"),
        (f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} --context-length 2048", "sglang", None),
        (
            f"{ALLOWED}=1 {RUN} --speculative-algorithm EAGLE3 {DRAFT}",
            "sglang",
            "risk",
        ),
        ("", "sglang", "risk"),
        (vllm('{"method": "eagle3", "model": "d", "num_speculative_tokens": 3}'), "vllm", "risk"),
    ],
)
def test_a_drafter_of_short_context_ends_sglang_unless_it_is_allowed(
    command: str, engine: str, harm: str | None
) -> None:
    case = pair(command=command, engine=engine, max_position_embeddings=2048)
    assert harm_of(case, "drafter-context-too-short") == harm


@pytest.mark.parametrize(
    ("flags", "harm"),
    [
        ("", "risk"),
        ("--attention-backend trtllm_mla", "crash"),
        ("--attention-backend trtllm_mla --speculative-draft-attention-backend fa3", None),
    ],
)
def test_a_plain_drafter_needs_a_backend_of_its_own_beside_a_latent_target(
    flags: str, harm: str | None
) -> None:
    case = pair(KIMI, command=f"{RUN} --speculative-algorithm EAGLE3 {DRAFT} {flags}")
    assert harm_of(case, "attention-backend-inherited") == harm


def test_floats_of_two_kinds_need_a_flag() -> None:
    assert harm_of(pair(torch_dtype="float16"), "drafter-dtype-differs") == "risk"
    said = pair(torch_dtype="float16", command=f"{RUN} --dtype bfloat16")
    assert harm_of(said, "drafter-dtype-differs") is None


def test_more_than_one_layer_needs_a_newer_version() -> None:
    for version, harm in (("0.5.11", "crash"), ("0.5.12", None)):
        case = pair(engine="sglang", version=version, num_hidden_layers=2)
        assert harm_of(case, "several-layers") == harm
    many = pair(eagle_config={IDS: [1, 9, 17, 28]}, engine="vllm", version="0.21.0")
    assert harm_of(many, "streams-not-three") == "crash"


def test_memory_is_told_per_rank() -> None:
    finding = found(pair(command=f"{RUN} --tp-size 8"), "drafter-memory")
    assert finding
    assert finding.message.startswith("The drafter's weights take 300.0 MB on each of 8 ranks.")


def test_published_drafters_are_named_for_a_target_that_is_known() -> None:
    finding = found(pair(KIMI, path="moonshotai/Kimi-K2.5"), "published-drafters")
    assert finding
    assert "lightseekorg/kimi-k2.5-eagle3-mla" in finding.message
    assert any("MT-Bench 2.94" in one.text for one in finding.evidence)
    assert found(pair(path="/models/our-own"), "published-drafters") is None


def test_a_whole_head_that_is_missing_is_the_targets_in_vllm_and_nobodys_in_sglang() -> None:
    case = pair(draft_vocab_size=256, intermediate_size=128)
    expected = expected_tensors(case)
    assert expected is not None
    held = {
        name: Tensor(name, "BF16", tuple(size or 1 for size in shape), "model.safetensors", 0, 0)
        for name, shape in expected.required.items()
        if name != "lm_head.weight"
    }
    draft = replace(case.draft, tensors=held)
    case = replace(case, draft=draft, draft_facts=draft_facts(draft))

    harms = {e: harm_of(replace(case, engine=e), "tensor-missing") for e in ("sglang", "vllm")}
    assert harms == {"sglang": "silent-loss", "vllm": "note"}
