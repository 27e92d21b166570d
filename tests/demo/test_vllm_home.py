"""Where the demo's vLLM is looked for, and what is said where it is not or cannot be."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from firedup.core.error import UsageError
from firedup.demo import vllm_home
from firedup.demo.vllm_home import find_vllm, home, install


@pytest.fixture
def environ(tmp_path, monkeypatch):
    """An environment in which nothing is installed, on a machine that can have it."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(vllm_home, "_find_python", lambda: sys.executable)
    return {"XDG_DATA_HOME": str(tmp_path / "data")}


class Programs:
    """Stands for the programs that an installation calls; makes the folders that they would."""

    def __init__(self, environ: dict[str, str], status: int = 0) -> None:
        self.called: list[tuple[str, ...]] = []
        self._home = home(environ)
        self._status = status

    def run(self, words: tuple[str, ...], **_: object) -> subprocess.CompletedProcess[bytes]:
        self.called.append(words)
        packages = self._home / "lib" / f"python{vllm_home.PYTHON}" / "site-packages"
        packages.mkdir(parents=True, exist_ok=True)
        return subprocess.CompletedProcess(words, self._status)


def test_where_nothing_is_installed_the_command_that_does_it_is_named(environ):
    with pytest.raises(UsageError) as refusal:
        find_vllm(environ)

    assert "firedup demo --engine vllm --install" in str(refusal.value)
    assert str(home(environ)) in str(refusal.value)


def test_a_folder_of_ones_own_is_used_and_must_hold_the_program(tmp_path):
    environ = {"FIREDUP_VLLM": str(tmp_path)}
    with pytest.raises(UsageError, match="without a program vllm"):
        find_vllm(environ)

    (tmp_path / "vllm").touch()

    assert find_vllm(environ) == tmp_path / "vllm"


def test_an_installation_has_exactly_the_pinned_packages_and_is_made_once(environ, monkeypatch):
    programs = Programs(environ)
    monkeypatch.setattr(subprocess, "run", programs.run)
    said: list[str] = []

    install(environ, said.append)
    install(environ, said.append)

    venv, pip = programs.called
    assert venv[1:] == ("-m", "venv", str(home(environ)))
    assert pip[0] == str(home(environ) / "bin" / "python")
    assert {"--no-deps", "--require-hashes"} <= set(pip)
    assert Path(pip[-1]).name == "vllm.txt"
    assert "delete that folder" in said[0]
    assert said[1].startswith("vLLM is installed in ")
    assert find_vllm(environ) == home(environ) / "bin" / "vllm"
    (about,) = home(environ).rglob("METADATA")
    assert "Name: vllm\nVersion: " in about.read_text()
    assert about.parent.name.endswith("+cpu.dist-info")


def test_an_installation_that_broke_off_is_none_and_is_begun_anew(environ, monkeypatch):
    failing = Programs(environ, status=1)
    monkeypatch.setattr(subprocess, "run", failing.run)
    with pytest.raises(UsageError) as refusal:
        install(environ, lambda _: None)
    left = home(environ) / "left"
    left.touch()

    with pytest.raises(UsageError, match="not installed"):
        find_vllm(environ)
    monkeypatch.setattr(subprocess, "run", Programs(environ).run)
    install(environ, lambda _: None)

    assert "PIP_EXTRA_INDEX_URL" in str(refusal.value)
    assert not left.exists()


def test_a_machine_that_cannot_have_it_is_told_before_anything_is_made(tmp_path, monkeypatch):
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")

    with pytest.raises(UsageError, match="x86-64"):
        install(environ, lambda _: None)

    assert not (tmp_path / "data").exists()
