"""Servers that were launched over SSH outlive the link, its processes and logind."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from workbench import Knowledge, Site, free_port, last_of

from firedup.core.model import Verdict
from firedup.host.address import parse_host
from firedup.host.base import LinkError
from firedup.host.link import Agent, open_agent
from firedup.session.registry import find_run
from tests.ssh_server import Boxes, SshBox

WAITER = """
    import time
    print("INFO: Load weight begin. avail mem=10 GB", flush=True)
    time.sleep(600)
"""


# What systemd-run does in the end: become the program after its options.
PASS_ON = 'while test "$1" != --; do shift; done; shift; exec "$@"'


def kill_all_of_ssh(box: SshBox) -> None:
    """Sessions on the host, clients here, and the shared connection."""
    box.kill_sessions()
    sockets = os.environ["XDG_RUNTIME_DIR"]
    for process in psutil.process_iter():
        try:
            if process.name() == "ssh" and sockets in " ".join(process.cmdline()):
                process.kill()
        except psutil.Error:
            continue


async def until_broken(agent: Agent) -> None:
    async with asyncio.timeout(20):
        while True:
            await agent.call("clock")


@pytest.mark.parametrize("kind", ["asyncssh", "sshd"])
async def test_server_and_keeper_live_on_when_all_of_ssh_is_killed(
    kind: str,
    ssh_boxes: Boxes,
    knowledge: Knowledge,
    tmp_path: Path,
    is_running: Callable[[int], bool],
) -> None:
    box = ssh_boxes("box", kind=kind)
    async with open_agent(parse_host("box")) as agent:
        site = Site(agent, knowledge, tmp_path / "bin", free_port())
        run = await site.launch(site.serve(site.program(WAITER)))
        assert run.state.keeper is not None
        assert run.state.server is not None
        kill_all_of_ssh(box)
        with pytest.raises(LinkError):
            await until_broken(agent)

    assert is_running(run.state.keeper.pid)
    assert is_running(run.state.server.pid)
    async with open_agent(parse_host("box")) as agent:
        again = await find_run(agent, run.label.id)
        assert again.state.is_server_alive
        assert again.state.is_keeper_alive
        os.kill(run.state.server.pid, signal.SIGKILL)
        last = await last_of(site.watch(again, agent))
    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_signal == signal.SIGKILL


@pytest.fixture
def is_running() -> Callable[[int], bool]:
    def ask(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return ask


class Logind:
    """Stand-ins for loginctl and systemd-run on a host."""

    def __init__(self, box: SshBox) -> None:
        self._bin = box.folder / "bin"
        self.called = box.folder / "systemd-run.argv"
        box.before("export XDG_SESSION_ID=7\n")

    def say(self, *, kills: str, linger: str = "no") -> None:
        words = f"KillUserProcesses={kills}\\nKillExcludeUsers=nobody\\nLinger={linger}\\n"
        self._write("loginctl", f"printf '{words}'")

    def scope(
        self, ending: str = 'while test "$1" != --; do shift; done; shift; exec "$@"'
    ) -> None:
        self._write("systemd-run", f'echo "$@" > {self.called}; {ending}')

    def _write(self, name: str, body: str) -> None:
        (self._bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (self._bin / name).chmod(0o755)


@pytest.mark.parametrize(
    ("kills", "linger", "has_scope", "note"),
    [
        ("no", "no", False, None),
        ("yes", "yes", True, None),
        ("yes", "no", True, "loginctl enable-linger"),
    ],
)
async def test_where_logind_ends_processes_the_keeper_gets_a_scope_of_its_own(
    ssh_boxes: Boxes,
    knowledge: Knowledge,
    tmp_path: Path,
    kills: str,
    linger: str,
    *,
    has_scope: bool,
    note: str | None,
) -> None:
    box = ssh_boxes("box")
    logind = Logind(box)
    logind.say(kills=kills, linger=linger)
    logind.scope()
    async with open_agent(parse_host("box")) as agent:
        site = Site(agent, knowledge, tmp_path / "bin", free_port())
        run = await site.launch(site.serve(site.program("print('hello')")))
        last = await site.conclude(run)

    assert logind.called.exists() is has_scope
    if has_scope:
        assert logind.called.read_text().startswith("--user --scope ")
    assert last.explanation.exited
    assert [n for n in last.explanation.notes if "logout" in n] == list(run.manifest.notes)
    assert any(note in said for said in run.manifest.notes) if note else not run.manifest.notes


async def test_without_a_manager_of_the_user_the_keeper_starts_as_elsewhere(
    ssh_boxes: Boxes, knowledge: Knowledge, tmp_path: Path
) -> None:
    logind = Logind(ssh_boxes("box"))
    logind.say(kills="yes")
    logind.scope("echo 'Failed to connect to bus' >&2; exit 1")
    async with open_agent(parse_host("box")) as agent:
        site = Site(agent, knowledge, tmp_path / "bin", free_port())
        run = await site.launch(site.serve(site.program("print('hello')")))

    assert logind.called.exists()
    assert run.state.server is not None
