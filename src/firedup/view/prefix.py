"""What engines put before a message: time, level, rank, process; taken off for reading."""

from __future__ import annotations

import re

# SGLang: [2026-11-29 12:09:41 TP7]; vLLM: (EngineCore pid=14451) ERROR 11-29 17:09:29 [core.py:63];
# llama.cpp: 0.00.021.016 I srv    load_model: (behind a tag the name of the function is cut to
# twelve letters); torch, behind any of them: [rank1]:
_PREFIX = re.compile(
    r"(?:"
    r"(?:\[[^\]]*\d\d:\d\d[^\]]*\]\s*)+"
    r"|\d+\.\d\d\.\d{3}\.\d{3} [A-Z] (?:[a-z]{2,5} +[\w():~]{1,12}: )?"
    r"|(?:\([\w ]+pid=\d+\)\s*)?(?:[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\]\s*)?"
    r")(?:\[rank\d+\]:? )?"
)


def strip_prefix(line: str) -> str:
    """A line without what its engine put before the message."""
    return line[_PREFIX.match(line).end() :].strip()  # type: ignore[union-attr] # matches ""
