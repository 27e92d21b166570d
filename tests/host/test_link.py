import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil
import pytest

from firedup.core.error import HostError
from firedup.host.base import Host, OperationError, local_host
from firedup.host.bundle import Bundle, load_bundle
from firedup.host.frame import Data
from firedup.host.link import Agent, open_agent
from firedup.host.process import watch_tree
from firedup.host.protocol import BANNER_LIMIT
from firedup.host.run import list_runs

LIMIT_S = 100.0
PYTHONS = sorted((Path.home() / ".pyenv/versions").glob("3.*/bin/python3"))


@dataclass(frozen=True)
class Prefix:
    words: tuple[str, ...]
    word: str = "prefix"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        return (*self.words, *program)

    def explain(self, status: int | None, stderr: str) -> None:
        return None


def prefixed(*prefix: str, python: str = sys.executable) -> Host:
    return Host("box", (Prefix(prefix),), python)


async def test_the_agent_says_who_it_is(agent: Agent, state: Path) -> None:
    assert agent.hello["version"] == load_bundle().version
    assert agent.hello["state_folder"] == str(state / "firedup")
    assert agent.hello["uid"] == os.getuid()
    assert agent.is_alive


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
async def test_every_python_from_3_6_on_serves(python: Path, state: Path) -> None:
    async with open_agent(Host("old", (), str(python))) as agent:
        clock = await agent.call("clock")
        memory = await agent.call("memory")
        sample = await agent.call("tree", pid=agent.hello["pid"])

    assert agent.hello["python"] == python.parts[-3]
    assert clock["boottime_ns"] >= agent.hello["boottime_ns"]
    assert memory["available_bytes"] > 0
    assert sample["processes"][0]["pid"] == agent.hello["pid"]


async def test_what_is_printed_before_the_agent_is_dropped(state: Path) -> None:
    host = prefixed("sh", "-c", 'echo "Welcome to the machine"; exec "$@"', "-")
    async with open_agent(host) as agent:
        assert (await agent.call("clock"))["boottime_ns"] > 0


async def test_a_prefix_may_set_the_environment(state: Path) -> None:
    async with open_agent(prefixed("env", "HOME=/nowhere")) as agent:
        assert agent.hello["home"] == "/nowhere"


async def test_what_was_printed_is_shown_when_no_agent_starts() -> None:
    host = prefixed("sh", "-c", "echo Account expired; echo no shell >&2; exit 1")
    with pytest.raises(HostError) as caught:
        async with open_agent(host):
            pass

    text = str(caught.value)
    assert "box: the agent did not start" in text
    assert "Account expired" in text
    assert "no shell" in text
    assert "exit status 1" in text
    assert caught.value.exit_status == 3


async def test_a_host_that_talks_without_end_is_left() -> None:
    host = prefixed("sh", "-c", "exec yes")
    with pytest.raises(HostError, match="not as the agent"):
        async with open_agent(host):
            pass

    assert BANNER_LIMIT == 65536


async def test_a_host_that_says_nothing_is_left_in_time() -> None:
    with pytest.raises(HostError, match=r"no answer within 0\.2 s"):
        async with open_agent(prefixed("sh", "-c", "exec sleep 60"), start_timeout_s=0.2):
            pass


async def test_a_missing_interpreter_is_said() -> None:
    with pytest.raises(HostError) as caught:
        async with open_agent(Host("local", (), "/no/such/python3")):
            pass

    assert "/no/such/python3 cannot be started" in str(caught.value)
    assert "Install Python 3.6 or newer" in str(caught.value)


async def test_a_missing_interpreter_behind_a_prefix_is_said() -> None:
    host = prefixed("sh", "-c", 'exec "$@"', "-", python="no-such-python3")
    with pytest.raises(HostError) as caught:
        async with open_agent(host):
            pass

    assert "exit status 127" in str(caught.value)
    assert "Install Python 3.6 or newer on box" in str(caught.value)


async def test_a_program_that_was_changed_on_its_way_is_not_used() -> None:
    program = load_bundle()
    with pytest.raises(HostError, match="not the one that was sent"):
        async with open_agent(local_host(), bundle=Bundle(program.text + b"#\n", program.version)):
            pass


async def test_an_agent_that_dies_ends_every_request_with_its_last_words(agent: Agent) -> None:
    stream = agent.open("follow", path="/nowhere/log")
    await anext(stream)
    os.kill(agent.hello["pid"], signal.SIGKILL)

    with pytest.raises(HostError, match="the agent ended") as caught:
        async with asyncio.timeout(LIMIT_S):
            await anext(stream)
    assert "killed by signal 9" in str(caught.value)
    assert not agent.is_alive
    with pytest.raises(HostError, match="the agent ended"):
        await agent.call("clock")


@pytest.mark.parametrize(
    ("nonsense", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "at most 65536"),
        (b"\0\0\0\0\x63\0\0\0\x01", "type 99"),
        (b"\0\0\0\x03\x01\0\0\0\x01abc", "no JSON object"),
        (b"\0\0\0\x01\x03\0\0\0\x01a", "a credit of 1 bytes"),
    ],
)
async def test_malformed_frames_end_the_agent_with_a_message(
    agent: Agent, nonsense: bytes, message: str
) -> None:
    agent._protocol.send(nonsense)
    with pytest.raises(HostError) as caught:
        await agent.call("clock", timeout_s=LIMIT_S)

    assert message in str(caught.value)
    assert "the client sent" in str(caught.value)


async def test_an_unknown_operation_is_an_answer(agent: Agent) -> None:
    with pytest.raises(OperationError, match="no operation 'fly'") as caught:
        await agent.call("fly")

    assert caught.value.code == "bad-request"
    assert (await agent.call("clock"))["boottime_ns"] > 0


async def test_a_request_without_its_argument_is_an_answer(agent: Agent) -> None:
    with pytest.raises(OperationError, match="lacks 'path'"):
        await agent.call("stat")


async def test_a_call_that_takes_too_long_is_given_up_and_others_go_on(agent: Agent) -> None:
    with pytest.raises(HostError, match="no answer to 'wait' within"):
        await agent.call("wait", pid=os.getpid(), start_ticks=ticks(os.getpid()), timeout_s=0.1)

    assert (await agent.call("clock"))["boottime_ns"] > 0


def ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])


async def test_a_reader_that_waits_bounds_what_is_sent(agent: Agent, tmp_path: Path) -> None:
    big = tmp_path / "big"
    big.write_bytes(bytes(4_000_000))
    stream = agent.open("read", path=str(big), window=100_000)
    await anext(stream)
    for _ in range(20):
        await agent.call("clock")  # control frames pass a stream that has no credit

    assert sum(cost for _, cost in stream._messages) <= 200_000
    total = len(b"".join([m.data async for m in stream if isinstance(m, Data)]))
    assert 4_000_000 - 100_000 <= total < 4_000_000
    assert stream.result is not None
    assert stream.result["size"] == 4_000_000


async def test_a_closed_stream_is_forgotten_on_both_sides(agent: Agent, tmp_path: Path) -> None:
    stream = agent.open("follow", path=str(tmp_path / "log"))
    await anext(stream)
    files = Path(f"/proc/{agent.hello['pid']}/fd")
    before = len(list(files.iterdir()))
    stream.close()
    await agent.call("clock")

    assert len(list(files.iterdir())) == before - 1
    assert stream.number not in agent._protocol.streams


async def test_many_requests_at_once_get_their_own_answers(agent: Agent, tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / str(number)).write_bytes(b"%d" % number)
    answers = await asyncio.gather(
        *(agent.fetch("read", path=str(tmp_path / str(number))) for number in range(30))
    )

    assert [data for _, data in answers] == [b"%d" % number for number in range(30)]


async def test_a_long_answer_comes_whole(agent: Agent, tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"{number:060d}").touch()
    result = await agent.call("list", path=str(tmp_path))

    names = [entry["name"] for entry in result["entries"]]
    assert names == sorted(names)
    assert len([name for name in names if len(name) == 60]) == 2000


async def test_the_agent_ends_with_its_client_and_leaves_nothing(
    state: Path, is_alive: Callable[[int], bool]
) -> None:
    async with open_agent(local_host()) as agent:
        pid = agent.hello["pid"]
        agent.open("follow", path="/nowhere/log")
        children = psutil.Process(pid).children(recursive=True)

    assert children == []
    assert not is_alive(pid)


async def test_an_agent_in_a_long_request_ends_with_its_client_too(
    state: Path, is_alive: Callable[[int], bool]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with open_agent(local_host()) as agent:
            agent.open("http", host="127.0.0.1", port=silent.getsockname()[1], path="/", limit_s=60)
            await agent.call("clock")

    assert not is_alive(agent.hello["pid"])


async def test_the_agent_ends_when_its_client_is_killed(
    state: Path, is_alive: Callable[[int], bool]
) -> None:
    code = (
        "import asyncio\n"
        "from firedup.host.base import local_host\n"
        "from firedup.host.link import open_agent\n"
        "async def main():\n"
        "    async with open_agent(local_host()) as agent:\n"
        "        print(agent.hello['pid'], flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout is not None
    pid = int(await client.stdout.readline())
    client.kill()
    await client.wait()

    await asyncio.to_thread(psutil.wait_procs, [psutil.Process(pid)] if is_alive(pid) else [], 10)
    assert not is_alive(pid)


async def test_a_client_that_is_cancelled_as_it_leaves_waits_for_its_agent_all_the_same(
    state: Path,
) -> None:
    agents, is_leaving = [], asyncio.Event()

    async def visit() -> None:
        async with open_agent(local_host()) as agent:
            agents.append(agent.hello["pid"])
            os.kill(agent.hello["pid"], signal.SIGSTOP)  # so that it heeds nothing
            is_leaving.set()

    visiting = asyncio.ensure_future(visit())
    await is_leaving.wait()
    visiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await visiting

    assert not psutil.pid_exists(agents[0])


async def test_an_iterator_that_is_left_early_stops_its_request(agent: Agent) -> None:
    async with aclosing(watch_tree(agent, os.getpid(), every_s=0.05)) as samples:
        sample = await anext(samples)

    assert sample.processes[0].pid == os.getpid()
    assert await list_runs(agent) == ()
    assert agent._protocol.streams == {} or await agent.call("clock")


async def test_an_answer_may_take_long_as_long_as_more_of_it_comes(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    big, begun, moved = tmp_path / "big", [], []
    big.write_bytes(bytes(1_000_000))

    class Limit:
        def __init__(self, timeout_s: float) -> None:
            begun.append(asyncio.get_running_loop().time())

        async def __aenter__(self) -> Self:
            return self

        async def __aexit__(self, *_: object) -> None:
            pass

        def reschedule(self, when_s: float) -> None:
            moved.append(when_s)

    monkeypatch.setattr("firedup.host.link.asyncio.timeout", Limit)
    _, data = await agent.fetch("read", path=str(big), timeout_s=7.0)
    monkeypatch.undo()

    assert len(data) == 1_000_000
    assert len(moved) >= 1_000_000 // 65536
    assert all(when_s >= begun[0] + 7.0 for when_s in moved)
