"""A file system that does not answer stops neither the agent nor what else it is asked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from firedup.core.event import LogChanged, LogData
from firedup.host.base import SilenceError, local_host
from firedup.host.file import Silence, follow_log, read_file, stat_file
from firedup.host.link import Agent, open_agent
from firedup.host.logfile import find_log_files
from tests.hanging import Hanging, change_agent, impatient_agent
from tests.lease import leased

LIMIT_S = 100.0


@pytest.fixture
def share(tmp_path: Path) -> Iterator[Hanging]:
    hanging = Hanging(tmp_path / "hanging")
    yield hanging
    hanging.free()


@pytest.fixture
async def there(share: Hanging, state: Path) -> AsyncIterator[Agent]:
    async with open_agent(share.host, bundle=impatient_agent()) as agent:
        yield agent


def threads_of(agent: Agent) -> int:
    return psutil.Process(agent.hello["pid"]).num_threads()


async def until_threads(agent: Agent, most: int) -> None:
    async with asyncio.timeout(LIMIT_S):
        while threads_of(agent) > most:
            await agent.call("clock")


async def test_a_log_that_hangs_is_told_and_goes_on_where_it_was(
    share: Hanging, there: Agent, tmp_path: Path
) -> None:
    log, heard = share.folder / "log", asyncio.Queue[Silence]()
    log.write_bytes(b"one\n")
    other = tmp_path / "other"
    other.write_bytes(b"else")

    async with asyncio.timeout(LIMIT_S):
        with closing(follow_log(there, str(log), heed=heard.put_nowait)) as reader:
            first = await anext(reader)
            share.hang()
            with log.open("ab") as file:
                file.write(b"two\n")
            reading = asyncio.ensure_future(anext(reader))
            silence = await heard.get()
            asked = await there.call("clock")
            content = await read_file(there, str(other))
            share.free()
            second = await reading
            told = [heard.get_nowait() for _ in range(heard.qsize())]

    assert isinstance(first, LogData)
    assert isinstance(second, LogData)
    assert (first.data, second.data, second.offset) == (b"one\n", b"two\n", 4)
    assert asked["boottime_ns"] > 0
    assert content == b"else"
    assert str(silence) == (
        f"the file {log} on box does not answer since {silence.seconds} s (network file system?)"
    )
    over = told[-1]  # before the data that came of it
    assert str(over) == f"the file {log} on box answers again, after {over.seconds} s"


async def test_a_log_that_hangs_from_the_begin_is_told_and_then_read(
    share: Hanging, there: Agent
) -> None:
    log, heard = share.folder / "log", asyncio.Queue[Silence]()
    log.write_bytes(b"one\n")
    share.hang()

    async with asyncio.timeout(LIMIT_S):
        with closing(follow_log(there, str(log), heed=heard.put_nowait)) as reader:
            reading = asyncio.ensure_future(anext(reader))
            told = [await heard.get()]
            share.free()
            event = await reading
            told += [heard.get_nowait() for _ in range(heard.qsize())]

    assert isinstance(event, LogData)
    assert event.data == b"one\n"
    assert [silence.is_over for silence in told[-2:]] == [False, True]


@pytest.mark.parametrize(
    "ask",
    [
        stat_file,
        read_file,
        find_log_files,
        lambda agent, path: agent.call("append", path=path, data=""),
        lambda agent, path: agent.call("list", path=path),
        lambda agent, path: agent.call("paths", paths=[path]),
        lambda agent, path: agent.call("watch_run", run=path),
    ],
    ids=["stat", "read", "log_files", "append", "list", "paths", "watch_run"],
)
async def test_a_request_for_a_file_that_hangs_ends_with_its_name(
    share: Hanging, there: Agent, ask: Callable[[Agent, str], Awaitable[object]]
) -> None:
    file = share.folder / "file"
    file.write_bytes(b"content")
    share.hang()

    with pytest.raises(SilenceError, match="does not answer since") as refused:
        await ask(there, str(file))
    assert refused.value.path == str(file)
    assert refused.value.exit_status == 3
    assert (await there.call("clock"))["boottime_ns"] > 0
    share.free()
    assert await read_file(there, str(file)) == b"content"


async def test_a_read_that_hangs_halfway_ends_with_the_files_name(
    share: Hanging, there: Agent
) -> None:
    file = share.folder / "file"
    file.write_bytes(bytes(3_000_000))
    stream = there.open("read", path=str(file), window=100_000)
    await anext(stream)
    share.hang()

    with pytest.raises(SilenceError, match=str(file)):
        async for _ in stream:
            pass


async def test_what_hangs_holds_no_more_threads_than_allowed_and_gives_them_back(
    share: Hanging, there: Agent
) -> None:
    file = share.folder / "file"
    file.write_bytes(b"content")
    share.hang()
    async with asyncio.timeout(LIMIT_S):
        asked = await asyncio.gather(
            *(stat_file(there, str(file)) for _ in range(60)), return_exceptions=True
        )
        again = await asyncio.gather(
            *(stat_file(there, str(file)) for _ in range(60)), return_exceptions=True
        )
    most = threads_of(there)
    share.free()

    assert all(isinstance(answer, SilenceError) for answer in [*asked, *again])
    assert most <= 60 + 4
    assert (await there.call("clock"))["boottime_ns"] > 0
    await until_threads(there, 3)
    facts = await stat_file(there, str(file))
    assert facts is not None
    assert facts.size == 7


async def test_a_follow_that_is_given_up_while_it_hangs_leaves_nothing_open(
    share: Hanging, there: Agent
) -> None:
    log, heard = share.folder / "log", asyncio.Queue[Silence]()
    log.write_bytes(b"one\n")
    files = Path(f"/proc/{there.hello['pid']}/fd")
    before = len(list(files.iterdir()))
    async with asyncio.timeout(LIMIT_S):
        with closing(follow_log(there, str(log), heed=heard.put_nowait)) as reader:
            await anext(reader)
            share.hang()
            log.write_bytes(b"one\ntwo\n")
            reading = asyncio.ensure_future(anext(reader, None))
            await heard.get()
        await reading
        held = len(list(files.iterdir()))
        share.free()
        while len(list(files.iterdir())) > before:
            await there.call("clock")

    assert held > before


async def test_an_agent_ends_with_its_client_though_a_file_hangs(
    share: Hanging, state: Path
) -> None:
    file = share.folder / "file"
    file.touch()
    async with open_agent(share.host, bundle=impatient_agent()) as agent:
        process = psutil.Process(agent.hello["pid"])
        share.hang()
        with pytest.raises(SilenceError):
            await stat_file(agent, str(file))

    assert not process.is_running()


async def test_a_call_that_the_kernel_holds_is_left_and_comes_back(
    state: Path, tmp_path: Path
) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(b"a")
    other.write_bytes(b"else")
    async with open_agent(
        local_host(), bundle=change_agent({"_HANGS_S = 1.0": "_HANGS_S = 0.1"})
    ) as agent:
        with leased(file) as is_wanted:
            append = asyncio.ensure_future(agent.call("append", path=str(file), data="Yg=="))
            while not is_wanted():
                await asyncio.sleep(0)
            content = await read_file(agent, str(other))
            threads = threads_of(agent)

            assert not append.done()
        result = await append

    assert content == b"else"
    assert threads == 3  # the one that waits, the one that serves, the one that looks
    assert result == {"size": 2}


async def test_a_wrong_guess_costs_nothing(state: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = [b"line %d\n" % number for number in range(3000)]
    hasty = change_agent(
        {"_CHECK_S = 2.0": "_CHECK_S = 0.0005", "_HANGS_S = 1.0": "_HANGS_S = 0.0"}
    )
    got = b""
    async with open_agent(local_host(), bundle=hasty) as agent:
        with closing(follow_log(agent, str(log))) as reader:
            for number, line in enumerate(lines):
                with log.open("ab") as file:
                    file.write(line)
                if number % 500 == 499:
                    log.rename(tmp_path / f"log.{number}")
                    log.touch()
                if number % 100 == 0:
                    facts = await stat_file(agent, str(log))
                    assert facts is not None
                    await read_file(agent, str(log))
            async with asyncio.timeout(LIMIT_S):
                async for event in reader:
                    if isinstance(event, LogData):
                        got += event.data
                    else:
                        assert isinstance(event, LogChanged)
                        assert event.state != "gap"
                    if len(got) >= sum(map(len, lines)):
                        break

    assert got == b"".join(lines)
