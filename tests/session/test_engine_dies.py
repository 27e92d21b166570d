"""A real API process that lives on when the real process of its engine is killed."""

import os
import signal

import pytest
from test_run import HANDLER
from test_vigil import TOKEN
from workbench import Site, until

from firedup.core.model import State, Verdict
from firedup.session.status import exit_status

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
        lambda now: any(p.title == "sglang::scheduler_TP0" for p in now.processes)
        and now.explanation.served_s > 3,
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
