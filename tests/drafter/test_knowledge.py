"""What is known of engines: the data files are sound, and versions are told apart."""

from __future__ import annotations

import pytest

from firedup.core.error import ProfileError
from firedup.drafter.consequence import captures, consequences, without_capture, without_key
from firedup.drafter.judge import all_checks, is_within
from firedup.drafter.known import engine_named, engines, problems_of, read_engine
from firedup.drafter.published import published
from firedup.drafter.ranges import outside, shared

KEY = "eagle_config.eagle_aux_hidden_state_layer_ids"
KIMI = "KimiK25ForConditionalGeneration"
SMALL = """
schema = 1
engine = "toy"
title = "Toy"
read = ["1.0"]
source = "a test"
[[capture]]
meaning = "output"
examples = [{ layers = 32, ids = [1, 15, 28], captures = [2, 16, 29] }]
"""


def test_all_data_files_are_sound() -> None:
    assert [engine.engine for engine in engines()] == ["sglang", "vllm", "llama-cpp"]
    assert [problem for engine in engines() for problem in problems_of(engine)] == []
    assert published()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[2, 16, 29]", "[2, 16, 30]", "not the example's"),
        ("meaning", "meening", "meening"),
        ('"output"', '"outptu"', "outptu"),
        ("schema = 1", "schema = 2", "schema 2"),
        ("[[capture]]", '[[capture]]\nversions = "0.5"', "no range"),
        ("examples = [{", "examples = [] # [{", "length >= 1"),
    ],
)
def test_a_data_file_that_contradicts_itself_is_refused(old: str, new: str, said: str) -> None:
    assert read_engine(SMALL, "toy.toml").engine == "toy"
    with pytest.raises(ProfileError) as error:
        read_engine(SMALL.replace(old, new), "toy.toml")
    assert said in str(error.value)


def test_ranges_are_joined_and_turned_round() -> None:
    assert outside([]) == ("",)
    assert outside([""]) == ()
    assert outside([">=0.22,<0.25", ">=0.11,<0.20"]) == ("<0.11", ">=0.20,<0.22", ">=0.25")
    assert shared(">=0.5.6", "<0.5.12") == ">=0.5.6,<0.5.12"
    assert shared(">=0.5.12", "<0.5.12") is None


@pytest.mark.parametrize(
    ("version", "states"),
    [("0.5.12", (3, 31, 59)), ("0.5.13", (2, 30, 58)), ("0.5.23", (2, 30, 58))],
)
def test_the_same_ids_mean_other_layers_of_kimi_in_older_versions(
    version: str, states: tuple[int, ...]
) -> None:
    sglang = engine_named("sglang")
    assert sglang
    found = [
        given
        for span, given, _ in captures(sglang, KIMI, (2, 30, 58), KEY, 61)
        if is_within(version, span)
    ]
    assert found == [states]


def test_ids_at_the_top_are_not_read_by_sglang_and_the_default_is_taken() -> None:
    sglang, vllm = engine_named("sglang"), engine_named("vllm")
    assert sglang
    assert vllm
    top = "eagle_aux_hidden_state_layer_ids"
    assert without_key(sglang, top) == ("",)
    assert without_key(vllm, top) == ("<0.11",)
    assert without_key(vllm, KEY) == ("<0.22",)
    (only,) = captures(sglang, "LlamaForCausalLM", (5, 6, 7), top, 32)
    assert only[1] == (2, 16, 29)


def test_kimi_can_be_used_from_the_version_on_that_has_its_hook() -> None:
    spans = {e.engine: without_capture(e, KIMI) for e in engines()}
    assert spans == {"sglang": ("<0.5.10",), "vllm": ("<0.18",), "llama-cpp": ()}


def test_consequences_are_narrowed_to_versions() -> None:
    (old,) = consequences("several-layers", engine="sglang")
    assert old.versions == "<0.5.12"
    assert consequences("several-layers", engine="sglang", versions=">=0.5.12") == ()


def test_every_check_is_registered_once_and_says_what_its_page_says() -> None:
    checks = all_checks()
    assert all(check.text and check.ids for check in checks)
    faults = {said.fault for engine in engines() for said in engine.behaviour}
    assert {"algorithm-without-fc", "layer-ids-collide", "drafter-context-too-short"} <= faults
