"""What two watches of the same bytes must agree on."""

from __future__ import annotations

import json

from firedup.core.model import Explanation


def story(explanation: Explanation) -> dict[str, object]:
    """What two watches of the same bytes must agree on, wherever in which file those are."""
    cause = explanation.cause
    found = {
        "engine": explanation.engine,
        "version": explanation.version,
        "verdict": explanation.verdict,
        "stage": explanation.stage,
        "starts": explanation.starts,
        "stages": [span.stage for span in explanation.stages],
        "cause": [cause.failure, cause.rule, cause.line, cause.rank] if cause else None,
        "followed": [[one.line, one.role] for one in explanation.followed],
        "findings": [finding.id for finding in explanation.findings],
    }
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]
