"""How a server is to be watched: until when, how long, what to show and to ask."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from firedup.core.rule import Matcher
from firedup.probe.token import DEADLINE_S
from firedup.profile.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Watching:
    """How to watch. `until`: "ready" (any verdict ends it) or "exit".

    `timeout_s` None watches without limit. A host that was not reached for `lost_after_s` is given
    up (None: never). `tail_lines` and `highlight` are for the classic
    format. `tick_s` is the longest time between two snapshots. `prompt` and `max_tokens` shape the
    first tokens, None takes the least that proves readiness; they must come within `token_s`.
    `say` is told what becomes of the link while there is nothing to show yet. `stage_limits` are
    the user's own, in seconds by stage; with `ends_on_stall` a stall ends every watch.
    """

    until: str = "ready"
    timeout_s: float | None = 1800.0
    lost_after_s: float | None = 600.0
    tail_lines: int = 0
    highlight: re.Pattern[str] | None = None
    tick_s: float = 1.0
    prompt: str | None = None
    max_tokens: int | None = None
    token_s: float = DEADLINE_S
    token_every_s: float | None = None  # once ready, until "exit"
    clean: Callable[[str], str] | None = None  # for a log line on its way to a hook
    conceal: Callable[[str], str] = str  # for lines of stacks on their way into a file
    say: Callable[[str], None] = lambda _: None
    stage_limits: tuple[tuple[str, float], ...] = ()
    ends_on_stall: bool = False


def make_pipeline(matcher: Matcher, wall_ns: int, watching: Watching, **about: Any) -> Pipeline:
    """The pipeline of a watch; `wall_ns` is about now by the host, `about` what is known before."""
    return Pipeline(
        matcher,
        year=datetime.fromtimestamp(wall_ns / 1e9, UTC).year,
        tail_lines=watching.tail_lines,
        highlight=watching.highlight,
        **about,
    )
