"""Programs on a host that are spoken to, and the key that they are handed there."""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from firedup.core.error import HostError
from firedup.host.base import OperationError, local_host
from firedup.host.frame import PAYLOAD_LIMIT, Data, encode_input
from firedup.host.http import KeySource
from firedup.host.link import Agent, open_agent
from firedup.host.stream import INPUT_WINDOW_BYTES, Stream
from firedup.host.talk import talk

LIMIT_S = 60.0
NO_KEY = b'{"key": null}\n'
DEAF = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"


async def hear(stream: Stream, most: int | None = None) -> bytes:
    """What the program says: all of it, or at least `most` bytes."""
    heard = bytearray()
    async with asyncio.timeout(LIMIT_S):
        async for message in stream:
            assert isinstance(message, Data)
            heard += message.data
            if most is not None and len(heard) >= most:
                break
    return bytes(heard)


async def until_dead(pid: int, is_alive: Callable[[int], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while is_alive(pid):
            await asyncio.sleep(0.02)


async def test_what_is_said_to_a_program_comes_after_the_agents_own_line(agent: Agent) -> None:
    with closing(talk(agent, ("cat",))) as stream:
        await stream.write(b"hello\n")
        assert await hear(stream, len(NO_KEY) + 6) == NO_KEY + b"hello\n"
        await stream.write(b"bye")
        stream.end_input()
        assert await hear(stream) == b"bye"

    assert stream.result == {"code": 0, "signal": None, "words": ""}


async def test_much_goes_both_ways_whole(agent: Agent) -> None:
    data = bytes(range(256)) * 12_000
    with closing(talk(agent, ("cat",))) as stream:

        async def say() -> None:
            await stream.write(data)
            stream.end_input()

        saying = asyncio.ensure_future(say())
        assert await hear(stream) == NO_KEY + data
        await saying


async def test_the_first_line_holds_the_key_that_was_found_on_the_host(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("sk-of-the-host\n")
    source = KeySource(file=str(tmp_path / "key"))
    with closing(talk(agent, ("cat",), key_from=source)) as stream:
        stream.end_input()
        assert json.loads(await hear(stream)) == {"key": "sk-of-the-host"}


async def test_a_key_that_cannot_be_read_is_an_error(agent: Agent, tmp_path: Path) -> None:
    stream = talk(agent, ("cat",), key_from=KeySource(run=str(tmp_path / "no-such-run")))
    with pytest.raises(OperationError) as caught:
        await hear(stream)

    assert caught.value.code == "not-found"


async def test_a_program_that_is_not_there_is_an_error(agent: Agent) -> None:
    stream = talk(agent, ("no-such-program",))
    with pytest.raises(OperationError) as caught:
        await hear(stream)

    assert caught.value.code == "not-found"


async def test_a_program_that_ends_by_itself_is_told_with_its_words(agent: Agent) -> None:
    with closing(talk(agent, ("sh", "-c", "echo one; echo why >&2; exit 3"))) as stream:
        assert await hear(stream) == b"one\n"

    assert stream.result == {"code": 3, "signal": None, "words": "why\n"}
    with pytest.raises(HostError):
        await stream.write(b"too late")


async def test_a_program_that_closes_its_input_is_still_heard(agent: Agent) -> None:
    program = 'exec 0<&-; echo deaf; read -r line < "$1"; echo "$line"'
    reader = ("sh", "-c", program, "-", "/proc/sys/kernel/ostype")
    with closing(talk(agent, reader)) as stream:
        await stream.write(b"x" * 100_000)
        assert await hear(stream) == b"deaf\nLinux\n"


async def test_a_program_ends_when_nobody_wants_it_any_more(
    agent: Agent, is_alive: Callable[[int], bool]
) -> None:
    with closing(talk(agent, (sys.executable, "-c", DEAF))) as stream:
        pid = int(await hear(stream, 2))
        assert is_alive(pid)

    await until_dead(pid, is_alive)


async def test_a_program_ends_with_the_agent_however_that_ends(
    state: Path, is_alive: Callable[[int], bool]
) -> None:
    program = "import os, sys\nprint(os.getpid(), flush=True)\nsys.stdin.read()"
    async with open_agent(local_host()) as other:
        stream = talk(other, (sys.executable, "-c", program))
        pid = int(await hear(stream, 2))
        killer = talk(other, ("sh", "-c", f"kill -9 {other.hello['pid']}"))
        with pytest.raises(HostError):
            await hear(killer)

        await until_dead(pid, is_alive)


async def test_more_input_than_there_was_credit_for_ends_the_request(agent: Agent) -> None:
    stream = talk(agent, (sys.executable, "-c", DEAF))
    await hear(stream, 2)
    for _ in range(2 * INPUT_WINDOW_BYTES // PAYLOAD_LIMIT + 1):
        agent._protocol.send(encode_input(stream.number, bytes(PAYLOAD_LIMIT)))
    with pytest.raises(OperationError) as caught:
        await hear(stream)

    assert caught.value.code == "bad-request"
