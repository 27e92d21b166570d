"""The stacks of a server that stands still are taken, kept, and compared."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from workbench import RUNS, Site

from firedup.core.model import Explanation, Verdict
from firedup.core.stack import Stacks
from firedup.session.explain_run import explain_run
from firedup.session.registry import Run, find_run
from firedup.session.stalltaker import TAKING

HUNG = RUNS.parent / "hung_server.py"
SECRET = "sk-notforothers123456"
LIMITS = (("load-weights", 1.0),)


def hide(line: str) -> str:
    return line.replace(SECRET, "***")


@pytest.fixture
async def run(site: Site) -> Run:
    """A server of four ranks, of which the third does not come to where the others wait."""
    argv = (sys.executable, str(HUNG), f"--api-key={SECRET}")
    return await site.launch(argv, engine="sglang", stage_limits=LIMITS, arms_stacks=True)


def names(stacks: Stacks) -> list[tuple[str, bool]]:
    return [
        (" ".join(member.name for member in group.members), group.is_odd)
        for group in stacks.groups
        if group.is_rank
    ]


async def test_a_rank_that_does_not_come_is_shown_apart_and_all_is_kept(
    site: Site, run: Run
) -> None:
    last = await site.conclude(run, conceal=hide)

    explanation = last.explanation
    assert explanation.verdict is Verdict.STALLED
    assert last.waiting_for != TAKING
    stacks = explanation.stacks
    assert stacks is not None
    assert names(stacks) == [("TP0 TP1 TP3", False), ("TP2", True)]
    waiting, odd = stacks.groups[:2]
    assert waiting.wait == "collective"
    assert odd.frames[0].function == "read_shard"
    assert odd.parts_at is not None
    assert odd.parts_at.function == "forward"
    assert stacks.path is not None
    kept = Path(stacks.path)
    assert kept.parent == Path(run.folder)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "== TP2 (pid " in kept.read_text()
    assert SECRET not in kept.read_text()
    again = await site.conclude(run, conceal=hide)
    assert again.explanation.stacks == stacks
    assert list(Path(run.folder).glob("stacks-*")) == [kept]
    assert (await told_afterwards(site, run.label.id)).stacks == stacks


async def told_afterwards(site: Site, run_id: str) -> Explanation:
    return await explain_run(site.agent, await find_run(site.agent, run_id), matcher=site.matcher)
