"""Lets a closed terminal end the demo tidily, as Ctrl-C does."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def heed_hangup() -> AsyncIterator[None]:
    """Within it SIGHUP cancels the task; once that has tidied up, the process ends by the signal.

    A SIGHUP that is ignored (nohup) stays so.
    """
    task = asyncio.current_task()
    if task is None or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        yield
        return
    loop = asyncio.get_running_loop()
    has_come = False

    def end() -> None:
        nonlocal has_come
        has_come = True
        task.cancel()

    loop.add_signal_handler(signal.SIGHUP, end)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        if has_come:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGHUP)
