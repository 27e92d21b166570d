"""Runs that are armed: their Python processes tell their stacks when they are asked by a signal."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from launched import Launcher, log_of
from stacked import LIMIT_S, is_running, state_of, until

from firedup.host.agent.armed import ARM_SIGNAL
from firedup.host.launch import Launch
from firedup.host.link import Agent
from firedup.host.process import sample_tree
from firedup.host.stack import ProcessStack, take_stacks

# Outside the virtual environment, so that no py-spy lies beside it.
PYTHON = sys._base_executable  # type: ignore[attr-defined]  # known to no stub
_SERVER = """
import multiprocessing, os, sys, time

def hang_spawned():
    print("up", os.getpid(), "spawned", flush=True)
    time.sleep(300)

def hang_forked():
    print("up", os.getpid(), "forked", flush=True)
    time.sleep(300)

def hang_main():
    print("up", os.getpid(), "main", getattr(sys, "user_ran", ""), flush=True)
    time.sleep(300)

if __name__ == "__main__":
    multiprocessing.get_context("spawn").Process(target=hang_spawned, daemon=True).start()
    multiprocessing.get_context("fork").Process(target=hang_forked, daemon=True).start()
    hang_main()
"""
_ONE = """
import os, time
def hang():
    print("up", os.getpid(), "main", flush=True)
    time.sleep(300)
hang()
"""


@dataclass
class Server:
    launched: Launch
    pids: dict[str, int]
    words: dict[str, list[str]]

    @property
    def folder(self) -> Path:
        return Path(self.launched.folder)


@pytest.fixture
def blind(tmp_path: Path) -> dict[str, str]:
    """The environment of a server whose py-spy can read nothing."""
    folder = tmp_path / "blind"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "py-spy").write_text('#!/bin/sh\necho "Error: it is blind" >&2\nexit 1\n')
    (folder / "py-spy").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


async def serving(agent: Agent, launched: Launch, count: int) -> Server:
    """The server once `count` of its processes have said that they are up."""
    async with asyncio.timeout(LIMIT_S):
        while (log := (await log_of(agent, launched)).decode()).count("up ") < count:
            await asyncio.sleep(0.02)
    rows = [line.split() for line in log.splitlines() if line.startswith("up ")]
    return Server(launched, {row[2]: int(row[1]) for row in rows}, {row[2]: row for row in rows})


@pytest.fixture
async def armed(agent: Agent, launch: Launcher, blind: dict[str, str]) -> Server:
    """A server of one process."""
    return await serving(agent, await launch(PYTHON, "-c", _ONE, env=blind, arms_stacks=True), 1)


async def ask(agent: Agent, *pids: int, is_armed: bool = True) -> dict[int, ProcessStack]:
    found = await take_stacks(agent, pids, limit_s=LIMIT_S, is_armed=is_armed)
    return {one.pid: one for one in found.taken}


async def test_spawned_and_forked_children_tell_beside_the_users_own_sitecustomize(
    agent: Agent, launch: Launcher, blind: dict[str, str], tmp_path: Path
) -> None:
    user = tmp_path / "user"
    user.mkdir()
    (user / "sitecustomize.py").write_text("import sys\nsys.user_ran = __name__\n")
    (tmp_path / "server.py").write_text(_SERVER)
    env = {**blind, "PYTHONPATH": str(user)}
    launched = await launch(PYTHON, str(tmp_path / "server.py"), env=env, arms_stacks=True)
    server = await serving(agent, launched, 3)
    pids = [process.pid for process in (await sample_tree(agent, server.pids["main"])).processes]
    found = await ask(agent, *pids)

    for name, pid in server.pids.items():
        assert found[pid].by == "faulthandler"
        assert f"in hang_{name}\n" in found[pid].text
        assert found[pid].text.count("most recent call first") == 1
        assert found[pid].why_not == "py-spy says: it is blind"
        assert (server.folder / "stacks" / f"{pid}.txt").stat().st_mode & 0o777 == 0o600
    assert all(map(is_running, pids))
    assert server.words["main"][3] == "sitecustomize"


async def test_only_what_is_new_in_a_file_counts(agent: Agent, armed: Server) -> None:
    pid = armed.pids["main"]
    path = armed.folder / "stacks" / f"{pid}.txt"
    with path.open("ab") as file:
        file.write(b"\xff\xfe not a stack\n" * 100_000)
    first = (await ask(agent, pid))[pid]
    second = (await ask(agent, pid))[pid]

    assert "not a stack" not in first.text
    assert first.text == second.text
    assert path.stat().st_size < 10_000


async def test_one_that_is_stopped_gets_no_signal(agent: Agent, armed: Server) -> None:
    pid = armed.pids["main"]
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: state_of(pid) == "T")
    one = (await ask(agent, pid))[pid]
    pending = Path(f"/proc/{pid}/status").read_text().partition("ShdPnd:")[2].split()[0]

    assert (one.by, one.state) == ("kernel", "T")
    assert one.why_not.endswith("; it is stopped, and so answers no signal")
    assert int(pending, 16) >> (ARM_SIGNAL - 1) & 1 == 0


async def test_a_server_that_was_not_said_to_be_armed_gets_no_signal(
    agent: Agent, armed: Server
) -> None:
    pid = armed.pids["main"]
    one = (await ask(agent, pid, is_armed=False))[pid]

    assert one.by == "kernel"
    assert (armed.folder / "stacks" / f"{pid}.txt").read_bytes() == b""


async def test_a_process_without_a_handler_is_never_signalled(
    agent: Agent, launch: Launcher, blind: dict[str, str]
) -> None:
    code = (
        "import os, sys, time; print('up', os.getpid(), sys.argv[1], flush=True); time.sleep(300)"
    )
    words = " & ".join(f'{PYTHON} {flag} -c "$0" {flag}' for flag in ("-I", "-E", "-S"))
    launched = await launch("sh", "-c", f"{words} & wait", code, env=blind, arms_stacks=True)
    server = await serving(agent, launched, 3)
    pids = [launched.server.pid, *server.pids.values()]  # the shell is no Python at all
    found = await ask(agent, *pids)

    assert [found[pid].by for pid in pids] == ["kernel"] * 4
    assert all("it is not armed: it does not catch signal 50" in found[p].why_not for p in pids)
    assert all(map(is_running, pids))


async def test_a_handler_of_the_servers_own_is_never_called(
    agent: Agent, launch: Launcher, blind: dict[str, str]
) -> None:
    code = f"""
import os, signal, time
signal.signal({ARM_SIGNAL}, lambda *_: os._exit(3))
for number in range(3, 64):  # and it has closed all that it did not open
    try:
        os.close(number)
    except OSError:
        pass
print("up", os.getpid(), "main", flush=True)
time.sleep(300)
"""
    launched = await launch(PYTHON, "-c", code, env=blind, arms_stacks=True)
    pid = (await serving(agent, launched, 1)).pids["main"]
    one = (await ask(agent, pid))[pid]

    assert one.by == "kernel"
    assert "another handler" in one.why_not
    assert is_running(pid)


async def test_a_set_up_that_sets_the_path_anew_does_not_disarm(
    agent: Agent, launch: Launcher, blind: dict[str, str]
) -> None:
    launched = await launch(
        PYTHON, "-c", _ONE, env=blind, setup="set -eu\nexport PYTHONPATH=/nowhere", arms_stacks=True
    )
    pid = (await serving(agent, launched, 1)).pids["main"]
    one = (await ask(agent, pid))[pid]

    assert one.by == "faulthandler"
    assert "in hang\n" in one.text


@pytest.mark.skipif(
    bool(subprocess.call(["unshare", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL))
    if shutil.which("unshare")
    else True,
    reason="only root with unshare can make a name space of processes",
)
async def test_one_in_a_name_space_of_its_own_is_known_by_its_number_there(
    agent: Agent, launch: Launcher, blind: dict[str, str]
) -> None:
    words = ("unshare", "--pid", "--fork", "--kill-child", PYTHON, "-c", _ONE)
    launched = await launch(*words, env=blind, arms_stacks=True)
    server = await serving(agent, launched, 1)
    tree = (await sample_tree(agent, launched.server.pid)).processes
    pid = next(process.pid for process in tree if process.name.startswith("python"))
    one = (await ask(agent, pid))[pid]

    assert server.pids["main"] == 1
    assert (one.pid, one.by) == (pid, "faulthandler")
    assert "in hang\n" in one.text


async def test_processes_that_end_leave_no_empty_files(
    agent: Agent, launch: Launcher, blind: dict[str, str]
) -> None:
    code = """
import os, subprocess, sys, time
for _ in range(3):
    subprocess.check_call([sys.executable, "-c", "pass"])
print("up", os.getpid(), "main", flush=True)
time.sleep(300)
"""
    launched = await launch(PYTHON, "-c", code, env=blind, arms_stacks=True)
    server = await serving(agent, launched, 1)

    left = [path.name for path in (server.folder / "stacks").iterdir()]
    assert left == [f"{server.pids['main']}.txt"]


async def test_a_run_that_is_not_armed_has_nothing_of_it(agent: Agent, launch: Launcher) -> None:
    code = "import os; print('up', os.getpid(), os.environ.get('PYTHONPATH'), flush=True)"
    launched = await launch(PYTHON, "-c", code, env={"PYTHONPATH": "/mine"})
    server = await serving(agent, launched, 1)

    assert "/mine" in server.pids
    assert not (server.folder / "armed").exists()
    assert not (server.folder / "stacks").exists()


OLD = [
    path
    for path in sorted(Path.home().glob(".pyenv/versions/*/bin/python"))
    if not path.resolve().samefile(PYTHON)
]


@pytest.mark.skipif(not OLD, reason="no other Python here")
async def test_every_python_there_is_can_be_armed_or_is_left_alone(
    agent: Agent, launch: Launcher, blind: dict[str, str]
) -> None:
    code = """
import os, sys, time
def hang():
    sys.stdout.write("up %d %d.%d\\n" % (os.getpid(), sys.version_info[0], sys.version_info[1]))
    sys.stdout.flush()
    time.sleep(300)
hang()
"""
    words = " & ".join(f'{path} -c "$0"' for path in OLD)
    launched = await launch("sh", "-c", f"{words} & wait", code, env=blind, arms_stacks=True)
    server = await serving(agent, launched, len(OLD))
    found = await ask(agent, *server.pids.values())

    for version, pid in server.pids.items():
        is_old = version.startswith("2.")
        assert (version, found[pid].by) == (version, "kernel" if is_old else "faulthandler")
        assert is_old or "in hang\n" in found[pid].text
        assert is_running(pid)
    assert b"sitecustomize" not in await log_of(agent, launched)
