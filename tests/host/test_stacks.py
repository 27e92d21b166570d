import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from firedup.host.link import Agent
from firedup.host.stack import take_stacks

LIMIT_S = 100.0


@asynccontextmanager
async def child(*argv: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of this test that has printed its first line."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            await process.stdout.readline()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def sleeper(code: str = "") -> tuple[str, ...]:
    text = f"import os, sys, time\n{code}\nprint('up', flush=True)\ntime.sleep(60)\n"
    return (sys.executable, "-c", text)


async def test_a_stopped_process_is_seen_as_the_kernel_sees_it(agent: Agent) -> None:
    async with child(*sleeper("os.kill(os.getpid(), 0)")) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        found = await take_stacks(agent, [process.pid], limit_s=LIMIT_S, is_armed=False)

    (one,) = found.taken
    assert (one.pid, one.state) == (process.pid, "T")
    assert f"thread {process.pid} (" in one.kernel


async def test_a_process_that_is_gone_is_said_to_be(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        pass
    found = await take_stacks(agent, [process.pid], limit_s=LIMIT_S, is_armed=False)

    (one,) = found.taken
    assert (one.by, one.starttime, one.text) == ("none", 0, "")
    assert one.why_not == f"there is no process {process.pid} any more"
