"""`firedup flags`: two models in, flags with reasons out."""

from __future__ import annotations

import json
import re
from pathlib import Path

from typist import Shell, documented

import firedup.demo
from tests.drafter.zoo_folder import broken_folders

MODELS = Path(firedup.demo.__file__).parent / "vllm_model"
PAIR = (str(MODELS / "t8"), str(MODELS / "t8_eagle3"))


def test_each_flag_stands_with_its_reason_and_the_command_below(shell: Shell) -> None:
    done = shell.run("flags", *PAIR, "--engine", "sglang", "--tp", "2")

    assert done.status == 0
    assert "✓ flags for SGLang" in done.out
    assert re.search(r"--speculative-algorithm EAGLE3\n +EAGLE instead would start", done.out)
    assert "python3 -m sglang.launch_server" in done.out
    assert "--tp-size 2" in done.out


def test_programs_get_the_keys_that_are_documented(shell: Shell) -> None:
    done = shell.run("flags", *PAIR, "--json")
    result = json.loads(done.out)

    assert set(result) == documented("flags")
    assert [one["engine"] for one in result["engines"]] == ["sglang", "vllm"]
    for one in result["engines"]:
        assert set(one) == documented("flags-engine")
        assert all(set(flag) == {"words", "reason"} for flag in one["flags"])


def test_a_version_without_an_engine_is_wrong_use(shell: Shell) -> None:
    done = shell.run("flags", *PAIR, "--engine-version", "0.5.9")

    assert done.status == 2
    assert "a version needs its engine (--engine)" in done.err


def test_a_pair_that_does_not_fit_gets_the_reason_in_place_of_flags(shell: Shell) -> None:
    target, draft = broken_folders("d2t-ids")
    done = shell.run("flags", str(target), str(draft), "--engine", "sglang")
    programs = shell.run("flags", str(target), str(draft), "--engine", "sglang", "--json")
    (engine,) = json.loads(programs.out)["engines"]

    assert done.status == programs.status == 1
    assert done.out.startswith("✗ no flags for SGLang: the drafter does not fit\n")
    assert "silent-loss: d2t holds ids of tokens" in done.out
    assert "model.safetensors: d2t [64] I64: begins" in done.out.replace("\n      ", " ")
    assert "→ Subtract the row number from each entry" in done.out
    assert "--speculative" not in done.out
    assert (engine["fits"], engine["flags"], engine["command"]) == (False, [], [])
    assert engine["findings"]


def test_flags_of_a_pair_that_does_not_fit_can_be_forced(shell: Shell) -> None:
    target, draft = broken_folders("d2t-ids")
    done = shell.run("flags", str(target), str(draft), "--engine", "sglang", "--force")

    assert done.status == 1
    assert done.out.startswith("✗ flags for SGLang: the drafter does not fit\n")
    assert "--speculative-algorithm EAGLE3" in done.out


def test_an_empty_folder_gets_no_flags(shell: Shell) -> None:
    (shell.folder / "empty").mkdir()
    done = shell.run("flags", PAIR[0], "empty")

    assert done.status == 1
    assert done.out.startswith("✗ no flags for SGLang: no drafter was found\n")
    assert "--speculative" not in done.out


def test_a_file_of_the_folder_is_not_what_the_command_names(shell: Shell) -> None:
    files = [f"{folder}/config.json" for folder in PAIR]
    done = shell.run("flags", *files, "--engine", "sglang", "--json")
    (engine,) = json.loads(done.out)["engines"]

    assert set(PAIR) < set(engine["command"])
    assert not set(files) & set(engine["command"])


def test_a_drafter_that_is_not_there_is_wrong_use(shell: Shell) -> None:
    done = shell.run("flags", PAIR[0], "nowhere", "--engine", "vllm")

    assert done.status == 2
    assert "nowhere" in done.err
