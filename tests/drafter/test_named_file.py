"""A path that is no folder of a checkpoint: taken for what it is meant as, or told what helps."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from firedup.core.checked import NOT_WHOLE, CheckFinding
from firedup.demo.model import TARGET, TRAINED, model_path
from firedup.drafter import check
from firedup.drafter.checks import file_damage
from firedup.drafter.place import Here
from firedup.drafter.whole import tell_damage
from tests.drafter.zoo_folder import good_folders


def damage_of(path: Path) -> CheckFinding:
    target, _ = good_folders("eagle-repository")
    found = [one for one in check(target, path).findings if one.id in NOT_WHOLE]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_beside_its_config_stands_for_the_folder(name: str) -> None:
    target, draft = good_folders("eagle-repository")

    checked = check(target / "config.json", draft / name)

    assert (checked.target, checked.draft) == (str(target), str(draft))
    assert checked.findings == check(target, draft).findings


def test_an_index_and_a_shard_stand_for_all_shards() -> None:
    target, draft = good_folders("two-shards")
    whole = check(target, draft)

    for name in ("model.safetensors.index.json", "model-00001-of-00002.safetensors"):
        assert check(target, draft / name).facts == whole.facts


def test_a_file_in_the_folder_where_one_is_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    target, draft = good_folders("eagle-repository")
    monkeypatch.chdir(draft)

    assert check(target, "config.json").draft == "."


def test_a_gguf_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")  # which is not the file's own
    for name, source in (("sha256-1", TARGET), ("sha256-2", TRAINED)):
        shutil.copy(model_path(source), tmp_path / name)

    checked = check(tmp_path / "sha256-1", tmp_path / "sha256-2")

    assert checked.findings == ()
    assert dict(checked.facts)["drafter"].startswith("EAGLE-3 drafter, eagle3")


def test_weights_without_a_config_are_read_and_the_config_is_missed(tmp_path: Path) -> None:
    _, draft = good_folders("eagle-repository")
    shutil.copy(draft / "model.safetensors", tmp_path / "blob")

    assert damage_of(tmp_path / "blob").id == "config-missing"


def nothing(folder: Path) -> Path:
    return folder


def several(folder: Path) -> Path:
    for name in ("a.gguf", "b.gguf"):
        (folder / name).write_bytes(b"GGUF")
    return folder


def notes(folder: Path) -> Path:
    (folder / "notes").write_text("a text, and a long one")
    return folder / "notes"


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def loop(folder: Path) -> Path:
    (folder / "config.json").write_text('{"hidden_size": 64}')
    (folder / "model.safetensors").symlink_to("model.safetensors")
    return folder


def short(folder: Path) -> Path:
    (folder / "config.json").write_text('{"hidden_size": 64}')
    (folder / "model.safetensors").write_bytes(b"1234")
    return folder


@pytest.mark.parametrize(
    ("make", "ident", "remedy"),
    [
        (nothing, "weights-not-found", "Give the folder that holds the weights"),
        (several, "weights-not-found", "Give one of the GGUF files"),
        (notes, "weights-not-found", "Give a folder with config.json"),
        (pipe, "checkpoint-incomplete", "Put the file itself in its place."),
        (loop, "checkpoint-incomplete", "Put the file itself in place of the link."),
        (short, "checkpoint-incomplete", "Download what is named again"),
    ],
    ids=["nothing", "several", "notes", "pipe", "loop", "short"],
)
def test_what_helps_is_said_for_each_kind_of_damage(
    make: Callable[[Path], Path], ident: str, remedy: str, tmp_path: Path
) -> None:
    found = damage_of(make(tmp_path))

    assert found.id == ident
    assert found.remedy is not None
    assert found.remedy.startswith(remedy)


async def test_a_launch_is_refused_with_the_same_remedy(tmp_path: Path) -> None:
    (finding,) = tell_damage(await Here().describe(str(pipe(tmp_path))), "drafter")

    assert finding.remedy == "Put the file itself in its place."


def test_the_ids_of_damage_are_those_of_the_check() -> None:
    assert set(file_damage.IDS) == NOT_WHOLE
