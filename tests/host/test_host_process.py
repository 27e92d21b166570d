import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from children import child

from firedup.core.model import Ownership
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.process import (
    Listener,
    PortFacts,
    ProcessFacts,
    describe_process,
    fetch_port,
    find_holders,
    sample_tree,
    send_signal,
    wait_gone,
    watch_tree,
)

LIMIT_S = 100.0


def ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])


def sleeper(code: str = "") -> tuple[str, ...]:
    text = f"import os, sys, time, socket\n{code}\nprint('up', flush=True)\ntime.sleep(60)\n"
    return (sys.executable, "-c", text)


async def test_a_process_is_described(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        found = await describe_process(agent, process.pid)

    assert found.argv == sleeper()
    assert found.start_ticks > 0
    assert found.parent == os.getpid()
    assert found.cwd == str(Path.cwd())
    assert found.command.startswith(sys.executable)


async def test_a_signal_goes_to_the_main_process_alone(agent: Agent) -> None:
    async with child(*sleeper("os.fork()")) as process:
        other = (await sample_tree(agent, process.pid)).processes[1]
        start_ticks = ticks(process.pid)
        sent = await send_signal(agent, process.pid, start_ticks, "SIGTERM")
        await wait_gone(agent, process.pid, start_ticks, timeout_s=LIMIT_S)
        left = await describe_process(agent, other.pid)

    assert sent == (process.pid,)
    assert left.start_ticks == other.start_ticks
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("to", ["group", "session"])
async def test_a_signal_goes_to_all_that_belong_together(agent: Agent, to: str) -> None:
    async with child(*sleeper("os.fork()")) as process:
        sent = await send_signal(agent, process.pid, ticks(process.pid), "SIGKILL", to=to)
        await process.wait()

    assert process.pid in sent
    assert len(sent) == 2


async def test_a_later_process_with_the_same_pid_is_not_signalled(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        with pytest.raises(OperationError, match="another one now") as caught:
            await send_signal(agent, process.pid, ticks(process.pid) - 1, "SIGKILL")

        assert caught.value.code == "gone"
        assert process.returncode is None


async def test_a_process_that_is_gone_is_not_signalled(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        start_ticks = ticks(process.pid)
        process.kill()
        await process.wait()
        with pytest.raises(OperationError) as caught:
            await send_signal(agent, process.pid, start_ticks, "SIGTERM")

    assert caught.value.code == "gone"


async def test_the_agents_own_group_is_not_signalled(agent: Agent) -> None:
    pid = agent.hello["pid"]
    async with child(*sleeper()) as process:
        with pytest.raises(OperationError, match="is not signalled"):
            await send_signal(agent, pid, ticks(pid), "SIGTERM", to="group")
        with pytest.raises(OperationError, match="no signal 'SIGFOO'"):
            await send_signal(agent, process.pid, ticks(process.pid), "SIGFOO")
        with pytest.raises(OperationError, match="no such addressee"):
            await send_signal(agent, process.pid, ticks(process.pid), "SIGTERM", to="all")


async def test_the_end_of_a_foreign_process_is_seen(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        start_ticks = ticks(process.pid)
        waiting = asyncio.create_task(wait_gone(agent, process.pid, start_ticks, timeout_s=LIMIT_S))
        before = (await agent.call("clock"))["boottime_ns"]
        process.kill()
        at_ns = await waiting

        assert at_ns >= before
        later = await agent.call("wait", pid=process.pid, start_ticks=start_ticks)
        assert later["was_gone"]


async def test_a_tree_holds_children_of_any_thread(agent: Agent) -> None:
    code = (
        "import subprocess, threading\n"
        "def work(): subprocess.Popen(['sleep', '60'])\n"
        "t = threading.Thread(target=work); t.start(); t.join()\n"
        "subprocess.Popen(['sleep', '61'])\n"
    )
    async with child(*sleeper(code)) as process:
        sample = await sample_tree(agent, process.pid)

    assert sample.processes[0].pid == process.pid
    assert [p.name for p in sample.processes[1:]] == ["sleep", "sleep"]
    assert {p.parent for p in sample.processes[1:]} == {process.pid}
    assert sample.processes[0].rss_bytes > 1_000_000
    assert sample.processes[0].read_bytes is not None
    assert sample.log_size == -1


async def test_a_watched_tree_ends_with_its_last_process(agent: Agent) -> None:
    async with child(*sleeper()) as process:
        seen = []
        async with (
            asyncio.timeout(LIMIT_S),
            aclosing(watch_tree(agent, process.pid, every_s=0.05)) as samples,
        ):
            async for sample in samples:
                seen.append(sample)
                if len(seen) == 3:
                    process.kill()
                    await process.wait()

    assert len(seen) >= 3
    assert seen[0].at_ns < seen[1].at_ns < seen[2].at_ns


async def test_a_watched_process_must_be_there(agent: Agent) -> None:
    with pytest.raises(OperationError) as caught:
        await anext(watch_tree(agent, 2**22 - 1))

    assert caught.value.code == "gone"


@pytest.fixture
def listener() -> Iterator[Callable[..., socket.socket]]:
    opened = []

    def listen(address: str, port: int = 0) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        one = socket.socket(family)
        opened.append(one)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind((address, port))
        one.listen()
        return one

    yield listen
    for one in opened:
        one.close()


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
async def test_the_owner_of_a_port_is_known(
    agent: Agent, listener: Callable[..., socket.socket], address: str
) -> None:
    port = listener(address).getsockname()[1]
    facts = await fetch_port(agent, port)

    (one,) = facts.listeners
    assert (one.address, one.port, one.uid) == (address, port, os.getuid())
    assert [owner.pid for owner in one.owners] == [os.getpid()]
    assert facts.judge({os.getpid()}).owner is Ownership.YES
    foreign = facts.judge({1})
    assert (foreign.owner, foreign.pid) == (Ownership.NO, os.getpid())
    assert foreign.command


async def test_a_port_may_have_several_listeners(
    agent: Agent, listener: Callable[..., socket.socket]
) -> None:
    port = listener("127.0.0.1").getsockname()[1]
    listener("::1", port)
    facts = await fetch_port(agent, port)

    assert {one.address for one in facts.listeners} == {"127.0.0.1", "::1"}


async def test_a_port_that_nobody_listens_on_has_no_owner(
    agent: Agent, listener: Callable[..., socket.socket]
) -> None:
    one = listener("127.0.0.1")
    port = one.getsockname()[1]
    one.close()
    facts = await fetch_port(agent, port)

    assert facts.listeners == ()
    assert facts.judge({1}).owner is None


def facts_of(address: str, *pids: int) -> PortFacts:
    owners = tuple(ProcessFacts(pid, 1, 1, "python", ("python", "-m", "x"), None) for pid in pids)
    return PortFacts(8000, (Listener(address, 8000, 0, owners),), is_complete=True, at_ns=5)


@pytest.mark.parametrize(
    ("address", "bind", "expected"),
    [
        ("0.0.0.0", "127.0.0.1", Ownership.NO),
        ("127.0.0.1", "0.0.0.0", Ownership.NO),
        ("127.0.0.1", "127.0.0.1", Ownership.NO),
        ("::ffff:127.0.0.1", "127.0.0.1", Ownership.NO),
        ("127.0.0.1", None, Ownership.NO),
        ("127.0.0.1", "some-name", Ownership.NO),
        ("10.0.0.5", "127.0.0.1", None),
    ],
)
def test_only_listeners_in_the_way_of_the_address_count(
    address: str, bind: str | None, expected: Ownership | None
) -> None:
    assert facts_of(address, 7).judge({9}, bind=bind).owner == expected


def test_a_listener_whose_process_may_not_be_seen_is_unknown() -> None:
    said = facts_of("0.0.0.0").judge({9})

    assert (said.owner, said.pid, said.at_ns) == (Ownership.UNKNOWN, None, 5)


async def test_who_writes_a_log_comes_before_who_reads_it(agent: Agent, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch()
    reads = f"f = open({str(log)!r})"
    writes = f"f = open({str(log)!r}, 'a')"
    async with child(*sleeper(reads)) as reader, child(*sleeper(writes)) as writer:
        held = await find_holders(agent, str(log))

    assert [(h.process.pid, h.is_writing) for h in held.holders] == [
        (writer.pid, True),
        (reader.pid, False),
    ]
    assert held.is_complete


async def test_a_server_behind_tee_is_found(agent: Agent, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    command = f"exec 3>&1; sleep 60 | (echo up >&3; exec tee {log})"
    async with child("sh", "-c", command):
        async with asyncio.timeout(LIMIT_S):
            while not log.exists() or not (await find_holders(agent, str(log))).holders:
                await asyncio.sleep(0)
        held = await find_holders(agent, str(log))

    tee = held.holders[0] if held.holders[0].via is None else held.holders[1]
    feeders = [h.process.name for h in held.holders if h.via == tee.process.pid]
    assert tee.process.name == "tee"
    assert "sleep" in feeders


async def test_a_log_that_was_renamed_is_still_held(agent: Agent, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    async with child(*sleeper(f"f = open({str(log)!r}, 'a')")) as writer:
        log.rename(tmp_path / "moved.log")
        held = await find_holders(agent, str(tmp_path / "moved.log"))

    assert [h.process.pid for h in held.holders] == [writer.pid]


@pytest.mark.skipif(os.getuid() != 0, reason="needs a second user")
async def test_a_foreign_users_listener_is_unknown(
    listener: Callable[..., socket.socket], tmp_path: Path
) -> None:
    """The agent's code runs as another user, who may not look at our files."""
    from firedup.host.bundle import load_bundle

    port = listener("127.0.0.1").getsockname()[1]
    text = load_bundle().text.decode().replace('if __name__ == "__main__":', "if False:")
    lines = (text, "os.setgid(65534); os.setuid(65534)", f"print(op_port({{'port': {port}}}))")
    # By its input: Linux takes no argument of 128 KiB.
    done = subprocess.run(
        [sys.executable], input="\n".join(lines), capture_output=True, text=True, timeout=100
    )

    assert "'owners': []" in done.stdout, done.stderr
    assert "'is_complete': False" in done.stdout
