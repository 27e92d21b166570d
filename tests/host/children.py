"""A process of a test's own that has begun."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
