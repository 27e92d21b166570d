"""Files in /proc that stay open between two looks: always fresh, and given back."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from firedup.host.agent.look import Files, Stat
from firedup.host.link import Agent
from firedup.host.process import watch_tree


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def held_by(pid: int) -> list[str]:
    """The files of other processes in /proc that a process has open."""
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the folder's own
            links.append(str(link.readlink()))
    return [link for link in links if link.startswith("/proc/") and not link.endswith("/fd")]


def test_each_look_shows_what_is_so_now(sleeper: "subprocess.Popen[bytes]") -> None:
    files = Files()
    before = Stat(files.read(sleeper.pid, "stat") or b"")
    os.kill(sleeper.pid, signal.SIGSTOP)
    os.waitpid(sleeper.pid, os.WUNTRACED)

    after = Stat(files.read(sleeper.pid, "stat") or b"")
    files.keep(())

    assert before.ticks == after.ticks
    assert (before.state in "RSD", after.state) == (True, "T")


def test_a_process_that_is_gone_is_no_longer_held(sleeper: "subprocess.Popen[bytes]") -> None:
    files = Files()
    files.read(sleeper.pid, "stat")
    was_held = len(held_by(os.getpid()))
    sleeper.kill()
    sleeper.wait()

    assert files.read(sleeper.pid, "stat") is None
    assert (was_held, held_by(os.getpid())) == (1, [])


async def test_a_watch_gives_its_files_back(
    agent: Agent, sleeper: "subprocess.Popen[bytes]"
) -> None:
    pid = agent.hello["pid"]
    async with aclosing(watch_tree(agent, sleeper.pid, every_s=60.0)) as samples:
        await anext(samples)
        during = {link.split("/")[2] for link in held_by(pid)}
    await agent.call("clock")

    assert during == {str(sleeper.pid)}
    assert held_by(pid) == []
