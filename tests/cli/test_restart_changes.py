"""What a restart changes, as the user reads it."""

from __future__ import annotations

import pytest

from firedup.cli.restart import tell_change
from firedup.session.restart import Change


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (Change("--tp", "8", "4"), "--tp 8 → 4"),
        (Change("-c", None, "4096"), "-c not given → 4096"),
        (Change("--enforce-eager", "", None), "--enforce-eager given → not given"),
        (Change("NCCL_ALGO", None, "Tree"), "NCCL_ALGO unset → Tree"),
        (Change("A", "b", ""), "A b → empty"),
    ],
)
def test_a_change_is_one_line(change: Change, line: str) -> None:
    assert tell_change(change) == line


@pytest.mark.parametrize(
    "change",
    [Change("--api-key", "first-one", "another"), Change("HF_TOKEN", "hf_firstone", "hf_another")],
)
def test_secrets_in_a_change_are_not_shown(change: Change) -> None:
    line = tell_change(change)

    assert "first" not in line
    assert "another" not in line
