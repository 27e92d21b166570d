"""A trained pair whose acceptance was measured in a real engine, and copies with silent faults.

The good drafter has an acceptance length of 2.65 at three draft tokens. Of another trained pair
a real SGLang showed 3.31 without these faults, and 1.01 to 1.20 with them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import firedup.demo
from firedup.core.checked import Harm
from firedup.drafter.fix import fix
from firedup.drafter.rewrite import NewTensor, mask_tensor, offsets_tensor, read_header, rewrite
from tests.drafter.zoo_folder import above_note, ask
from tests.drafter.zoo_pairs import SGLANG, VLLM

MODELS = Path(firedup.demo.__file__).parent / "vllm_model"
TARGET, DRAFT = MODELS / "t8", MODELS / "t8_eagle3"
WEIGHTS = "model.safetensors"
TOKENS = 4096


@cache
def trained_ids() -> tuple[int, ...]:
    """The tokens of the drafter's rows."""
    header, begin = read_header(DRAFT / WEIGHTS)
    first, last = header["d2t"]["data_offsets"]
    with (DRAFT / WEIGHTS).open("rb") as file:
        file.seek(begin + first)
        numbers = memoryview(file.read(last - first)).cast("q").tolist()
    return tuple(row + more for row, more in enumerate(numbers))


def maps(ids: list[int]) -> dict[str, NewTensor]:
    offsets = offsets_tensor([i - row for row, i in enumerate(ids)])
    return {"d2t": offsets, "t2d": mask_tensor(ids, TOKENS)}


def copy_of(
    folder: Path,
    *,
    replaced: dict[str, NewTensor] | None = None,
    rename: Callable[[str], str] = str,
    dropped: tuple[str, ...] = (),
) -> Path:
    shutil.copytree(DRAFT, folder)
    header, _ = read_header(DRAFT / WEIGHTS)
    renames = {name: rename(name) for name in header if name != "__metadata__"}
    rewrite(DRAFT / WEIGHTS, folder / WEIGHTS, renames, replaced or {}, frozenset(dropped))
    return folder


@pytest.mark.parametrize("engine", [SGLANG, VLLM, None], ids=["sglang", "vllm", "any"])
def test_the_good_drafter_raises_nothing_above_a_note(engine: tuple[str, str] | None) -> None:
    assert above_note(ask(TARGET, DRAFT, engine)) == []


def test_ids_in_place_of_offsets_are_a_silent_loss_and_can_be_mended(tmp_path: Path) -> None:
    draft = copy_of(tmp_path / "draft", replaced={"d2t": offsets_tensor(trained_ids())})

    found = above_note(ask(TARGET, draft, SGLANG))
    result = fix(TARGET, draft, tmp_path / "out", engine="sglang")

    assert [(one.id, one.harm) for one in found] == [("d2t-absolute-ids", Harm.SILENT_LOSS)]
    assert result.left == ()
    assert contents(tmp_path / "out") == contents(DRAFT)


def test_names_under_a_prefix_are_a_silent_loss_and_can_be_mended(tmp_path: Path) -> None:
    draft = copy_of(
        tmp_path / "draft", rename=lambda n: f"foo.{n}" if n.startswith("midlayer") else n
    )

    found = above_note(ask(TARGET, draft, SGLANG))
    result = fix(TARGET, draft, tmp_path / "out", engine="sglang")

    assert {one.id for one in found} == {"tensor-missing", "tensor-unknown"}
    assert {one.harm for one in found} == {Harm.SILENT_LOSS}
    assert result.left == ()
    assert contents(tmp_path / "out") == contents(DRAFT)


def test_a_drafter_without_its_maps_is_a_silent_loss_that_nobody_can_mend(tmp_path: Path) -> None:
    draft = copy_of(tmp_path / "draft", dropped=("d2t", "t2d"))

    found = above_note(ask(TARGET, draft, SGLANG))
    result = fix(TARGET, draft, tmp_path / "out", engine="sglang")

    assert [(one.id, one.harm) for one in found] == [("d2t-missing", Harm.SILENT_LOSS)]
    assert result.out is None


@pytest.mark.parametrize("wrong", ["shifted", "stale"])
def test_a_map_that_is_not_the_heads_own_is_seen_in_its_rows(tmp_path: Path, wrong: str) -> None:
    ids = trained_ids()
    others = {"shifted": [i + 1 for i in ids], "stale": list(range(7, 7 + 3 * len(ids), 3))}
    draft = copy_of(tmp_path / "draft", replaced=maps(others[wrong]))

    found = above_note(ask(TARGET, draft, SGLANG))

    assert [(one.id, one.harm) for one in found] == [("head-rows-do-not-fit", Harm.SILENT_LOSS)]


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of each tensor."""
    header, begin = read_header(folder / WEIGHTS)
    data = (folder / WEIGHTS).read_bytes()
    del header["__metadata__"]
    spans = {name: entry["data_offsets"] for name, entry in header.items()}
    return {name: data[begin + first : begin + last] for name, (first, last) in spans.items()}
