"""One table of exit statuses, which watches and `explain --exit-status` share."""

from __future__ import annotations

import pytest

from firedup.core.model import Explanation, Snapshot, Speculation, Verdict
from firedup.session.status import NO_CONCLUSION, exit_status, status_of


@pytest.mark.parametrize("verdict", Verdict)
def test_a_watch_ends_with_the_status_of_its_verdict(verdict: Verdict) -> None:
    last = Snapshot(0, 0, Explanation(None, None, verdict, None, None, 0.9))

    assert exit_status(last) == status_of(verdict)


def test_ready_alone_is_success_and_what_is_no_conclusion_has_a_status_of_its_own() -> None:
    by_status = {status_of(verdict): verdict for verdict in Verdict}

    assert by_status[0] is Verdict.READY
    assert {status_of(Verdict.LOADING), status_of(Verdict.UNKNOWN)} == {NO_CONCLUSION}


@pytest.mark.parametrize(
    ("speculation", "status"),
    [(Speculation.ON, 0), (Speculation.OFF, 1), (Speculation.UNKNOWN, 1)],
)
def test_ready_without_the_required_speculation_is_a_failed_check(
    speculation: Speculation, status: int
) -> None:
    explanation = Explanation(None, None, Verdict.READY, None, None, 0.9)
    last = Snapshot(0, 0, explanation, speculation=speculation)

    assert exit_status(last, requires=frozenset({"speculation"})) == status
