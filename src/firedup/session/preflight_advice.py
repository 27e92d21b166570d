"""What a launch could have besides and lacks: never a reason against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firedup.core.model import Evidence, Finding, ServerSpec, Severity
from firedup.drafter.flags import SOFT_WATCHDOG, has_option


def advise_watchdog(spec: ServerSpec, packages: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """SGLang's soft watchdog, where the installed version has it and the command does not.

    `packages` are those found beside the program, by name, each with its `version`.
    """
    version = packages.get("sglang", {}).get("version")
    if spec.engine != "sglang" or version is None:
        return []
    flag, seconds = SOFT_WATCHDOG
    if not has_option(flag, str(version)) or any(_is_short_for(flag, w) for w in spec.argv):
        return []
    return [
        Finding(
            "soft-watchdog-off",
            Severity.NOTE,
            "SGLang can print the stacks of its processes by itself when a step hangs, and nothing"
            " is killed by that; it is off.",
            (Evidence("command", f"no --{flag}, which sglang {version} has"),),
            f"Add --{flag} {seconds}.",
        )
    ]


def _is_short_for(flag: str, word: str) -> bool:
    """Whether `word` is the flag, as argparse reads it: shortened, with a value behind "="."""
    name = word.removeprefix("--").partition("=")[0].replace("_", "-")
    return word.startswith("--") and name.startswith("soft-w") and flag.startswith(name)
