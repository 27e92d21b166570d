"""`firedup check --fix`: a corrected copy, what was done, and what is left."""

from __future__ import annotations

import json

import pytest
from typist import Shell, documented

from tests.drafter.zoo_folder import broken_folders, good_folders

SGLANG = ("--engine", "sglang", "--engine-version", "0.5.23")


def test_a_mended_drafter_fits_and_the_command_says_what_it_did(shell: Shell) -> None:
    target, draft = broken_folders("d2t-ids")

    done = shell.run("check", str(target), str(draft), "--fix", "mended", *SGLANG)
    again = shell.run("check", str(target), "mended", "--json", *SGLANG)

    assert done.status == 0
    assert done.out.startswith("✓ the corrected copy fits\n  mended")
    assert "d2t: ids replaced by offsets" in done.out
    assert json.loads(again.out)["fits"] is True


def test_which_files_are_links_is_said_and_all_others_are_the_copys_own(shell: Shell) -> None:
    target, draft = broken_folders("draft-vocab-absent")
    weights = draft / "model.safetensors"

    done = shell.run("check", str(target), str(draft), "--fix", "mended", *SGLANG)
    programs = shell.run("check", str(target), str(draft), "--fix", "other", "--json", *SGLANG)

    assert "1 symbolic link into the drafter's: model.safetensors" in done.out
    assert "→ cp -rL makes a copy of it" in done.out
    result = json.loads(programs.out)
    assert set(result) == documented("check-fix")
    assert result["links"] == [{"file": "model.safetensors", "to": str(weights.resolve())}]
    assert [f.name for f in (shell.folder / "mended").iterdir() if f.is_symlink()] == [weights.name]


@pytest.mark.parametrize(("out", "said"), [("", "no folder is named"), ("box:/x", "on this")])
def test_a_place_that_is_none_is_wrong_use(shell: Shell, out: str, said: str) -> None:
    target, draft = broken_folders("d2t-ids")

    done = shell.run("check", str(target), str(draft), "--fix", out, *SGLANG)

    assert done.status == 2
    assert said in done.err


def test_what_cannot_be_mended_is_told_with_exit_status_1(shell: Shell) -> None:
    target, draft = broken_folders("maps-missing")

    done = shell.run("check", str(target), str(draft), "--fix", "mended", "--json", *SGLANG)

    result = json.loads(done.out)
    assert done.status == 1
    assert (result["out"], result["done"], result["fits"]) == (None, [], False)
    assert [one["id"] for one in result["left"]] == ["d2t-missing"]
    assert not (shell.folder / "mended").exists()


def test_a_good_drafter_is_not_copied(shell: Shell) -> None:
    target, draft = good_folders("eagle-repository")

    done = shell.run("check", str(target), str(draft), "--fix", "mended", *SGLANG)

    assert done.status == 0
    assert "nothing to correct" in done.out


def test_the_place_of_the_copy_must_be_free(shell: Shell) -> None:
    target, draft = broken_folders("d2t-ids")
    (shell.folder / "mended").mkdir()
    (shell.folder / "mended" / "mine").touch()

    done = shell.run("check", str(target), str(draft), "--fix", "mended", *SGLANG)

    assert done.status == 2
    assert "not empty" in done.err
