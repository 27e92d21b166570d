"""Processes whose stacks are taken, and agents that may not read them."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from firedup.host.base import Host

LIMIT_S = 100.0
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
# The kernel decides by user, capability and Yama's setting, whoever runs the tests.
may_trace = pytest.mark.skipif(
    os.geteuid() != 0 and _YAMA.exists() and _YAMA.read_text().strip() != "0",
    reason="Yama keeps py-spy from reading other processes",
)
_WITHOUT = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", "--")


def can_drop() -> bool:
    """Whether a program can be run as root without the capability that lets it trace all others."""
    return bool(shutil.which("setpriv")) and not subprocess.call([*_WITHOUT, "true"], stderr=-3)


drops = pytest.mark.skipif(not can_drop(), reason="only root with setpriv can drop a capability")


def sleeper(code: str = "") -> tuple[str, ...]:
    """A Python that does `code`, says so, and then sleeps in a function of its own."""
    text = (
        f"import os, sys, time\n{code}\nprint('up', flush=True)\n"
        "def sleep_in_the_test():\n    time.sleep(300)\nsleep_in_the_test()\n"
    )
    return (sys.executable, "-c", text)


def powerless(folder: Path) -> Host:
    """This machine, as an agent sees it that may not trace what has more rights."""
    python = folder / "python-without-a-right"
    python.write_text(f'#!/bin/sh\nexec {" ".join(_WITHOUT)} "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    return Host(name="local", python=str(python))


async def until(is_so: Callable[[], bool]) -> None:
    """Returns once another process has done its part."""
    async with asyncio.timeout(LIMIT_S):
        while not is_so():
            await asyncio.sleep(0.01)


def state_of(pid: int) -> str:
    """The letter that the kernel has for what a process does."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def is_running(pid: int) -> bool:
    """Whether a process lives and is no zombie."""
    return Path(f"/proc/{pid}").exists() and state_of(pid) != "Z"
