"""`fix` writes a corrected copy, links the rest, and leaves the drafter as it is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from firedup.core.checked import Fixed
from firedup.core.error import UsageError
from firedup.drafter.fix import fix
from tests.drafter.mutations import MUTATIONS, Mutation
from tests.drafter.zoo import write_pair
from tests.drafter.zoo_folder import BY_NAME, above_note, ask, broken_folders, good_folders
from tests.drafter.zoo_pairs import SGLANG, VLLM, good

FIXABLE = [mutation for mutation in MUTATIONS if mutation.fixable]


def digests(folder: Path) -> dict[str, str]:
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.iterdir()}


def fixed(mutation: Mutation, out: Path) -> Fixed:
    target, draft = broken_folders(mutation.name)
    return fix(target, draft, out, engine=mutation.engine[0], version=mutation.engine[1])


@pytest.mark.parametrize("mutation", FIXABLE, ids=[m.name for m in FIXABLE])
def test_after_a_correction_the_check_finds_nothing_above_a_note(
    mutation: Mutation, tmp_path: Path
) -> None:
    target, draft = broken_folders(mutation.name)
    before = digests(draft)

    result = fixed(mutation, tmp_path / "out")

    assert result.done
    assert result.left == ()
    assert above_note(ask(target, tmp_path / "out", mutation.engine)) == []
    assert digests(draft) == before
    assert set(digests(tmp_path / "out")) == set(before)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_what_is_right_is_linked_and_only_the_config_written(tmp_path: Path) -> None:
    _, draft = broken_folders("draft-vocab-absent")

    result = fixed(BY_NAME["draft-vocab-absent"], tmp_path / "out")

    assert result.linked == 1
    weights = tmp_path / "out" / "model.safetensors"
    assert weights.stat().st_ino == (draft / "model.safetensors").stat().st_ino
    assert json.loads((tmp_path / "out" / "config.json").read_bytes())["draft_vocab_size"] == 64
    assert result.done == ("config.json: draft_vocab_size = 64 (was not there)",)


def test_a_drafter_in_shards_keeps_its_shards_and_its_index_follows(tmp_path: Path) -> None:
    pair = good("two-shards").copy()
    pair.draft.tensors = {f"draft.{name}": raw for name, raw in pair.draft.tensors.items()}
    target, draft = write_pair(pair, tmp_path)

    result = fix(target, draft, tmp_path / "out", engine="vllm", version="0.33.0")

    assert result.left == ()
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_bytes())
    assert set(index["weight_map"]) == set(good("two-shards").draft.tensors)
    assert above_note(ask(target, tmp_path / "out", VLLM)) == []


def test_a_map_is_added_to_the_file_of_the_head_when_it_was_missing(tmp_path: Path) -> None:
    pair = good("two-shards").copy()
    del pair.draft.tensors["d2t"]
    target, draft = write_pair(pair, tmp_path)

    fix(target, draft, tmp_path / "out", engine="sglang", version="0.5.23")

    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_bytes())
    assert index["weight_map"]["d2t"] == index["weight_map"]["lm_head.weight"]
    assert above_note(ask(target, tmp_path / "out", SGLANG)) == []


def test_what_cannot_be_known_is_left_and_said(tmp_path: Path) -> None:
    result = fixed(BY_NAME["maps-missing"], tmp_path / "out")

    assert result.out is None
    assert result.done == ()
    assert [one.id for one in result.left] == ["d2t-missing"]
    assert not (tmp_path / "out").exists()


def test_a_good_drafter_needs_no_copy(tmp_path: Path) -> None:
    result = fix(*good_folders("eagle-repository"), tmp_path / "out", engine="sglang")

    assert result == Fixed(None)
    assert not (tmp_path / "out").exists()


def test_nothing_is_mended_of_a_drafter_that_is_not_whole(tmp_path: Path) -> None:
    result = fixed(BY_NAME["shard-missing"], tmp_path / "out")

    assert result.out is None
    assert "checkpoint-incomplete" in {one.id for one in result.left}


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("keep")

    with pytest.raises(UsageError, match="not empty"):
        fixed(BY_NAME["d2t-ids"], out)

    assert [entry.name for entry in out.iterdir()] == ["mine"]


@pytest.mark.parametrize("place", ["/proc/x", "/proc/x/y", "{file}/out", "{file}", "{long}"])
def test_where_nothing_can_be_written_is_wrong_use(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    out = place.format(file=tmp_path / "file", long=tmp_path / ("x" * 250))

    with pytest.raises(UsageError):
        fixed(BY_NAME["d2t-ids"], Path(out))


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()

    assert fixed(BY_NAME["d2t-ids"], out).out == str(out)


def test_the_copy_does_not_go_into_the_drafters_own_folder() -> None:
    target, draft = broken_folders("d2t-ids")

    with pytest.raises(UsageError, match="inside"):
        fix(target, draft, draft / "fixed")

    assert not (draft / "fixed").exists()


def test_a_drafter_on_another_host_is_corrected_there() -> None:
    target, _ = broken_folders("d2t-ids")

    with pytest.raises(UsageError, match="where it lies"):
        fix(target, "box:/data/draft", "out")


def test_folders_and_links_beside_the_weights_come_along(tmp_path: Path) -> None:
    target, draft = write_pair(BY_NAME["d2t-ids"].apply(), tmp_path)
    (draft / "notes").mkdir()
    (draft / "notes" / "a.txt").write_text("a")
    (tmp_path / "card").write_text("card")
    (draft / "README.md").symlink_to(tmp_path / "card")

    fix(target, draft, tmp_path / "out", engine="sglang", version="0.5.23")

    assert (tmp_path / "out" / "notes" / "a.txt").read_text() == "a"
    assert (tmp_path / "out" / "README.md").read_text() == "card"
