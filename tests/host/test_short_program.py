"""The limit of a short program holds for all that it started, too."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import psutil
import pytest

from firedup.host.program import run_program

LONG = "3600"


async def pid_in(path: Path) -> int:
    while not path.exists() or not path.read_text().endswith("\n"):
        await asyncio.sleep(0.01)
    return int(path.read_text())


async def test_what_a_short_program_printed_is_given_back() -> None:
    output = await run_program(("sh", "-c", "cat; echo no >&2; exit 3"), text="yes", limit_s=60)

    assert (output.status, output.out, output.err) == (3, "yes", "no\n")


async def test_a_child_that_holds_the_pipes_does_not_hold_up_the_end() -> None:
    output = await run_program(("sh", "-c", f"sleep {LONG} & sleep {LONG}"), limit_s=0.1)

    assert output.status is None


async def test_a_program_that_is_broken_off_takes_its_children_with_it(tmp_path: Path) -> None:
    script = f"read word; sleep {LONG} & echo $! >{tmp_path}/pid; wait"
    task = asyncio.create_task(run_program(("sh", "-c", script), text="go\n", limit_s=60))
    child = psutil.Process(await pid_in(tmp_path / "pid"))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    with contextlib.suppress(psutil.NoSuchProcess):
        while child.status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.01)


async def test_a_child_in_a_session_of_its_own_is_not_waited_for(tmp_path: Path) -> None:
    inner = f"echo $$ >{tmp_path}/pid; exec sleep {LONG}"
    script = f"read word; setsid sh -c '{inner}' & wait"
    task = asyncio.create_task(run_program(("sh", "-c", script), text="go\n", limit_s=60))
    pid = await pid_in(tmp_path / "pid")

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert psutil.pid_exists(pid)
    os.kill(pid, signal.SIGKILL)
