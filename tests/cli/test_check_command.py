"""`firedup check`: what it prints for people and programs, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typist import Shell, documented

from firedup.demo.model import TARGET, TRAINED, model_path
from firedup.testing.script import End, Script
from tests.drafter.zoo_folder import broken_folders, good_folders

DIED = Script(end=End(0.1, code=1))
SGLANG = ("--engine", "sglang", "--engine-version", "0.5.23")


def test_a_good_pair_ends_with_0_and_says_for_whom(shell: Shell) -> None:
    target, draft = good_folders("eagle-repository")

    done = shell.run("check", str(target), str(draft), *SGLANG)

    assert done.status == 0
    assert done.out.startswith("✓ nothing speaks against this drafter  for sglang 0.5.23")
    assert "EAGLE-3 drafter" in done.out


def test_a_broken_pair_ends_with_1_and_shows_evidence_by_role(shell: Shell) -> None:
    target, draft = broken_folders("hidden-other")

    done = shell.run("check", str(target), str(draft), *SGLANG)

    assert done.status == 1
    assert done.out.startswith("✗ the drafter does not fit")
    assert "hidden-size-differs" in done.out
    assert "drafter/config.json: hidden_size is 64" in done.out
    assert str(draft) not in done.out


def test_json_has_each_finding_with_its_page(shell: Shell) -> None:
    target, draft = broken_folders("d2t-missing")

    done = shell.run("check", str(target), str(draft), "--json")

    result = json.loads(done.out)
    found = next(one for one in result["findings"] if one["id"] == "d2t-missing")
    assert set(result) == documented("check")
    assert (result["fits"], result["worst"], done.status) == (False, "silent-loss", 1)
    assert found["page"] == "docs/reference/checks/d2t-missing.md"
    assert {one["engine"] for one in found["consequences"]} >= {"sglang", "vllm"}
    assert found["evidence"]
    assert result["read_bytes"] > 0


def test_the_command_of_a_launch_names_what_is_not_given(shell: Shell) -> None:
    target, draft = good_folders("eagle-repository")
    command = f"sglang serve --model-path {target} --speculative-draft-model-path {draft}"

    done = shell.run("check", "--command", f"{command} --speculative-algorithm EAGLE", "--json")

    result = json.loads(done.out)
    assert (result["engine"], result["target"], result["draft"]) == (
        "sglang",
        str(target),
        str(draft),
    )
    assert "algorithm-not-the-drafters" in [one["id"] for one in result["findings"]]
    assert done.status == 1


def test_what_is_missing_or_nowhere_is_wrong_use(shell: Shell) -> None:
    target, _ = good_folders("eagle-repository")

    assert shell.run("check", str(target)).status == 2
    assert shell.run("check", str(target), "/no/such/draft").status == 2
    assert "a path is empty" in shell.run("check", str(target), "").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "nobody"), "nothing is known of drafters in nobody"),
        (("--engine", "generic"), "nothing is known of drafters in generic"),
        (("--engine", "vllm", "--engine-version", "banana"), '"banana" is no version'),
        (("--engine", "vllm", "--engine-version", ""), '"" is no version'),
        (("--engine-version", "0.5.9"), "a version needs its engine (--engine)"),
        (("--command", ""), "--command is empty"),
        (("--command", "vllm serve 'x"), "open quote"),
        (("--command", "ls -l"), "starts no engine that is known\n  ls -l"),
        (("--command", "vllm serve t", "--run", "y"), "a run has a command of its own"),
        (("--command", "vllm serve t", "--engine", "sglang"), "starts vllm, and --engine says"),
        (
            ("--command", 'vllm serve t --speculative-config {"model":"d"}'),
            "--speculative-config is not JSON\n  {model:d}\n",
        ),
        (
            ("--command", """vllm serve t --speculative-config '{"model":"d"'"""),
            '--speculative-config is not JSON\n  {"model":"d"\n  Expecting',
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_that_make_no_sense_are_wrong_use(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    target, draft = map(str, good_folders("eagle-repository"))

    done = shell.run("check", target, draft, *words)

    assert done.status == 2
    assert said in done.err
    assert done.out == ""


def test_a_command_without_a_drafter_needs_one_that_is_named(shell: Shell) -> None:
    done = shell.run("check", "--command", "vllm serve toy")

    assert done.status == 2
    assert done.err.startswith("firedup: the command names no drafter\n")


def test_a_template_is_not_taken_for_broken_json(shell: Shell) -> None:
    target, draft = map(str, good_folders("eagle-repository"))
    command = f"vllm serve {target} --chat-template '{{{{ bos }}}}' --x '{{% if y %}}'"

    assert shell.run("check", target, draft, "--command", command).status == 0


def test_what_a_command_names_besides_what_was_typed_is_said(shell: Shell) -> None:
    target, draft = map(str, good_folders("eagle-repository"))
    command = "sglang serve --model-path {} --speculative-draft-model-path {}"
    same = command.format(f"{target}/", f"org/{Path(draft).name}")
    other = command.format("/m/other", "org/other")

    same_facts = json.loads(shell.run("check", target, draft, "--command", same, "--json").out)
    other_facts = json.loads(shell.run("check", target, draft, "--command", other, "--json").out)

    assert not {"other target", "other drafter"} & set(same_facts["facts"])
    assert other_facts["facts"]["other target"] == "the command names /m/other; not looked at"
    assert other_facts["facts"]["other drafter"] == "the command names org/other; not looked at"


def test_a_run_names_both_from_the_folder_that_it_was_launched_in(shell: Shell) -> None:
    (shell.folder / "models").mkdir()
    for name, model in (("t.gguf", TARGET), ("d.gguf", TRAINED)):
        (shell.folder / "models" / name).symlink_to(model_path(model))
    server = [*shell.make_server(DIED), "-m", "t.gguf", "--model-draft", "d.gguf"]
    run = ("run", "--name", "small", "--cwd", "models", "--no-wait", "--")
    assert shell.run(*run, *server).status == 0

    result = json.loads(shell.run("check", "--run", "small", "--json").out)
    wrong = shell.run("check", "--run", "small", "--engine", "vllm")

    assert (result["engine"], result["fits"]) == ("llama-cpp", True)
    assert result["facts"]["drafter"].startswith("EAGLE-3 drafter, eagle3")
    assert (wrong.status, wrong.out) == (2, "")
    assert "the command starts llama-cpp, and --engine says vllm" in wrong.err
