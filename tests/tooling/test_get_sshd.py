"""The script that gets OpenSSH for the tests stops nothing, and says in a line what it did."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "get_sshd.sh"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The only programs of a machine without OpenSSH, besides those for administrators."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("cat", "chmod", "mktemp", "rm", "tail", "true"):
        (folder / name).symlink_to(shutil.which(name) or name)
    write_program(folder / "id", "echo 0")
    return folder


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run_script(programs: Path) -> str:
    """What the script says with only these `programs`; it always ends well."""
    done = subprocess.run(
        ["/bin/sh", str(SCRIPT)],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_where_all_is_there_nothing_is_said(programs: Path) -> None:
    for name in ("ssh", "ssh-keygen", "sshd"):
        write_program(programs / name, "exit 1")

    assert run_script(programs) == ""


def test_without_root_it_says_so_in_one_line(programs: Path) -> None:
    write_program(programs / "id", "echo 1000")
    write_program(programs / "sudo", "echo sudo: a password is required >&2; exit 1")

    assert run_script(programs) == (
        "OpenSSH is missing, so the tests that need it are skipped: only root can install it\n"
    )


def test_without_a_package_manager_it_says_so(programs: Path) -> None:
    assert run_script(programs).endswith("skipped: neither apt-get nor dnf nor apk is here\n")


def test_what_the_package_manager_says_last_is_the_reason(programs: Path) -> None:
    write_program(programs / "dnf", "echo Updating; echo Error: no network >&2; exit 1")

    assert run_script(programs).endswith("are skipped: Error: no network\n")


def test_a_user_who_may_use_sudo_gets_it_installed(programs: Path) -> None:
    write_program(programs / "id", "echo 1000")
    write_program(programs / "sudo", 'shift 2; exec "$@"')
    write_program(
        programs / "apk",
        f"""cd '{programs}'
        for name in "$@"; do
            case $name in
            openssh-client) cat id >ssh; cat id >ssh-keygen ;;
            openssh-server) cat id >sshd ;;
            esac
        done
        chmod 755 ssh ssh-keygen sshd""",
    )

    assert run_script(programs) == "OpenSSH is installed for the tests, and not started\n"
