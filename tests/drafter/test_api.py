"""The library's two functions, as its page shows them, and what is read for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from firedup.core.checked import Consequence, Harm
from firedup.core.error import UsageError
from firedup.demo import vllm_show
from firedup.drafter import assert_drafter_fits, check
from firedup.drafter.case import Case
from firedup.drafter.judge import bears_on, is_within
from firedup.drafter.launch import read_launch
from firedup.drafter.pair import Question, open_case
from firedup.drafter.sample import COLUMNS, spread_rows
from tests.drafter.zoo import DRAFT_VOCAB, VOCAB, draft_ids
from tests.drafter.zoo_folder import broken_folders, good_folders
from tools.page import read_blocks

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-a-drafter.md"
MODELS = Path(vllm_show.__file__).with_name("vllm_model")


def test_the_code_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [b for b in read_blocks(PAGE.read_text(encoding="utf-8")) if b.language == "python"]
    monkeypatch.chdir(MODELS)

    assert len(blocks) == 1
    exec(compile(blocks[0].text, str(PAGE), "exec"), {})


def test_a_drafter_that_does_not_fit_fails_with_the_findings() -> None:
    target, draft = broken_folders("d2t-missing")

    with pytest.raises(AssertionError) as failure:
        assert_drafter_fits(target, draft, engine="sglang", version="0.5.23")

    said = str(failure.value)
    assert said.startswith(f"{draft} does not fit {target}:")
    assert "- silent-loss: " in said
    assert "[d2t-missing]" in said


def test_a_command_with_an_open_quote_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="open quote"):
        check(*good_folders("speculators"), command="vllm serve 'x")


async def samples_of(name: str) -> Case:
    target, draft = good_folders(name)
    async with open_case(str(target), str(draft), Question()) as (case, _):
        return case


async def test_target_rows_are_those_that_the_map_leads_to() -> None:
    samples = (await samples_of("speculators")).samples
    ids = draft_ids()

    assert samples.t2d == ids
    assert samples.d2t is not None
    assert len(samples.d2t) == DRAFT_VOCAB
    assert list(samples.target_head) == [ids[row] for row in samples.draft_head]
    # This producer copies the rows.
    assert samples.target_head[ids[0]] == samples.draft_head[0]
    assert samples.draft_embed == samples.target_embed
    assert len(samples.small["norm.weight"]) == len(samples.draft_head[0])


async def test_a_model_that_drafts_by_itself_gets_no_samples() -> None:
    case = await samples_of("plain")

    assert case.draft_facts.kind == "draft-model"
    assert not case.samples.draft_head
    assert case.samples.d2t is None


@pytest.mark.parametrize(
    ("name", "kind", "producer"),
    [
        ("eagle-repository", "eagle3", None),  # early SpecForge wrote the same
        ("specforge", "eagle3", "specforge"),
        ("speculators", "eagle3", "speculators"),
        ("modelopt", "eagle3", "modelopt"),
        ("angelslim", "eagle3", "angelslim"),
        ("torchspec", "eagle3", None),
        ("eagle-1", "eagle", None),
        ("plain", "draft-model", None),
    ],
)
async def test_kind_and_producer_are_told_from_the_files(
    name: str, kind: str, producer: str | None
) -> None:
    facts = (await samples_of(name)).draft_facts

    assert facts.kind == kind
    assert (facts.producer, bool(facts.producer_why)) == (producer, producer is not None)


def test_rows_are_spread_over_all() -> None:
    assert spread_rows(3, 8) == [0, 1, 2]
    found = spread_rows(VOCAB, 8)
    assert len(set(found)) == 8
    assert found == sorted(found)
    assert min(found) < VOCAB // 8
    assert max(found) >= VOCAB - VOCAB // 8
    assert COLUMNS == 4096


@pytest.mark.parametrize(
    ("version", "versions", "answer"),
    [
        ("0.5.9", ">=0.5.6,<0.5.12", True),
        ("0.5.12", ">=0.5.6,<0.5.12", False),
        ("0.5", ">=0.5.0", True),
        ("0.5.9", "<=0.5.8", False),
        ("0.5.9", ">0.5.8", True),
        ("0.5.9", "==0.5.9", True),
        ("0.5.9.post1", "!=0.5.9", False),
        ("b11434", ">=b10434", True),
        (None, "<0.1", True),
        ("unknown", "<0.1", True),
        ("0.5.9", "", True),
    ],
)
def test_a_version_lies_within_a_specifier(
    version: str | None, versions: str, answer: bool
) -> None:
    assert is_within(version, versions) is answer


def test_only_the_engine_asked_about_bears_on_the_question() -> None:
    both = tuple(Consequence(engine, "", Harm.RISK, "x") for engine in ("sglang", "vllm"))

    assert [one.engine for one in bears_on(both, "vllm", None)] == ["vllm"]
    assert len(list(bears_on(both, None, None))) == 2


def test_flags_are_read_from_any_command() -> None:
    launch = read_launch(
        "A=1 CUDA_VISIBLE_DEVICES=0 python -m sglang.launch_server --model_path /m --tp 8"
        " --speculative-algorithm=EAGLE3 --trust-remote-code --speculative-eagle-topk -1",
        {"B": "2"},
    )

    assert launch.flags["model-path"] == "/m"
    assert launch.flags["speculative-algorithm"] == "EAGLE3"
    assert launch.flags["trust-remote-code"] == "true"
    assert launch.flags["speculative-eagle-topk"] == "-1"
    assert launch.env == {"A": "1", "B": "2", "CUDA_VISIBLE_DEVICES": "0"}
    assert launch.tp == 8


def test_json_flags_and_scripts_of_a_shell_are_taken_apart() -> None:
    inner = """vllm serve /m -tp 2 --speculative-config '{"method": "eagle3", "n": 3}'"""

    launch = read_launch(["bash", "-c", inner])

    assert launch.flags["speculative-config.method"] == "eagle3"
    assert launch.flags["speculative-config.n"] == "3"
    assert launch.tp == 2
    short = ["vllm", "serve", "/m", "-sc", '{"method": "eagle3", "model": "/d"}']
    assert read_launch(short).flags["speculative-config.model"] == "/d"
    assert read_launch(["x", "--speculative-config", "{broken"]).flags == {
        "speculative-config": "{broken"
    }
    assert read_launch((), tp=4).tp == 4
