"""What a launch makes and leaves, what it refuses, and what the server gets."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from launched import Launcher, exit_of, log_of, run_of

from firedup.core.model import ServerSpec
from firedup.host.base import OperationError
from firedup.host.launch import launch_server
from firedup.host.link import Agent
from firedup.host.manifest import Hook, Manifest
from firedup.host.run import find_run, list_runs, watch_run


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
