"""Connections to servers on a host, carried over the link to its agent."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firedup.core.error import HostError
from firedup.host.agent import tunnel as agent_tunnel
from firedup.host.agent.wire import FrameReader
from firedup.host.base import OperationError
from firedup.host.frame import PAYLOAD_LIMIT, FrameDecoder, Kind, encode_input
from firedup.host.link import Agent
from firedup.host.stream import INPUT_WINDOW_BYTES, Notice, Stream
from firedup.host.tunnel import WINDOW_BYTES, carry_connection

LIMIT_S = 30.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    """A server on this machine; yields its port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


class Local:
    """The near end of a tunnel: connects to it as a client would."""

    def __init__(self, agent: Agent, port: int, address: str) -> None:
        self._agent, self._port, self._address = agent, port, address
        self.faults: list[BaseException] = []
        self.done = asyncio.Event()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await carry_connection(self._agent, self._address, self._port, reader, writer)
        except (HostError, OSError) as error:
            self.faults.append(error)
        finally:
            writer.close()
            self.done.set()


@asynccontextmanager
async def tunnel(
    agent: Agent, port: int, address: str = "127.0.0.1"
) -> AsyncIterator[tuple[Local, int]]:
    local = Local(agent, port, address)
    async with serving(local.carry) as near:
        yield local, near


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def read_out(stream: Stream) -> None:
    async for _ in stream:
        pass


async def exchange(port: int, data: bytes) -> bytes:
    """Sends `data` and its end; everything that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        writer.write(data)
        await writer.drain()
        writer.write_eof()

    try:
        async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as group:
            group.create_task(send())
            answer = await reader.read()
    finally:
        writer.close()
    return answer


async def test_bytes_go_both_ways_and_each_end_is_passed_on(agent: Agent) -> None:
    async with serving(echo) as port, tunnel(agent, port) as (local, near):
        assert await exchange(near, b"hello") == b"hello"
        await local.done.wait()

    assert local.faults == []


async def test_a_server_that_answers_after_the_clients_end_is_heard(agent: Agent) -> None:
    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"%d bytes" % len(await reader.read()))
        await writer.drain()

    async with serving(count) as port, tunnel(agent, port) as (_, near):
        assert await exchange(near, bytes(1_000_000)) == b"1000000 bytes"


async def test_a_server_that_ends_first_is_still_told_what_comes(agent: Agent) -> None:
    heard = asyncio.get_running_loop().create_future()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")
        writer.write_eof()
        heard.set_result(await reader.read())

    async with serving(greet) as port, tunnel(agent, port) as (_, near):
        reader, writer = await asyncio.open_connection("127.0.0.1", near)
        async with asyncio.timeout(LIMIT_S):
            assert await reader.read() == b"bye"
            writer.write(b"still here")
            writer.write_eof()
            assert await heard == b"still here"
        writer.close()


async def test_much_goes_through_whole(agent: Agent) -> None:
    data = os.urandom(5_000_000)
    async with serving(echo) as port, tunnel(agent, port) as (_, near):
        assert await exchange(near, data) == data


async def test_many_connections_at_once_keep_apart(agent: Agent) -> None:
    pieces = [os.urandom(2000 * n) for n in range(1, 41)]
    async with serving(echo) as port, tunnel(agent, port) as (_, near):
        answers = await asyncio.gather(*(exchange(near, piece) for piece in pieces))

    assert answers == pieces


async def test_nobody_listening_is_said(agent: Agent) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    async with tunnel(agent, port) as (local, near):
        assert await exchange(near, b"") == b""

    (fault,) = local.faults
    assert isinstance(fault, OperationError)
    assert fault.code == "refused"


async def test_a_name_is_looked_up_on_the_host_and_each_of_its_addresses_tried(
    agent: Agent,
) -> None:
    async with serving(echo) as port, tunnel(agent, port, "localhost") as (local, near):
        assert await exchange(near, b"hello") == b"hello"
        await local.done.wait()

    assert local.faults == []


@pytest.mark.parametrize("port", [70_000, -1])
async def test_a_port_that_cannot_be_is_an_error_and_no_wait(agent: Agent, port: int) -> None:
    with closing(agent.open("tunnel", address="127.0.0.1", port=port)) as stream:
        async with asyncio.timeout(LIMIT_S):
            with pytest.raises(OperationError, match=f"127.0.0.1 port {port}"):
                await anext(stream)


async def test_a_server_that_breaks_off_ends_the_connection(agent: Agent) -> None:
    async def abort(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        writer.transport.abort()

    async with serving(abort) as port, tunnel(agent, port) as (local, near):
        reader, writer = await asyncio.open_connection("127.0.0.1", near)
        writer.write(b"x")
        async with asyncio.timeout(LIMIT_S):
            assert await reader.read() == b""
            writer.close()
            await local.done.wait()
        assert (await agent.call("clock"))["boottime_ns"] > 0


async def test_a_slow_client_holds_up_the_server_and_nobodys_memory(agent: Agent) -> None:
    taken = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        piece = bytes(65536)
        while True:
            writer.write(piece)
            await writer.drain()
            taken += len(piece)

    async with serving(pour) as port:
        stream = agent.open("tunnel", address="127.0.0.1", port=port, window=WINDOW_BYTES)
        await anext(stream)
        before, calls = -1, 0
        while taken != before or calls < 3:  # until nothing moves any more
            before = taken
            calls += 1
            for _ in range(20):
                await agent.call("clock")
        held = sum(cost for _, cost in stream._messages)
        stream.close()

    buffers = 2 * 6 * 1024 * 1024  # what the kernel keeps at most for a connection, both ends
    assert held <= WINDOW_BYTES + PAYLOAD_LIMIT
    assert taken <= buffers + WINDOW_BYTES + 2 * 65536
    assert memory_of(agent) < 64 * 1024 * 1024


async def test_a_slow_server_holds_up_the_client_and_nobodys_memory(agent: Agent) -> None:
    asked = asyncio.Event()

    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked.wait()

    written = 0
    async with serving(ignore) as port:
        stream = agent.open("tunnel", address="127.0.0.1", port=port)
        await anext(stream)

        async def write() -> None:
            nonlocal written
            while True:
                await stream.write(bytes(65536))
                written += 65536

        writing = asyncio.ensure_future(write())
        before, calls = -1, 0
        while written != before or calls < 3:
            before = written
            calls += 1
            for _ in range(20):
                await agent.call("clock")
        asked.set()
        stream.close()
        with pytest.raises(HostError):
            await writing

    assert INPUT_WINDOW_BYTES <= written <= 2 * 6 * 1024 * 1024 + 2 * INPUT_WINDOW_BYTES
    assert memory_of(agent) < 64 * 1024 * 1024


def memory_of(agent: Agent) -> int:
    status = Path(f"/proc/{agent.hello['pid']}/status").read_text()
    return next(int(row.split()[1]) * 1024 for row in status.splitlines() if "VmRSS" in row)


async def test_input_without_credit_ends_the_connection_alone(agent: Agent) -> None:
    async with serving(echo) as port:
        stream = agent.open("tunnel", address="127.0.0.1", port=port, window=1)
        await anext(stream)
        for _ in range(200):
            agent._protocol.send(encode_input(stream.number, bytes(65536)))

        with pytest.raises(OperationError, match="more input than there was credit for"):
            await asyncio.wait_for(read_out(stream), LIMIT_S)
    assert (await agent.call("clock"))["boottime_ns"] > 0


async def test_other_operations_take_no_input(agent: Agent, tmp_path: Path) -> None:
    stream = agent.open("follow", path=str(tmp_path / "log"))
    await anext(stream)
    await stream.write(b"x")

    with pytest.raises(OperationError, match="takes no input"):
        await anext(stream)


async def test_an_idle_connection_costs_no_time(agent: Agent) -> None:
    """Neither one that waits for both, nor one that the server has ended, turns the loop."""

    async def end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write_eof()
        await reader.read()

    async with serving(echo) as port, serving(end) as other:
        streams = [
            agent.open("tunnel", address="127.0.0.1", port=number) for number in (port, other)
        ]
        for stream in streams:
            await anext(stream)
        ended = await anext(streams[1])
        before = _cpu_ticks(agent.hello["pid"])
        with pytest.raises(HostError, match="no answer to 'wait'"):
            await agent.call("wait", pid=os.getpid(), start_ticks=_start_ticks(), timeout_s=1)
        spent = _cpu_ticks(agent.hello["pid"]) - before
        for stream in streams:
            stream.close()

    assert isinstance(ended, Notice)
    assert ended.value == {"state": "ended"}
    assert spent <= 10  # hundredths of a second


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _start_ticks() -> int:
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])


async def test_a_broken_link_ends_every_connection(agent: Agent) -> None:
    async with serving(echo) as port, tunnel(agent, port) as (local, near):
        reader, writer = await asyncio.open_connection("127.0.0.1", near)
        writer.write(b"x")
        async with asyncio.timeout(LIMIT_S):
            assert await reader.readexactly(1) == b"x"
            os.kill(agent.hello["pid"], signal.SIGKILL)
            assert await reader.read() == b""
            await local.done.wait()
        writer.close()

    assert isinstance(local.faults[0], HostError)


@given(st.lists(st.tuples(st.integers(1, 9), st.binary(max_size=300)), max_size=8), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_input_frames_are_the_same_however_they_are_sliced(
    pieces: list[tuple[int, bytes]], data: st.DataObject
) -> None:
    whole = b"".join(encode_input(number, piece) for number, piece in pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    bounds = [0, *cuts, len(whole)]
    reader, decoder = FrameReader(), FrameDecoder()
    read, decoded = [], []
    for begin, end in pairwise(bounds):
        read += reader.feed(whole[begin:end])
        decoded += decoder.feed(whole[begin:end])

    assert read == [(Kind.INPUT, number, piece) for number, piece in pieces]
    assert [(f.kind, f.stream, f.payload) for f in decoded] == read


def test_both_sides_agree_on_the_first_credit() -> None:
    assert agent_tunnel._TUNNEL_WINDOW == INPUT_WINDOW_BYTES
