"""`firedup profile`: checks what there is, and begins what passes its own check."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firedup.cli import main


def test_what_comes_with_firedup_has_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "check"]) == 0
    assert capsys.readouterr().out == "no problems\n"


def test_a_new_profile_lies_where_it_is_read_and_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["profile", "new", "my-engine"]) == 0

    path = Path(os.environ["XDG_CONFIG_HOME"], "firedup", "profiles", "my-engine", "profile.toml")
    assert capsys.readouterr().out.splitlines()[0] == str(path)
    assert main(["profile", "check", str(path.parent)]) == 0


def test_a_problem_is_shown_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["profile", "new", "my-engine", "--in", str(tmp_path)])
    path = tmp_path / "my-engine" / "profile.toml"
    text = path.read_text()
    path.write_text(text.replace("my-engine: ready to serve'", "my-engine: ready to run'"))
    line = text[: text.index("pattern = 'my-engine: ready")].count("\n") + 1
    capsys.readouterr()

    assert main(["profile", "check", str(path)]) == 1

    out = capsys.readouterr().out
    assert "rule up" in out
    assert f"{path}:{line}" in out
    assert out.endswith("1 problem\n")


@pytest.mark.parametrize("name", ["My Engine", "../x", "-x", ""])
def test_a_name_that_cannot_be_used_is_refused(name: str, tmp_path: Path) -> None:
    assert main(["profile", "new", "--in", str(tmp_path), "--", name]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["sglang", "vllm", "llama-cpp", "generic", "shared"])
def test_the_name_of_a_built_in_engine_is_refused_with_what_to_do_instead(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "new", name, "--in", str(tmp_path)]) == 2

    assert list(tmp_path.iterdir()) == []
    assert f'engine = "{name}"' in capsys.readouterr().err


def test_a_profile_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["profile", "new", "my-engine", "--in", str(tmp_path)])
    path = tmp_path / "my-engine" / "profile.toml"
    path.write_text("mine")

    assert main(["profile", "new", "my-engine", "--in", str(tmp_path)]) == 2
    assert path.read_text() == "mine"
    assert "is there already" in capsys.readouterr().err


def test_a_missing_file_is_wrong_use(tmp_path: Path) -> None:
    assert main(["profile", "check", str(tmp_path / "none")]) == 2
