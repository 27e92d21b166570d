"""The pinned requirement files and pyproject.toml say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUN: list[str] = PROJECT["project"]["dependencies"]
DEMO: list[str] = PROJECT["project"]["optional-dependencies"]["demo"]
DEVELOPMENT: list[str] = PROJECT["dependency-groups"]["dev"]
FILES = sorted(FOLDER.glob("*.txt"))


def read_blocks(path: Path) -> list[str]:
    """The entries of a requirement file, each with its continued lines joined."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return text.replace("\\\n", " ").splitlines()


def read_pins(name: str) -> dict[str, set[Requirement]]:
    """The pinned packages by name; one that differs by Python has several entries."""
    pins: dict[str, set[Requirement]] = {}
    for block in read_blocks(FOLDER / name):
        pin = Requirement(block.partition(" --hash")[0])
        pins.setdefault(canonicalize_name(pin.name), set()).add(pin)
    return pins


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_package_is_pinned_and_hashed_and_no_address_is_written(path: Path) -> None:
    for block in read_blocks(path):
        assert re.match(r"[\w.-]+==\S+ ", block)
        assert re.search(r" --hash=sha256:[0-9a-f]{64}(\s|$)", block)
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE), "no option such as an index or a folder"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("run.txt", RUN), ("demo.txt", RUN + DEMO), ("dev.txt", RUN + DEMO + DEVELOPMENT)],
)
def test_each_file_pins_what_the_project_asks_for(name: str, wanted: list[str]) -> None:
    pins = read_pins(name)

    for text in wanted:
        requirement = Requirement(text)
        found = pins[canonicalize_name(requirement.name)]
        for pin in found:
            (specifier,) = pin.specifier
            assert specifier.version in requirement.specifier, f"run ./dev lock: {text}, {pin}"
            if requirement.marker is None:
                # Only the Python may choose between two pins of one package.
                assert pin.marker is None or "python_full_version" in str(pin.marker)


@pytest.mark.parametrize("name", ["run.txt", "demo.txt"])
def test_users_and_developers_have_the_same_versions(name: str) -> None:
    development = read_pins("dev.txt")

    for package, pins in read_pins(name).items():
        assert pins <= development[package]


def test_the_build_backend_is_pinned_so_that_no_build_needs_the_network() -> None:
    pins = read_pins("dev.txt")

    for text in PROJECT["build-system"]["requires"]:
        assert canonicalize_name(Requirement(text).name) in pins
    assert "editables" in pins, "hatchling needs it for an editable installation"
