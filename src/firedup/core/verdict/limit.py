"""The user's own limits for stages: what is left of them, and what is said when one is over."""

from __future__ import annotations

from firedup.core.event import Begun
from firedup.core.model import Evidence, Stage
from firedup.core.verdict.hold import Stall
from firedup.core.verdict.startup import Startup

_NS = 1_000_000_000


def own_limit(begun: Begun | None, startup: Startup) -> float | None:
    """The user's limit for the present stage, in seconds; before any line it is that of args."""
    limits = dict(begun.stage_limits) if begun is not None else {}
    return limits.get(startup.stage or Stage.ARGS)


def find_passed(begun: Begun | None, startup: Startup, now_ns: int) -> Stall | None:
    """That the limit of the present stage is over, whatever its processes do."""
    limit_s = own_limit(begun, startup)
    if begun is None or limit_s is None:
        return None
    at = startup.stage_begun()
    begun_ns = begun.at_ns if at is None or at.host_ns is None else at.host_ns
    seconds = (now_ns - begun_ns) / _NS
    if seconds < limit_s:
        return None
    stage = startup.stage or Stage.ARGS
    return Stall(
        "stage-limit",
        f"The limit for {stage}, {limit_s:g} s, is over: it has lasted {seconds:.0f} s.",
        (Evidence("command", f"--stage-timeout {stage}={limit_s:g}s"),),
        "Look at what its processes do; if they still work, allow the stage more time.",
    )
