"""Ends what a test has started: keepers and servers are made to outlive whoever launched them."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from typing import AnyStr

import psutil

ROUNDS = 20  # a process may start another one while the list is read


def kill_left(state: str | os.PathLike[str]) -> None:
    """Kill every process, except this one, whose state folder is `state` or lies in it."""
    for _ in range(ROUNDS):
        found = [process for process in psutil.process_iter() if _lives_in(process, str(state))]
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=1)


@contextlib.contextmanager
def ending(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """Wait for `process` at the end, but not for ever: it is killed when the test has failed."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def _lives_in(process: psutil.Process, state: str) -> bool:
    try:
        return (
            process.pid != os.getpid()
            and f"{process.environ().get('XDG_STATE_HOME')}/".startswith(f"{state}/")
            and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.Error:
        return False
