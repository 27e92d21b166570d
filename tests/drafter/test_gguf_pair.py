"""Pairs in GGUF files: headers and maps that llama.cpp would end on, or pass over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firedup.drafter.case import Case, Samples
from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.facts_draft import draft_facts
from firedup.drafter.facts_target import target_facts
from firedup.drafter.judge import judge
from tests.drafter.pairs import EAGLE3 as HUGGING_FACE
from tests.drafter.pairs import LLAMA, found, harm_of

TARGET: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.embedding_length": 192,
    "llama.block_count": 8,
    "llama.vocab_size": 2048,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": 2048,
}
EAGLE3: dict[str, Any] = {
    "general.architecture": "eagle3",
    "eagle3.embedding_length": 192,
    "eagle3.block_count": 1,
    "eagle3.vocab_size": 2048,
    "eagle3.target_hidden_size": 192,
    "eagle3.target_layers": (2, 4, 5),
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": 2048,
}
PLAIN = {**TARGET, "llama.embedding_length": 96}


def case_of(draft: dict[str, Any], d2t: tuple[int, ...] | None = None) -> Case:
    one = Checkpoint("target.gguf", "", {}, {}, gguf=TARGET)
    other = Checkpoint("draft.gguf", "", {}, {}, gguf=draft)
    case = Case(one, other, target_facts(one), draft_facts(other), "llama-cpp")
    return replace(case, samples=Samples(d2t=d2t))


@pytest.mark.parametrize(
    ("case", "ident", "harm"),
    [
        (case_of(EAGLE3), "gguf-other-target", None),
        (case_of({**EAGLE3, "eagle3.target_hidden_size": 256}), "gguf-other-target", "crash"),
        (case_of({**EAGLE3, "eagle3.target_layers": (2, 4, 9)}), "gguf-other-target", "crash"),
        (case_of({**EAGLE3, "eagle3.target_layers": (2, 4)}), "gguf-streams-not-three", "crash"),
        (case_of(EAGLE3, (0, 0, 3, 3)), "gguf-map-holds-offsets", "silent-loss"),
        (case_of(EAGLE3, (0, 2, 3, 9)), "gguf-map-holds-offsets", None),
        (case_of(EAGLE3, (0, 2, 3, 4000)), "gguf-map-out-of-range", "crash"),
        (case_of(PLAIN), "gguf-vocabulary-differs", None),
        (
            case_of({**PLAIN, "tokenizer.ggml.tokens": 1500}),
            "gguf-vocabulary-differs",
            "silent-loss",
        ),
        (
            case_of({**PLAIN, "tokenizer.ggml.model": "llama"}),
            "gguf-vocabulary-differs",
            "silent-loss",
        ),
    ],
)
def test_a_gguf_pair_is_told_right_from_wrong(case: Case, ident: str, harm: str | None) -> None:
    assert harm_of(case, ident) == harm


def mixed(engine: str | None, *, is_target_gguf: bool) -> Case:
    names = ("target.gguf", "model.safetensors") if is_target_gguf else ("a.safetensors", "d.gguf")
    folder = "/models/draft"
    if is_target_gguf:
        one = Checkpoint(names[0], "", {}, {}, gguf=TARGET, files=names[:1])
        other = Checkpoint(folder, "", HUGGING_FACE, {}, files=names[1:])
    else:
        one = Checkpoint(folder, "", LLAMA, {}, files=names[:1])
        other = Checkpoint(names[1], "", {}, {}, gguf=EAGLE3, files=names[1:])
    return Case(one, other, target_facts(one), draft_facts(other), engine)


@pytest.mark.parametrize("is_target_gguf", [True, False])
def test_a_gguf_file_and_a_folder_are_no_pair_of_llama_cpp(is_target_gguf: bool) -> None:
    ident = "gguf-beside-safetensors"

    assert harm_of(mixed("llama-cpp", is_target_gguf=is_target_gguf), ident) == "crash"
    assert harm_of(mixed("vllm", is_target_gguf=is_target_gguf), ident) == "risk"
    assert harm_of(mixed(None, is_target_gguf=is_target_gguf), ident) == "risk"
    assert harm_of(case_of(EAGLE3), ident) is None


def test_evidence_of_a_gguf_target_names_its_own_file_and_keys() -> None:
    finding = found(mixed("vllm", is_target_gguf=True), "hidden-size-differs")

    assert finding is not None
    assert [one.text for one in finding.evidence] == [
        "/models/draft/config.json: hidden_size is 64",
        "target.gguf: llama.embedding_length is 192",
    ]


def test_all_evidence_about_a_gguf_target_is_of_the_file() -> None:
    for engine in ("sglang", "vllm", "llama-cpp"):
        said = [
            e.text for one in judge(mixed(engine, is_target_gguf=True))[0] for e in one.evidence
        ]
        assert not [text for text in said if "target.gguf/" in text or "num_hidden" in text]
