"""Reads a log for what it says of acceptance and speed."""

from __future__ import annotations

from pathlib import Path

from firedup.core.measure.logged import Logged, read_logged
from firedup.session.explain import explain_path, load_matcher

_HEAD_BYTES = 1 << 20  # engines print their arguments at the beginning
# How vLLM prints a part of its arguments that makes acceptance up.
_MADE_UP = b"'rejection_sample_method': 'synthetic'"


def read_log(path: str, *, engine: str | None = None) -> Logged:
    """What the log at `path` says; UsageError when it cannot be read."""
    explanation = explain_path(path, matcher=load_matcher(), engine=engine)
    with Path(path).open("rb") as file:
        is_made_up = _MADE_UP in file.read(_HEAD_BYTES)
    return read_logged(explanation, made_up=_MADE_UP.decode() if is_made_up else None)
