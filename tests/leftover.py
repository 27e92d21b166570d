"""Ends what a test has started: keepers and servers are made to outlive whoever launched them."""

from __future__ import annotations

import contextlib
import os

import psutil

ROUNDS = 20  # a process may start another one while the list is read


def kill_left(state: str | os.PathLike[str]) -> None:
    """Kill every process that was started with the state folder `state`, except this one."""
    for _ in range(ROUNDS):
        found = [process for process in psutil.process_iter() if _lives_in(process, str(state))]
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=1)


def _lives_in(process: psutil.Process, state: str) -> bool:
    try:
        return (
            process.pid != os.getpid()
            and process.environ().get("XDG_STATE_HOME") == state
            and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.Error:
        return False
