"""Whether a server was told to make its acceptance up, and how it was told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from firedup.core.model import Acceptance

SIMULATED = "the server's acceptance is simulated"
# SGLang: a value of 0 or below, or none, leaves acceptance as it is.
_SGLANG = "SGLANG_SIMULATE_ACC_LEN"
_SGLANG_OLD = "SIMULATE_ACC_LEN"
_LLAMA = ("--spec-synth-len", "--spec-synth-rates")
_VLLM = ("--speculative-config", "-sc")


def find_simulation(
    flags: Sequence[str] | None, environment: Mapping[str, str] | None
) -> str | None:
    """How acceptance is simulated, by a server's command or environment; None when it is not.

    Its tokens are then wrong and its acceptance says nothing of the drafter, but a step takes the
    time that it takes.
    """
    for name in (_SGLANG, _SGLANG_OLD):
        length = (environment or {}).get(name, "")
        if _is_positive(length):
            return f"{name}={length} in its environment"
    for option, value in _pairs(flags or ()):
        if option in _LLAMA:
            return f"{option} {value} in its command"
        if option in _VLLM and (told := _synthetic(value)):
            return f"{told} in its speculative configuration"
        if option.startswith(("--speculative-config.", "-sc.")) and value == "synthetic":
            return f"{option.partition('.')[2]} synthetic in its speculative configuration"
    return None


def is_made_up(acceptance: Acceptance | None) -> bool:
    """Whether there is none because the server would make it up."""
    why_not = acceptance.why_not if acceptance else None
    return why_not is not None and why_not.startswith(SIMULATED)


def _pairs(flags: Sequence[str]) -> list[tuple[str, str]]:
    """Each option with its value, written as one word or two."""
    found = []
    for number, word in enumerate(flags):
        option, equals, value = word.partition("=")
        if word.startswith("-"):
            following = flags[number + 1] if number + 1 < len(flags) else ""
            found.append((option, value if equals else following))
    return found


def _synthetic(text: str) -> str | None:
    """What vLLM's JSON says of synthetic acceptance; None when it is not asked for."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(config, dict) or config.get("rejection_sample_method") != "synthetic":
        return None
    for name in ("synthetic_acceptance_length", "synthetic_acceptance_rates"):
        if config.get(name) is not None:
            return f"{name} {config[name]}"
    return "rejection_sample_method synthetic"


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
