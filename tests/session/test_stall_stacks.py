"""The stacks of a server that stands still are taken, kept, and compared."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from workbench import Site

from firedup.core.model import Explanation, Verdict
from firedup.core.stack import Stacks
from firedup.session.explain_run import explain_run
from firedup.session.registry import find_run
from firedup.session.stalltaker import TAKING

SECRET = "sk-notforothers123456"
COLLECTIVE = "import threading\ndef all_reduce():\n    threading.Event().wait()\n"
RANK = """
import ctypes, sys, threading, time
sys.path.insert(0, sys.argv[2])
title = ("sglang::scheduler_TP" + sys.argv[1]).encode()
ctypes.CDLL(None).prctl(15, title, 0, 0, 0)
from torch.distributed.distributed_c10d import all_reduce

def read_shard():
    time.sleep(3600)

def forward():
    open(f"{sys.argv[2]}/here-{sys.argv[1]}", "w").close()
    read_shard() if sys.argv[1] == "2" else all_reduce()

forward()
"""
SERVER = """
import os, subprocess, sys, time
FOLDER = {folder!r}
ranks = [
    subprocess.Popen(
        [f"sglang::scheduler_TP{{n}}", FOLDER + "/rank.py", str(n), FOLDER, "--api-key={secret}"],
        executable=sys.executable,
    )
    for n in range(4)
]
def stands(n):
    state = open(f"/proc/{{ranks[n].pid}}/stat").read().rpartition(")")[2].split()[0]
    return os.path.exists(f"{{FOLDER}}/here-{{n}}") and state == "S"

while not all(stands(n) for n in range(4)):
    time.sleep(0.02)
print("[2026-01-01 00:00:00 TP0] Load weight begin. avail mem=78.50 GB", flush=True)
time.sleep(3600)
"""
LIMITS = (("load-weights", 1.0),)


def hide(line: str) -> str:
    return line.replace(SECRET, "***")


@pytest.fixture
def server(site: Site, tmp_path: Path) -> str:
    """A server of four ranks, of which the third does not come to where the others wait for it."""
    package = tmp_path / "torch" / "distributed"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "distributed_c10d.py").write_text(COLLECTIVE)
    (tmp_path / "rank.py").write_text(RANK)
    return site.program(SERVER.format(folder=str(tmp_path), secret=SECRET))


def names(stacks: Stacks) -> list[tuple[str, bool]]:
    return [
        (" ".join(member.name for member in group.members), group.is_odd)
        for group in stacks.groups
        if group.is_rank
    ]


async def test_a_rank_that_does_not_come_is_shown_apart_and_all_is_kept(
    site: Site, server: str
) -> None:
    run = await site.launch(site.serve(server), stage_limits=LIMITS)

    last = await site.conclude(run, conceal=hide)

    explanation = last.explanation
    assert explanation.verdict is Verdict.STALLED
    assert last.waiting_for != TAKING
    stacks = explanation.stacks
    assert stacks is not None
    assert names(stacks) == [("TP0 TP1 TP3", False), ("TP2", True)]
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
