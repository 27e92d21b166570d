"""Picks from an engine's stop table who gets which signal, and when the next one. Pure."""

from __future__ import annotations

from firedup.core.model import Stage
from firedup.profile.schema import EngineProfile, StopRow

DEFAULT = (
    StopRow("TERM", to="main", grace_s=15.0),
    StopRow("KILL", to="group", grace_s=5.0),
)


def stop_steps(profile: EngineProfile | None, stage: Stage | None) -> tuple[StopRow, ...]:
    """The signals to send, in order, each after the grace time of the one before.

    The first row that holds `stage` begins; the following rows with the same stages escalate. An
    unknown stage is "other". The last step is always KILL to the group, so that a stop ends.
    """
    rows = profile.stop if profile else ()
    at = stage or Stage.OTHER
    first = next((i for i, row in enumerate(rows) if not row.stages or at in row.stages), None)
    if first is None:
        return DEFAULT
    steps = [rows[first]]
    for row in rows[first + 1 :]:
        if row.stages != steps[0].stages:
            break
        steps.append(row)
    if steps[-1].signal != "KILL" or steps[-1].to != "group":
        steps.append(DEFAULT[-1])
    return tuple(steps)
