"""Numbers and names on the pages are those of the program."""

from __future__ import annotations

import re

import pytest
from reader import ROOT

from firedup.cli.run import HOOK_EVENTS
from firedup.core.model import Stage, Verdict
from firedup.core.verdict import crew, ground, liveness, patience, stack
from firedup.session import prober, stacks, stalltaker
from firedup.session.status import status_of

MINUTES = {180: "three minutes", 300: "five", 600: "ten"}


def read(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_stands_with_its_exit_status(verdict: Verdict) -> None:
    row = rf"^\| `{verdict.value}` \| .+ \| {status_of(verdict)} \|$"

    assert re.search(row, read("explanation/verdicts.md"), re.MULTILINE)


def test_what_counts_as_progress_is_what_the_program_counts() -> None:
    page = read("explanation/verdicts.md")

    assert f"more than {liveness.MIN_CPU_SHARE * 100:.0f} % of one core" in page
    assert f"more than {liveness.MIN_READ_BYTES >> 20} MiB a second" in page
    assert f"by more than {liveness.MIN_GROWTH_BYTES >> 20} MiB a second" in page


def test_the_patience_of_the_page_is_that_of_the_program() -> None:
    page = read("explanation/verdicts.md")

    assert f"for {MINUTES[int(liveness.DEFAULT_PATIENCE_S)]} it is stalled" in page
    dist_init = MINUTES[int(liveness.PATIENCE_S[Stage.DIST_INIT])]
    assert f"in dist-init, where ranks wait for each other, after {dist_init};" in page
    assert f"in warm-up after {MINUTES[int(liveness.PATIENCE_S[Stage.WARMUP])]}." in page
    assert liveness.STOPPED_PATIENCE_S == 10
    assert "stopped by a signal is stalled after ten seconds" in page
    assert (patience.PIPE_PATIENCE_S, patience.KERNEL_PATIENCE_S) == (60, 120)
    assert (patience.DEFAULT_ODD_PATIENCE_S, patience.EVEN_PATIENCE_S) == (120, 600)
    assert set(patience.ODD_PATIENCE_S.values()) == {300, 600}
    assert patience.SPIN_PATIENCE_S == 1800
    assert (patience.RANK_READ_BYTES >> 10, patience.RANK_GROWTH_BYTES >> 20) == (512, 1)
    assert ground.SETTLE_S == 5
    assert "counts once nothing went on for five seconds" in page


def test_the_page_about_stalls_has_the_limits_of_the_program() -> None:
    page = read("explanation/stalls.md")

    assert f"at most {stacks.MOST_PROCESSES} processes" in page
    assert f"more than {crew.MATTERS_BYTES >> 20} MiB" in page
    assert f"{2 * stacks.LIMIT_S:.0f} seconds at the most" in page
    assert stalltaker.MOST_TAKEN == 3
    assert "three times in one watch at most" in page
    assert f"within the first {stack.DEPTH} is told" in page


def test_the_request_for_a_token_is_described_as_it_is_made() -> None:
    page = read("explanation/ready.md")

    assert prober.DEADLINE_S == 60
    assert "a minute to answer" in page
    assert prober.RETRY_TOKEN_S == 10
    assert "asked again every ten seconds" in page


def test_every_event_has_its_hook() -> None:
    page, reference = read("how-to/scripts-and-ci.md"), read("reference/hooks.md")

    for event in HOOK_EVENTS:
        assert f"`--on {event} CMD`" in page
        assert re.search(rf"^\| `{event}` \| ", reference, re.MULTILINE)


def test_the_tables_of_exit_statuses_say_the_same() -> None:
    def statuses(text: str) -> set[str]:
        return set(re.findall(r"^\| (\d+(?:, \d+)?) \|", text, re.MULTILINE))

    first_page = statuses((ROOT / "README.md").read_text(encoding="utf-8"))

    assert first_page == statuses(read("how-to/scripts-and-ci.md"))
    assert first_page <= statuses(read("reference/cli.md"))
