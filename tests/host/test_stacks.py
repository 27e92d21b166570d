import os
import subprocess
import sys
from pathlib import Path

import pytest
from children import child
from stacked import LIMIT_S, drops, may_trace, powerless, sleeper, state_of, until

from firedup.host.agent.ptrace import refuse_tracing
from firedup.host.agent.pyspy import distrust, find_pyspy
from firedup.host.base import OperationError
from firedup.host.link import Agent, open_agent
from firedup.host.stack import ProcessStack, take_stacks


async def one_of(agent: Agent, pid: int, *, is_armed: bool = False) -> ProcessStack:
    (one,) = (await take_stacks(agent, [pid], limit_s=LIMIT_S, is_armed=is_armed)).taken
    return one


@may_trace
async def test_py_spy_tells_where_a_python_process_is(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        one = await one_of(agent, process.pid)

    assert (one.pid, one.by, one.state, one.why_not) == (process.pid, "py-spy", "S", "")
    assert f"Process {process.pid}: " in one.text
    assert "    sleep_in_the_test (<string>:" in one.text
    assert one.kernel.startswith(f"thread {process.pid} (")
    assert one.starttime > 0
    assert one.title


@may_trace
async def test_a_stopped_process_is_read_and_stays_stopped(agent: Agent) -> None:
    code = "import signal; signal.signal(50, lambda *_: print('called', flush=True))"
    async with child(*sleeper(code)) as process:
        process.send_signal(19)  # SIGSTOP
        await until(lambda: state_of(process.pid) == "T")
        one = await one_of(agent, process.pid, is_armed=True)
        state = state_of(process.pid)

    assert (one.by, one.state, state) == ("py-spy", "T", "T")
    assert "sleep_in_the_test" in one.text


@may_trace
async def test_one_that_cannot_be_interrupted_is_read_too(agent: Agent, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The parent waits for its child's exec, and the child for somebody who writes into the pipe.
    code = f"""
def spawn_for_ever():
    action = (os.POSIX_SPAWN_OPEN, 0, {str(pipe)!r}, os.O_RDONLY, 0)
    os.posix_spawn("/bin/true", ["true"], {{}}, file_actions=[action])
print("up", flush=True)
spawn_for_ever()
"""
    async with child(*sleeper(code)) as process:
        await until(lambda: state_of(process.pid) == "D")
        one = await one_of(agent, process.pid, is_armed=True)

    assert (one.by, one.state) == ("py-spy", "D")
    assert "spawn_for_ever" in one.text


async def test_a_program_that_is_no_python_is_seen_as_the_kernel_sees_it(agent: Agent) -> None:
    async with child("sh", "-c", "echo up; exec sleep 300") as process:
        await until(lambda: state_of(process.pid) == "S")
        one = await one_of(agent, process.pid)

    assert (one.by, one.title, one.state) == ("kernel", "sleep", "S")
    assert one.text == one.kernel
    assert f"thread {process.pid} (sleep): state S" in one.kernel
    assert "--arm-stacks" in one.why_not


async def test_threads_that_wait_at_the_same_place_are_told_together(agent: Agent) -> None:
    code = """
import threading
gate = threading.Event()
for _ in range(20):
    threading.Thread(target=gate.wait, daemon=True).start()
"""
    async with child(*sleeper(code)) as process:
        one = await one_of(agent, process.pid)

    heads = [line for line in one.kernel.split("\n") if line.startswith("thread")]
    assert heads[0].startswith(f"thread {process.pid} (")
    assert any(line.startswith("threads ") and " more (" in line for line in heads)
    assert len(heads) < 21


async def test_what_is_gone_is_said_to_be_and_costs_the_others_nothing(agent: Agent) -> None:
    async with child("true") as gone:
        pass
    async with child("sh", "-c", "echo up; exec sleep 300") as process:
        pids = [gone.pid, process.pid, gone.pid]
        found = await take_stacks(agent, pids, limit_s=LIMIT_S, is_armed=False)

    first, second = found.taken
    assert (first.pid, first.by, first.starttime) == (gone.pid, "none", 0)
    assert (first.text, first.why_not) == ("", f"there is no process {gone.pid} any more")
    assert (second.pid, second.by) == (process.pid, "kernel")
    assert found.at_ns > 0


async def test_a_zombie_is_said_to_have_ended(agent: Agent) -> None:
    async with child(*sleeper("child = os.fork()\nif not child: os._exit(0)")) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        zombie = int(children.read_text())
        await until(lambda: state_of(zombie) == "Z")
        one = await one_of(agent, zombie)

    assert (one.state, one.why_not) == ("Z", "it has ended")


@may_trace
async def test_a_very_deep_stack_is_cut(agent: Agent) -> None:
    code = """
sys.setrecursionlimit(20000)
def sink_deeper_and_deeper(depth):
    if not depth:
        print("up", flush=True)
        time.sleep(300)
    sink_deeper_and_deeper(depth - 1)
sink_deeper_and_deeper(3000)
"""
    async with child(*sleeper(code)) as process:
        one = await one_of(agent, process.pid)

    assert one.by == "py-spy"
    assert len(one.text) == 65536


async def test_nothing_is_waited_for_longer_than_asked(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        found = await take_stacks(agent, [process.pid], limit_s=0.0, is_armed=True)

    (one,) = found.taken
    assert one.pid == process.pid
    assert one.by in ("kernel", "none")
    assert one.why_not


async def test_a_request_that_names_no_number_is_refused(agent: Agent) -> None:
    with pytest.raises(OperationError) as caught:
        await agent.call("stacks", pids=["one"], limit_s=1.0, armed=False)

    assert caught.value.code == "bad-request"


@drops
async def test_py_spy_is_not_run_where_the_kernel_would_refuse_it(
    state: Path, tmp_path: Path
) -> None:
    lower = "os.setgroups([]); os.setgid(65534); os.setuid(65534)"
    async with (
        open_agent(powerless(tmp_path)) as agent,
        child(*sleeper()) as stronger,
        child(*sleeper(lower)) as foreign,
    ):
        pids = [stronger.pid, foreign.pid]
        first, second = (await take_stacks(agent, pids, limit_s=LIMIT_S, is_armed=False)).taken

    assert (first.by, second.by) == ("kernel", "kernel")
    assert first.why_not.startswith("it has capabilities that the agent lacks")
    assert ": only root may read its memory; " in second.why_not
    assert second.why_not.startswith("it runs as ")
    assert "--arm-stacks" in second.why_not


def test_yama_is_heeded_as_the_kernel_does(tmp_path: Path) -> None:
    yama = tmp_path / "ptrace_scope"
    yama.write_text("3\n")
    assert "is 3: nobody may" in refuse_tracing(os.getpid(), str(yama))

    code = """
import os, sys
from firedup.host.agent.ptrace import refuse_tracing
print(refuse_tracing(os.getpid(), sys.argv[1]))
"""
    yama.write_text("1\n")
    without = ["setpriv", "--bounding-set=-sys_ptrace", "--"] if os.geteuid() == 0 else []
    argv = [*without, sys.executable, "-c", code, str(yama)]
    if without and subprocess.call([*without, "true"]):
        pytest.skip("root cannot drop a capability here")
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    assert said.startswith("kernel.yama.ptrace_scope is 1: only root may")
    assert "sysctl kernel.yama.ptrace_scope=0" in said


def test_a_py_spy_that_others_may_change_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    folder.chmod(0o755)
    program = folder / "py-spy"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert distrust(str(program)) == ""
    assert find_pyspy(["", "relative", str(tmp_path), str(folder)]) == (str(program), "")

    program.chmod(0o757)
    assert distrust(str(program)) == f"others may write to {program}"
    program.chmod(0o755)
    folder.chmod(0o777)
    path, why_not = find_pyspy([str(folder)])

    assert path is None
    assert why_not == f"{program} is not run: others may write to {folder}"
    folder.chmod(0o1777)
    assert distrust(str(program)) == ""


def test_a_link_to_py_spy_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    real, front = tmp_path / "real", tmp_path / "front"
    for folder in (real, front):
        folder.mkdir()
        folder.chmod(0o755)
    (real / "py-spy").write_text("#!/bin/sh\n")
    (real / "py-spy").chmod(0o755)
    (front / "py-spy").symlink_to(real / "py-spy")
    assert distrust(str(front / "py-spy")) == ""
    real.chmod(0o777)

    assert distrust(str(front / "py-spy")) == f"others may write to {real}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_py_spy_of_another_user_is_not_run(tmp_path: Path) -> None:
    program = tmp_path / "py-spy"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    os.chown(program, 65534, 65534)

    assert distrust(str(program)) == f"{program} belongs to another user"
