"""Drafters that were broken and mended, in a real vLLM: its acceptance says whether they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import firedup.demo
from firedup.drafter.rewrite import NewTensor, offsets_tensor, read_header, rewrite
from tests.e2e.conftest import User, serve, speculate

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

MODELS = Path(firedup.demo.__file__).parent / "vllm_model"
TARGET, DRAFT = MODELS / "t8", MODELS / "t8_eagle3"
WEIGHTS = "model.safetensors"
GOOD_LENGTH = 2.65  # of this pair at three draft tokens; see vllm_model/README.md


def ids_of(draft: Path) -> list[int]:
    """The tokens that the drafter knows, by the rows of its head."""
    header, begin = read_header(draft / WEIGHTS)
    first, last = header["d2t"]["data_offsets"]
    data = (draft / WEIGHTS).read_bytes()[begin + first : begin + last]
    numbers = memoryview(data).cast("q").tolist()
    return [row + more for row, more in enumerate(numbers)]


def broken(folder: Path, fault: str) -> Path:
    """A copy of the drafter with one fault, which a server would not tell of by itself."""
    shutil.copytree(DRAFT, folder)
    replaced: dict[str, NewTensor] = {}
    renames: dict[str, str] = {}
    ids = ids_of(DRAFT)
    match fault:
        case "zeros":
            replaced["d2t"] = offsets_tensor([0] * len(ids))
        case "ids":
            replaced["d2t"] = offsets_tensor(ids)
        case "names":
            header, _ = read_header(DRAFT / WEIGHTS)
            renames = {name: f"draft.{name}" for name in header if name != "__metadata__"}
    rewrite(DRAFT / WEIGHTS, folder / WEIGHTS, renames, replaced, frozenset())
    return folder


def acceptance(user: User, vllm: list[str], draft: Path) -> float:
    """The acceptance length that a server with `draft` shows in a probe; it is stopped then."""
    outcome = serve(user, vllm, TARGET, *speculate(draft))
    assert outcome.result["verdict"] == "ready", outcome.errors
    few = ("--requests", "6", "--max-tokens", "64", "--json")
    probed = user.firedup("probe", "e2e", *few)
    assert user.firedup("stop", "e2e").status == 0
    (load,) = probed.result["candidate"]["loads"]
    length: float = load["acceptance"]["length"]
    return length


def test_a_map_of_zeros_serves_without_a_word_and_a_correction_gives_its_acceptance_back(
    user: User, vllm: list[str], tmp_path: Path
) -> None:
    draft = broken(tmp_path / "zeros", "zeros")
    engine = ("--engine", "vllm", "--json")

    said = user.firedup("check", str(TARGET), str(draft), *engine)
    before = acceptance(user, vllm, draft)
    fixed = user.firedup(
        "check", str(TARGET), str(draft), "--fix", str(tmp_path / "fixed"), *engine
    )
    after = acceptance(user, vllm, tmp_path / "fixed")

    assert (said.status, said.result["worst"]) == (1, "silent-loss")
    assert "d2t-never-filled" in {one["id"] for one in said.result["findings"]}
    assert before < 1.2
    assert (fixed.status, fixed.result["left"]) == (0, [])
    assert after > 0.75 * GOOD_LENGTH


@pytest.mark.parametrize("fault", ["ids", "names"])
def test_a_mended_drafter_is_as_good_as_the_one_that_was_never_broken(
    user: User, vllm: list[str], tmp_path: Path, fault: str
) -> None:
    draft = broken(tmp_path / fault, fault)

    said = user.firedup("check", str(TARGET), str(draft), "--engine", "vllm", "--json")
    user.firedup("check", str(TARGET), str(draft), "--fix", str(tmp_path / "fixed"))

    assert said.status == 1
    assert acceptance(user, vllm, tmp_path / "fixed") > 0.75 * GOOD_LENGTH
