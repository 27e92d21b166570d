"""`fix` writes a corrected copy, links its weights, and leaves both models as they are."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from firedup.core.checked import Fixed
from firedup.core.error import UsageError
from firedup.demo.model import TRAINED, model_path
from firedup.drafter.fix import fix
from tests.drafter.faults import Mutation
from tests.drafter.mutations import MUTATIONS
from tests.drafter.zoo import write_pair
from tests.drafter.zoo_folder import BY_NAME, above_note, ask, broken_folders, good_folders
from tests.drafter.zoo_pairs import SGLANG, VLLM, good

FIXABLE = [mutation for mutation in MUTATIONS if mutation.fixable]


def state_of(*folders: Path) -> dict[str, object]:
    """All that there is to change: names, bytes, modes, times, and links to the same file."""
    return {str(path): _state(path) for folder in folders for path in folder.rglob("*")}


def _state(path: Path) -> object:
    about = path.lstat()
    kept = (about.st_mode, about.st_mtime_ns, about.st_ctime_ns, about.st_nlink)
    if path.is_symlink():
        return kept, str(path.readlink())
    return kept, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def spoil(copy: Path, result: Fixed) -> int:
    """Write over every file of the copy that was not said to be a link; how many they are."""
    linked = {name for name, _ in result.links}
    own = [f for f in copy.rglob("*") if f.is_file() and str(f.relative_to(copy)) not in linked]
    for file in own:
        file.write_text("spoiled")
    return len(own)


def fixed(mutation: Mutation, out: Path) -> Fixed:
    target, draft = broken_folders(mutation.name)
    return fix(target, draft, out, engine=mutation.engine[0], version=mutation.engine[1])


@pytest.mark.parametrize("mutation", FIXABLE, ids=[m.name for m in FIXABLE])
def test_after_a_correction_the_check_finds_nothing_above_a_note(
    mutation: Mutation, tmp_path: Path
) -> None:
    target, draft = broken_folders(mutation.name)
    before = state_of(target, draft)

    result = fixed(mutation, tmp_path / "out")

    assert result.done
    assert result.left == ()
    assert above_note(ask(target, tmp_path / "out", mutation.engine)) == []
    assert names(tmp_path / "out") == names(draft)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert spoil(tmp_path / "out", result)
    assert state_of(target, draft) == before


def test_what_is_right_is_linked_and_only_the_config_written(tmp_path: Path) -> None:
    _, draft = broken_folders("draft-vocab-absent")

    result = fixed(BY_NAME["draft-vocab-absent"], tmp_path / "out")

    weights = tmp_path / "out" / "model.safetensors"
    assert result.links == (("model.safetensors", str(weights.readlink())),)
    assert weights.resolve() == (draft / "model.safetensors").resolve()
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


def test_a_shard_in_a_folder_of_its_own_is_written_there(tmp_path: Path) -> None:
    pair = good("two-shards").copy()
    pair.draft.tensors = {f"draft.{name}": raw for name, raw in pair.draft.tensors.items()}
    target, draft = write_pair(pair, tmp_path)
    shard = "model-00002-of-00002.safetensors"
    (draft / "deep").mkdir()
    (draft / shard).rename(draft / "deep" / shard)
    index = draft / "model.safetensors.index.json"
    index.write_text(index.read_text().replace(shard, f"deep/{shard}"))

    fix(target, draft, tmp_path / "out", engine="vllm", version="0.33.0")

    assert above_note(ask(target, tmp_path / "out", VLLM)) == []
    assert names(tmp_path / "out" / "deep") == {shard}


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
    out = place.format(file=tmp_path / "file", long=tmp_path / ("x" * 256))

    with pytest.raises(UsageError):
        fixed(BY_NAME["d2t-ids"], Path(out))


def test_an_empty_folder_is_filled_and_stays_the_same_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    before = out.stat().st_ino

    assert fixed(BY_NAME["d2t-ids"], out).out == str(out)
    assert out.stat().st_ino == before
    assert names(out) == names(broken_folders("d2t-ids")[1])
    assert names(tmp_path) == {"out"}


@pytest.mark.parametrize("place", ["{draft}", "{draft}/fixed", "{target}", "{target}/deep/down"])
def test_the_copy_goes_into_neither_of_the_two_folders(place: str) -> None:
    target, draft = broken_folders("d2t-ids")
    before = state_of(target, draft)

    with pytest.raises(UsageError, match=r"inside the (drafter|target)'s own folder"):
        fix(target, draft, place.format(target=target, draft=draft))

    assert state_of(target, draft) == before


def test_a_link_into_a_folder_is_no_way_into_it(tmp_path: Path) -> None:
    target, draft = broken_folders("d2t-ids")
    (tmp_path / "way").symlink_to(target)

    with pytest.raises(UsageError, match="inside the target's own folder"):
        fix(tmp_path / "way", draft, tmp_path / "way" / "fixed")
    with pytest.raises(UsageError, match="inside the target's own folder"):
        fix(target, draft, tmp_path / "way" / "fixed")


@pytest.mark.parametrize("out", ["", "  ", "box:/data/fixed"])
def test_a_place_that_is_none_on_this_machine_is_wrong_use(out: str) -> None:
    with pytest.raises(UsageError, match=r"no folder is named|on this machine"):
        fix(*broken_folders("d2t-ids"), out)


def test_a_gguf_file_is_not_corrected(tmp_path: Path) -> None:
    target, _ = broken_folders("d2t-ids")
    (tmp_path / "gguf").mkdir()
    shutil.copy(model_path(TRAINED), tmp_path / "gguf" / "draft.gguf")

    for draft in (tmp_path / "gguf", tmp_path / "gguf" / "draft.gguf"):
        with pytest.raises(UsageError, match="a GGUF file is not corrected"):
            fix(target, draft, tmp_path / "out")


def test_a_drafter_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        fix(tmp_path, tmp_path / "nowhere", tmp_path / "out")


def test_a_drafter_on_another_host_is_corrected_there() -> None:
    target, _ = broken_folders("d2t-ids")

    with pytest.raises(UsageError, match="where it lies"):
        fix(target, "box:/data/draft", "out")


def test_a_drafter_as_a_hubs_cache_keeps_it_is_copied_but_for_its_weights(tmp_path: Path) -> None:
    target, plain = write_pair(BY_NAME["draft-vocab-absent"].apply(), tmp_path)
    draft, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    draft.mkdir()
    blobs.mkdir()
    for entry in plain.iterdir():
        (blobs / entry.name).write_bytes(entry.read_bytes())
        (blobs / entry.name).chmod(0o444)
        (draft / entry.name).symlink_to(f"../blobs/{entry.name}")
    (draft / "notes" / "more").mkdir(parents=True)
    (draft / "notes" / "more" / "a.txt").write_text("a")
    (draft / "notes" / "old.pt").write_text("weights")
    (draft / ".git").mkdir()
    (draft / "again").symlink_to(".")
    (draft / "gone").symlink_to("nowhere")
    before = state_of(draft, blobs, target)

    result = fix(target, draft, tmp_path / "out", engine="sglang", version="0.5.23")

    out = tmp_path / "out"
    linked = {
        "model.safetensors": str(blobs / "model.safetensors"),
        "notes/old.pt": str(draft / "notes" / "old.pt"),
        "again": str(draft),
        "gone": "nowhere",
    }
    assert dict(result.links) == linked
    assert (out / "notes" / "more" / "a.txt").read_text() == "a"
    assert names(out) == names(draft) - {".git"}
    assert spoil(out, result)
    assert state_of(draft, blobs, target) == before
