"""The pytest plugin for profiles, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOY = """\
schema = 1
engine = "toy"

[[rule]]
id = "up"
stage = "ready"
edge = "begin"
pattern = 'toy is up'
source = "toy"
matches = ["now toy is up", "now toy has risen"]
misses = ["toy is down"]
"""


def pytest_on(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "firedup.testing.plugin",
        "-p",
        "no:cacheprovider",
    ]
    return subprocess.run(
        [*command, "-p", "no:randomly", "-v", "--rootdir", str(folder), str(folder), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def test_rules_and_examples_are_tests_with_names_and_complaints(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY, encoding="utf-8")
    (tmp_path / "other.toml").write_text("[table]\nkey = 1\n", encoding="utf-8")

    run = pytest_on(tmp_path)

    for passed in ("file", "up-rule", "up-match0", "up-miss0"):
        assert f"toy.toml::{passed} PASSED" in run.stdout
    assert "toy.toml::up-match1 FAILED" in run.stdout
    assert "profile toy, rule up: the example line is not matched" in run.stdout
    assert '^ stops here, at "h"' in run.stdout
    assert "other.toml" not in run.stdout
    assert run.returncode == 1


def test_a_test_is_chosen_by_its_rule(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY, encoding="utf-8")

    run = pytest_on(tmp_path, "-k", "up-miss")

    assert "1 passed, 4 deselected" in run.stdout
    assert run.returncode == 0
