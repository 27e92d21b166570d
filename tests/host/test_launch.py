import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest

from firedup.core.event import KeeperGone, Sample
from firedup.core.model import ServerSpec
from firedup.host.base import OperationError, local_host
from firedup.host.file import read_file
from firedup.host.launch import Launch, launch_server
from firedup.host.link import Agent, open_agent
from firedup.host.manifest import Hook, Manifest
from firedup.host.process import find_members, sample_tree, send_signal, wait_gone
from firedup.host.run import ServerExit, find_run, follow_samples, list_runs, watch_run

LIMIT_S = 100.0

Launcher = Callable[..., Awaitable[Launch]]


def run_of(launched: Launch) -> str:
    return Path(launched.folder).name


async def exit_of(agent: Agent, launched: Launch) -> ServerExit:
    async with asyncio.timeout(LIMIT_S), aclosing(watch_run(agent, run_of(launched))) as events:
        async for event in events:
            if isinstance(event, ServerExit):
                return event
    raise AssertionError("the run was left without an exit")


def samples_of(agent: Agent, launched: Launch) -> aclosing[AsyncGenerator[Sample, None]]:
    return aclosing(follow_samples(agent, launched.folder))


async def log_of(agent: Agent, launched: Launch) -> bytes:
    return await read_file(agent, launched.log)


async def test_the_exit_code_is_recorded(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sh", "-c", "echo out; echo err >&2; exit 7")
    ended = await exit_of(agent, launched)

    assert (ended.event.code, ended.event.signal) == (7, None)
    assert ended.event.pid == launched.server.pid
    assert ended.event.survivors == ()
    assert ended.error is None
    assert await log_of(agent, launched) == b"out\nerr\n"


async def test_the_signal_is_recorded(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sh", "-c", "kill -SEGV $$")
    ended = await exit_of(agent, launched)

    assert (ended.event.code, ended.event.signal) == (None, signal.SIGSEGV)


async def test_the_run_folder_is_private_and_complete(agent: Agent, launch: Launcher) -> None:
    launched = await launch("true", env={"HF_TOKEN": "secret"}, hooks=(Hook("ready", "true"),))
    await exit_of(agent, launched)
    folder = Path(launched.folder)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {f.name: f.stat().st_mode & 0o777 for f in folder.iterdir()} == dict.fromkeys(
        ["manifest.json", "server.log", "keeper.json", "keeper.log", "samples.jsonl", "exit.json"],
        0o600,
    )
    keeper = json.loads((folder / "keeper.json").read_text())
    assert keeper["server"] == {
        "pid": launched.server.pid,
        "start_ticks": launched.server.start_ticks,
        "pgid": launched.server.pid,
        "sid": launched.server.pid,
    }
    assert (folder / "keeper.log").read_text() == ""


async def test_a_run_is_found_again_with_what_was_launched(agent: Agent, launch: Launcher) -> None:
    spec = ServerSpec(argv=("sleep", "60"), engine="sglang", port=30000)
    launched = await launch("sleep", "60", spec=spec, timeout_s=5.0, cwd="/")
    run = await find_run(agent, run_of(launched))

    assert run.manifest is not None
    assert run.manifest.spec == spec
    assert run.manifest.argv == ("sleep", "60")
    assert run.manifest.log == launched.log
    assert run.manifest.boot_id == agent.hello["boot_id"]
    assert run.manifest.launched is not None
    assert run.manifest.launched.boottime_ns > agent.hello["boottime_ns"]
    assert (run.server, run.keeper) == (launched.server, launched.keeper)
    assert run.exit is None
    assert (run.is_server_alive, run.is_keeper_alive, run.is_unkept) == (True, True, False)
    assert [r.id for r in await list_runs(agent)] == [run.id]


async def test_a_run_that_is_not_there_is_said(agent: Agent) -> None:
    with pytest.raises(OperationError) as caught:
        await find_run(agent, "20260101-000000-nothing")
    assert caught.value.code == "not-found"
    with pytest.raises(OperationError, match="there is no run"):
        await anext(watch_run(agent, "20260101-000000-nothing"))


async def test_an_id_is_used_once(agent: Agent, launch: Launcher) -> None:
    await launch_server(agent, Manifest("same", "a", ("true",)))
    with pytest.raises(OperationError) as caught:
        await launch_server(agent, Manifest("same", "a", ("true",)))

    assert caught.value.code == "exists"


@pytest.mark.parametrize("bad", ["../up", "", ".hidden", "a b", "a/b"])
async def test_an_id_cannot_leave_the_runs_folder(agent: Agent, bad: str) -> None:
    with pytest.raises(OperationError) as caught:
        await launch_server(agent, Manifest(bad, "a", ("true",)))

    assert caught.value.code == "bad-request"


async def test_a_program_that_is_not_there_fails_the_launch_and_leaves_its_exit(
    agent: Agent, launch: Launcher
) -> None:
    with pytest.raises(OperationError, match="no-such-server cannot be executed") as caught:
        await launch("no-such-server", "--port", "1")
    (run,) = await list_runs(agent)

    assert caught.value.code == "exec-failed"
    assert caught.value.evidence == "ENOENT"
    assert run.exit is not None
    assert run.exit.event.code == 127
    assert run.exit.error == "no-such-server cannot be executed: No such file or directory"


async def test_a_file_that_is_no_program_fails_the_launch(
    agent: Agent, launch: Launcher, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("x")
    with pytest.raises(OperationError, match="Permission denied") as caught:
        await launch(str(tmp_path / "data"))
    (run,) = await list_runs(agent)

    assert caught.value.evidence == "EACCES"
    assert run.exit is not None
    assert run.exit.event.code == 126


async def test_a_working_folder_that_is_not_there_fails_the_launch(launch: Launcher) -> None:
    with pytest.raises(OperationError, match="working folder /nowhere cannot be entered"):
        await launch("true", cwd="/nowhere")


async def test_a_log_that_cannot_be_opened_fails_the_launch(
    launch: Launcher, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OperationError, match=r"the log .*file/x\.log cannot be opened"):
        await launch("true", log=str(tmp_path / "file" / "x.log"))


async def test_a_log_that_is_a_pipe_fails_the_launch_and_is_not_waited_for(
    launch: Launcher, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        OperationError, match="cannot be opened: It is a pipe or a device"
    ) as caught:
        await launch("true", log=str(tmp_path / "pipe"))
    with pytest.raises(OperationError, match="It is a pipe or a device"):
        await launch("true", log="/dev/zero")

    assert (caught.value.code, caught.value.evidence) == ("exec-failed", "EINVAL")


async def test_a_log_may_be_the_null_device(agent: Agent, launch: Launcher) -> None:
    ended = await exit_of(agent, await launch("sh", "-c", "echo one; exit 3", log=os.devnull))

    assert (ended.event.code, ended.error) == (3, None)


async def test_a_server_whose_keeper_cannot_be_recorded_is_ended_and_the_launch_fails(
    agent: Agent, is_alive: Callable[[int], bool]
) -> None:
    blocked = Path(agent.hello["runs_folder"], "one", "keeper.json")
    manifest = Manifest("one", "a", ("sh", "-c", "sleep 60"), log=str(blocked / "x.log"))
    with pytest.raises(OperationError, match=r"keeper\.json cannot be written") as caught:
        await launch_server(agent, manifest)
    run = await find_run(agent, "one")

    assert (caught.value.code, caught.value.evidence) == ("exec-failed", "EISDIR")
    assert run.exit is not None
    assert run.exit.error == "keeper.json cannot be written: Is a directory"
    assert not is_alive(run.exit.event.pid)
    assert [path.name for path in blocked.parent.glob("*.new")] == []


async def test_an_end_that_cannot_be_written_is_kept_until_it_can(
    agent: Agent, launch: Launcher
) -> None:
    launched = await launch("sh", "-c", "read x < go; exit 7", cwd=fifo_in(agent))
    folder = Path(launched.folder)
    (folder / "exit.json").mkdir()
    (Path(fifo_in(agent)) / "go").write_text("\n")
    await wait_gone(agent, launched.server.pid, launched.server.start_ticks, timeout_s=LIMIT_S)
    async with asyncio.timeout(LIMIT_S):
        while "exit.json not written" not in (folder / "keeper.log").read_text():
            await agent.call("clock")
    (folder / "exit.json").rmdir()
    ended = await exit_of(agent, launched)

    assert (ended.event.code, ended.error) == (7, None)
    assert list(folder.glob("*.new")) == []
    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)


async def test_a_keeper_ends_when_its_run_folder_is_removed(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sleep", "60")
    Path(launched.folder).rename(Path(launched.folder + "-gone"))
    os.kill(launched.server.pid, signal.SIGTERM)

    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)


def fifo_in(agent: Agent) -> str:
    """A folder with a pipe called go, by which a test says when its server shall end."""
    folder = Path(agent.hello["state_folder"])
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "go").exists():
        os.mkfifo(folder / "go")
    return str(folder)


async def test_the_log_may_be_elsewhere_and_is_continued(
    agent: Agent, launch: Launcher, tmp_path: Path
) -> None:
    log = tmp_path / "new folder" / "my.log"
    first = await launch("echo", "one", log=str(log))
    await exit_of(agent, first)
    second = await launch("echo", "two", log=str(log))
    await exit_of(agent, second)

    assert (first.log_start, second.log_start) == (0, 4)
    assert second.log == str(log)
    assert log.read_bytes() == b"one\ntwo\n"


async def test_the_command_is_executed_and_not_parsed(agent: Agent, launch: Launcher) -> None:
    launched = await launch(sys.executable, "-c", "import sys; print(sys.argv[1:])", "$HOME; *", "")
    await exit_of(agent, launched)

    assert await log_of(agent, launched) == b"['$HOME; *', '']\n"


async def test_the_server_gets_its_environment_and_an_unbuffered_output(
    agent: Agent, launch: Launcher
) -> None:
    code = "import os; print([os.environ.get(n) for n in ('A', 'PYTHONUNBUFFERED', 'FIREDUP_RUN')])"
    launched = await launch(sys.executable, "-c", code, env={"A": "1 2"})
    await exit_of(agent, launched)

    assert await log_of(agent, launched) == f"['1 2', '1', '{run_of(launched)}']\n".encode()


async def test_a_setup_runs_before_the_command_and_does_not_touch_it(
    agent: Agent, launch: Launcher
) -> None:
    launched = await launch("sh", "-c", 'echo "$X:$1"', "-", "a  $b", setup="X=5; export X\ncd /")
    await exit_of(agent, launched)

    assert await log_of(agent, launched) == b"5:a  $b\n"


async def test_a_login_reads_the_profile(agent: Agent, launch: Launcher, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("export FROM_PROFILE=yes\n")
    launched = await launch(
        "sh", "-c", "echo $FROM_PROFILE", login=True, env={"HOME": str(tmp_path)}
    )
    await exit_of(agent, launched)

    assert (await log_of(agent, launched)).endswith(b"yes\n")


async def test_the_server_begins_with_default_signals_and_no_input(
    agent: Agent, launch: Launcher
) -> None:
    code = (
        "import signal, sys, os; print(repr(sys.stdin.read()), "
        "signal.getsignal(signal.SIGINT) is signal.default_int_handler, "
        "signal.pthread_sigmask(signal.SIG_BLOCK, []), sorted(os.listdir('/proc/self/fd'))[:4])"
    )
    launched = await launch(sys.executable, "-c", code)
    await exit_of(agent, launched)

    assert await log_of(agent, launched) == b"'' True set() ['0', '1', '2', '3']\n"


async def test_helpers_that_outlive_the_server_are_named(
    agent: Agent, launch: Launcher, is_alive: Callable[[int], bool]
) -> None:
    launched = await launch("sh", "-c", "sleep 60 & echo $!; exit 3")
    ended = await exit_of(agent, launched)
    helper = int(await log_of(agent, launched))

    assert ended.event.code == 3
    assert ended.event.survivors == (helper,)
    assert [s.pid for s in ended.survivors] == [helper]
    assert is_alive(launched.keeper.pid)

    members = await find_members(agent, run_of(launched))
    assert [m.pid for m in members] == [helper]
    survivor = ended.survivors[0]
    await send_signal(agent, survivor.pid, survivor.start_ticks, "SIGKILL")
    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)
    assert not is_alive(helper)


async def test_helpers_that_overwrote_their_environment_are_known_by_their_session(
    agent: Agent, launch: Launcher
) -> None:
    launched = await launch("sh", "-c", "env -i sleep 60 & echo $!; exit 3")
    await exit_of(agent, launched)
    helper = int(await log_of(agent, launched))
    server = (launched.server.pid, launched.server.start_ticks)

    assert await find_members(agent, run_of(launched)) == ()
    assert [m.pid for m in await find_members(agent, run_of(launched), server)] == [helper]
    other = (await launch("sleep", "60")).server
    stranger = (other.pid, other.start_ticks - 1)  # the number of a session of somebody else
    assert await find_members(agent, run_of(launched), stranger) == ()


async def test_grandchildren_that_lost_their_parent_stay_in_the_tree(
    agent: Agent, launch: Launcher
) -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        print(os.getpid(), flush=True)\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "time.sleep(60)\n"
    )
    launched = await launch(sys.executable, "-c", code)
    log = b""
    async with (
        asyncio.timeout(LIMIT_S),
        aclosing(follow_samples(agent, launched.folder)) as samples,
    ):
        async for sample in samples:
            log = await log_of(agent, launched)
            if log and int(log) in [p.pid for p in sample.processes]:
                break

    assert sample.processes[0].pid == launched.server.pid
    assert {p.pid: p.parent for p in sample.processes}[int(log)] == launched.keeper.pid
    assert sample.log_size >= 0
    assert sample.memory_available_bytes is not None


async def test_orphans_that_end_are_reaped_by_the_keeper(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sh", "-c", "(sh -c 'exec true' & ) ; sleep 60")
    async with (
        asyncio.timeout(LIMIT_S),
        aclosing(follow_samples(agent, launched.folder)) as samples,
    ):
        async for sample in samples:
            if len(sample.processes) == 2:
                break

    zombies = [p for p in psutil.Process(launched.keeper.pid).children() if p.status() == "zombie"]
    assert zombies == []


CLIENT = """
import asyncio
from firedup.host.base import local_host
from firedup.host.launch import launch_server
from firedup.host.link import open_agent
from firedup.host.manifest import Manifest

async def main():
    async with open_agent(local_host()) as agent:
        argv = ("sh", "-c", "read x < go; exit 5")
        await launch_server(agent, Manifest("alone", "alone", argv, cwd="CWD"))
        print("launched", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_keeper_and_the_server_survive_their_client(
    state: Path, is_alive: Callable[[int], bool]
) -> None:
    code = CLIENT.replace("CWD", str(state.parent))
    os.mkfifo(state.parent / "go")
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout is not None
    assert await client.stdout.readline() == b"launched\n"
    client.kill()
    await client.wait()

    async with open_agent(local_host()) as agent:
        run = await find_run(agent, "alone")
        assert run.is_server_alive
        assert run.is_keeper_alive
        await asyncio.to_thread((state.parent / "go").write_text, "x\n")
        async with asyncio.timeout(LIMIT_S):
            (event,) = [event async for event in watch_run(agent, "alone")]

    assert isinstance(event, ServerExit)
    assert event.event.code == 5


async def test_a_keeper_that_is_killed_leaves_its_server_unkept(
    agent: Agent, launch: Launcher, is_alive: Callable[[int], bool]
) -> None:
    launched = await launch("sleep", "60")
    async with asyncio.timeout(LIMIT_S), aclosing(watch_run(agent, run_of(launched))) as events:
        os.kill(launched.keeper.pid, signal.SIGKILL)
        first = await anext(events)
        run = await find_run(agent, run_of(launched))
        os.kill(launched.server.pid, signal.SIGKILL)
        second = await anext(events)

    assert isinstance(first, KeeperGone)
    assert run.is_unkept
    assert isinstance(second, ServerExit)
    assert (second.event.code, second.event.signal) == (None, None)
    assert second.error == "the keeper is gone, so that nobody saw how the server ended"


async def test_a_keeper_heeds_no_gentle_signal(
    agent: Agent, launch: Launcher, is_alive: Callable[[int], bool]
) -> None:
    launched = await launch("sleep", "60")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(launched.keeper.pid, number)
    os.kill(launched.server.pid, signal.SIGTERM)
    ended = await exit_of(agent, launched)

    assert ended.event.signal == signal.SIGTERM


async def test_a_run_of_an_earlier_boot_has_ended_unseen(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sleep", "60")
    path = Path(launched.folder, "keeper.json")
    keeper = json.loads(path.read_text())
    path.write_text(json.dumps({**keeper, "boot_id": "another"}))
    ended = await exit_of(agent, launched)

    assert ended.error == "the host was started again"
    assert not (await find_run(agent, run_of(launched))).is_server_alive


async def test_samples_come_again_from_the_moment_asked_for(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sleep", "60")
    async with asyncio.timeout(LIMIT_S):
        async with aclosing(follow_samples(agent, launched.folder)) as samples:
            first, second = await anext(samples), await anext(samples)
        async with aclosing(
            follow_samples(agent, launched.folder, since_ns=first.at_ns)
        ) as samples:
            again = await anext(samples)

    assert again == second
    assert second.at_ns > first.at_ns
    assert first.processes[0].name == "sleep"


async def test_samples_that_were_rotated_come_first(agent: Agent, launch: Launcher) -> None:
    launched = await launch("true")
    await exit_of(agent, launched)
    folder = Path(launched.folder)
    line = (folder / "samples.jsonl").read_text().splitlines()[0]
    old = json.dumps({**json.loads(line), "at_ns": 5})
    (folder / "samples.1.jsonl").write_text(old + "\n")
    async with asyncio.timeout(LIMIT_S):
        async with aclosing(follow_samples(agent, launched.folder)) as samples:
            first, second = await anext(samples), await anext(samples)
        async with aclosing(follow_samples(agent, launched.folder, since_ns=5)) as samples:
            later = await anext(samples)

    assert first.at_ns == 5
    assert second.at_ns == json.loads(line)["at_ns"]
    assert later == second


async def test_a_sample_knows_memory_and_the_ports_of_the_tree(
    agent: Agent, launch: Launcher
) -> None:
    code = (
        "import os, socket, time\n"
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
        "print(s.getsockname()[1], flush=True)\n"
        "x = bytearray(50_000_000)\n"
        "time.sleep(60)\n"
    )
    launched = await launch(sys.executable, "-c", code)
    async with (
        asyncio.timeout(LIMIT_S),
        aclosing(follow_samples(agent, launched.folder)) as samples,
    ):
        async for sample in samples:
            if sample.ports and sample.processes[0].rss_bytes > 50_000_000:
                break
    asked = await sample_tree(agent, launched.server.pid, log=launched.log)

    assert sample.ports == (int(await log_of(agent, launched)),)
    assert sample.processes[0].cpu_s >= 0
    assert asked.ports == sample.ports
    assert asked.log_size == sample.log_size
