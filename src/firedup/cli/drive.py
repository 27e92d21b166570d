"""Runs the asynchronous part of a command so that signals end it tidily."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from firedup.cli.door import Terminated

_T = TypeVar("_T")


def run_async(main: Coroutine[Any, Any, _T]) -> _T:
    """What `main` returns. SIGINT cancels it and raises KeyboardInterrupt, SIGTERM Terminated."""
    with asyncio.Runner() as runner:
        return runner.run(_heed_term(main))


async def _heed_term(main: Coroutine[Any, Any, _T]) -> _T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - there is one, since this runs in it
    has_come = False

    def on_term() -> None:
        nonlocal has_come
        has_come = True
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, on_term)
    try:
        return await main
    except asyncio.CancelledError:
        if has_come:
            raise Terminated from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
