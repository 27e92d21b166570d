"""What stands around a message, taken off for reading: time, level, rank, process, set advice."""

from __future__ import annotations

import re

# SGLang: [2026-11-29 12:09:41 TP7]; vLLM: (EngineCore pid=14451) ERROR 11-29 17:09:29 [core.py:63];
# llama.cpp: 0.00.021.016 I srv    load_model: (behind a tag the name of the function is cut to
# twelve letters); torch, behind any of them: [rank1]:
_PREFIX = re.compile(
    r"(?:"
    r"(?:\[[^\]]*\d\d:\d\d[^\]]*\]\s*)+"
    r"|\d+\.\d\d\.\d{3}\.\d{3} [A-Z] (?:[a-z]{2,5} +[\w():~]{1,12}: )?"
    r"|(?:\([\w =]+pid=\d+(?:, ip=[^)]*)?\)\s*)?(?:[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\]\s*)?"
    r")(?:\[rank\d+\]:? )?"
)
_ADVICE = re.compile(r" If reserved but unallocated memory is large try setting .*")


def strip_prefix(line: str) -> str:
    """A line without what its engine put before the message."""
    return line[_PREFIX.match(line).end() :].strip()  # type: ignore[union-attr] # matches ""


def strip_advice(message: str) -> str:
    """A message without the advice that torch puts behind every failed allocation.

    It fills two lines, and what happened (such as who else holds memory) stands before it.
    """
    return _ADVICE.sub("", message)
