"""A real API process that lives on when the real process of its engine is killed."""

import asyncio
import os
import signal
from contextlib import aclosing

import pytest
from test_run import HANDLER
from test_vigil import TOKEN
from workbench import LIMIT_S, Site, until

from firedup.core.model import Snapshot, State, Verdict
from firedup.session.registry import find_run
from firedup.session.status import exit_status
from firedup.session.summary import summarise_runs

# The engine's process: it calls itself what SGLang's scheduler does, and its parent never asks.
SCHEDULER = """
import ctypes, subprocess
NAMED = '''
import ctypes, time
ctypes.CDLL(None).prctl(15, b"sglang::scheduler_TP0", 0, 0, 0)
time.sleep(600)
'''
words = ["sglang::scheduler_TP0", "-c", NAMED]
scheduler = subprocess.Popen(words, executable=sys.executable)
open("scheduler", "w").write(str(scheduler.pid))
def generate(handler):
    if not asked:
        asked.append(1)
        TOKEN
    else:
        handler.answer(500, b"no scheduler")
asked = []
serve(generate)
""".replace("TOKEN", TOKEN)


async def test_of_a_server_that_nobody_watches_its_engine_s_death_is_told_too(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.core.verdict.vital.PATIENCE_S", 0.5)
    monkeypatch.setattr("firedup.core.verdict.vital.STEADY_S", 0.0)
    run = await site.launch(
        site.serve(site.program(HANDLER + SCHEDULER)), cwd=str(site.folder), name="r"
    )

    def is_seen(now: Snapshot) -> bool:
        return any(process.title == "sglang::scheduler_TP0" for process in now.processes)

    async with aclosing(site.watch(run, until="exit", token_every_s=3600)) as snapshots:  # type: ignore[type-var]  # a generator
        await until(
            snapshots, lambda now: now.explanation.verdict is Verdict.READY and is_seen(now)
        )
    os.kill(int((site.folder / "scheduler").read_text()), signal.SIGKILL)

    async with asyncio.timeout(LIMIT_S):
        while True:
            now = await find_run(site.agent, "r")
            (told,) = await summarise_runs(site.agent, lambda _: site.matcher, [now])
            if told.verdict is not Verdict.READY:
                break
            await asyncio.sleep(0.1)

    assert (told.verdict, told.state, told.cause) == (Verdict.CRASHED, State.SERVING, "killed")


async def test_a_server_whose_engine_is_killed_has_crashed_while_its_api_answers(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.core.verdict.vital.PATIENCE_S", 0.5)
    program = site.program(HANDLER + SCHEDULER)
    run = await site.launch(site.serve(program), cwd=str(site.folder))
    snapshots = site.watch(run, until="exit", token_every_s=3600)
    await until(snapshots, lambda now: now.explanation.verdict is Verdict.READY)
    await until(
        snapshots,
        lambda now: (
            any(p.title == "sglang::scheduler_TP0" for p in now.processes)
            and now.explanation.served_s > 3
        ),
    )

    pid = int((site.folder / "scheduler").read_text())
    os.kill(pid, signal.SIGKILL)
    doubted = await until(snapshots, lambda now: now.explanation.findings)
    last = await until(snapshots, lambda now: now.is_final)

    assert doubted.explanation.findings[0].id == "no-token"  # it was asked at once
    assert last.explanation.verdict is Verdict.CRASHED
    assert last.state is State.SERVING  # its main process is there
    assert exit_status(last) == 1
    cause = last.explanation.cause
    assert cause is not None
    assert cause.failure == "killed"
    assert cause.line == f"sglang::scheduler_TP0 (pid {pid}) was ended by SIGKILL (signal 9)"
    assert last.explanation.served_s is not None
    assert last.explanation.served_s > 3
