"""The script ./dev says what it can do and what is wrong, before anything is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DEV = Path(__file__).parents[2] / "dev"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with a blank in its name that holds the script alone."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    shutil.copy(DEV, folder / "dev")
    return folder


def run_dev(clone: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the clone's script from elsewhere."""
    return subprocess.run(
        [str(clone / "dev"), *arguments],
        cwd=clone.parent,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def write_program(path: Path, text: str) -> str:
    """Write a shell script; return its path."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_command_it_shows_each_command_with_an_example(clone: Path) -> None:
    result = run_dev(clone)

    assert result.returncode == 0
    for command in ["setup", "demo", "test", "check", "fmt", "bench", "e2e", "wheel", "lock"]:
        assert f"./dev {command}" in result.stdout


def test_an_unknown_command_is_wrong_use(clone: Path) -> None:
    result = run_dev(clone, "tset")

    assert result.returncode == 2
    assert result.stderr.endswith("dev: there is no command tset\n")


def test_a_python_that_is_too_old_is_named(clone: Path) -> None:
    old = write_program(clone / "python3.9", "exit 1")

    result = run_dev(clone, "setup", PYTHON=old)

    assert result.returncode == 1
    assert result.stderr == f"dev: PYTHON={old} does not run, or is older than Python 3.11\n"
    assert not (clone / ".venv").exists()


def test_only_old_pythons_on_the_path_are_said_with_their_version(clone: Path) -> None:
    programs = clone / "bin"
    programs.mkdir()
    write_program(programs / "python3", 'if [ "$1" = -V ]; then echo Python 3.9.2; fi; exit 1')
    for name in ("python3.11", "python3.12", "python3.13", "python3.14"):
        write_program(programs / name, "exit 127")

    result = run_dev(clone, "setup", PATH=f"{programs}:/usr/bin:/bin")

    assert result.returncode == 1
    assert "Python 3.9.2 is too old; Python 3.11 or newer is needed" in result.stderr


def test_a_python_without_the_venv_module_is_told_apart_from_an_old_one(clone: Path) -> None:
    bare = write_program(clone / "python3", 'case "$2" in *ensurepip*) exit 1 ;; esac')

    result = run_dev(clone, "setup", PYTHON=bare)

    assert result.returncode == 1
    assert f"{bare} has no venv module" in result.stderr
    assert "python3-venv" in result.stderr


def test_a_failed_installation_stops_everything_and_is_tried_again(clone: Path) -> None:
    (clone / "requirements").mkdir()
    (clone / "requirements" / "dev.txt").write_text("no-such-package==1 --hash=sha256:00\n")
    # Makes an environment whose pip always fails, and answers all other questions well.
    fails = 'case "$*" in "-m pip"*) echo "pip: no" >&2; exit 1 ;; esac'
    fake = write_program(
        clone / "python3",
        f"""case "$*" in
        "-m venv"*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
        *hashlib*) echo stamp ;;
        esac
        {fails}""",
    )

    for _ in range(2):
        result = run_dev(clone, "setup", PYTHON=fake)

        assert result.returncode == 1
        assert "dev: making the environment .venv" in result.stderr
        assert "pip: no" in result.stderr
