import asyncio
import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from firedup.core.event import LogChanged, LogData
from firedup.host.base import OperationError, local_host
from firedup.host.file import LogPosition, LogReader, follow_log
from firedup.host.link import Agent, open_agent

LIMIT_S = 100.0


class Collected:
    """What a reader gave out so far: the bytes of each generation, and the changes."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self.generations: dict[int, bytes] = {}
        self.changes: list[tuple[str, int]] = []
        self.lost: list[int | None] = []
        self.ends: dict[int, int] = {}

    async def until(self, is_enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not is_enough():
                self.take(await anext(self.reader))

    def take(self, event: LogData | LogChanged) -> None:
        match event:
            case LogData(_, generation, offset, data):
                end = self.ends.get(generation)
                assert end is None or offset == end, "bytes lost or doubled"
                self.ends[generation] = offset + len(data)
                self.generations[generation] = self.generations.get(generation, b"") + data
            case LogChanged(_, state, generation, lost):
                self.changes.append((state, generation))
                self.lost.append(lost)

    def text(self, generation: int = 0) -> bytes:
        return self.generations.get(generation, b"")

    async def until_text(self, text: bytes, generation: int = 0) -> None:
        await self.until(lambda: self.text(generation) == text)

    async def until_change(self, state: str) -> None:
        await self.until(lambda: any(name == state for name, _ in self.changes))


@asynccontextmanager
async def following(
    agent: Agent, path: Path, position: LogPosition | None = None, window: int = 1 << 20
) -> AsyncIterator[Collected]:
    reader = follow_log(agent, str(path), position, window=window)
    try:
        yield Collected(reader)
    finally:
        reader.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(data)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


async def test_what_is_there_comes_first_and_then_what_is_new(agent: Agent, log: Path) -> None:
    log.write_bytes(b"one\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"one\n")
        append(log, b"tw")
        await seen.until_text(b"one\ntw")
        append(log, b"o\n")
        await seen.until_text(b"one\ntwo\n")

    assert seen.changes == []


async def test_an_offset_is_where_reading_begins(agent: Agent, log: Path) -> None:
    log.write_bytes(b"old\nnew\n")
    async with following(agent, log, LogPosition(offset=4)) as seen:
        await seen.until_text(b"new\n")

        assert seen.ends == {0: 8}


async def test_a_log_that_is_not_there_yet_is_waited_for(agent: Agent, log: Path) -> None:
    async with following(agent, log) as seen:
        await seen.until_change("missing")
        log.write_bytes(b"born\n")
        await seen.until_text(b"born\n")

    assert seen.changes == [("missing", 0), ("appeared", 0)]


async def test_folders_that_are_not_there_yet_are_waited_for(agent: Agent, tmp_path: Path) -> None:
    log = tmp_path / "a" / "b" / "server.log"
    async with following(agent, log) as seen:
        await seen.until_change("missing")
        log.parent.parent.mkdir()
        log.parent.mkdir()
        log.write_bytes(b"deep\n")
        await seen.until_text(b"deep\n")


async def test_a_renamed_log_is_read_until_its_successor_has_content(
    agent: Agent, log: Path
) -> None:
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
        with log.open("ab", buffering=0) as writer:
            log.rename(log.with_suffix(".log.1"))
            await seen.until_change("missing")
            writer.write(b"2 after the rename\n")
            await seen.until_text(b"1\n2 after the rename\n")
            log.touch()
            writer.write(b"3 after the new file\n")
            await seen.until_text(b"1\n2 after the rename\n3 after the new file\n")
        log.write_bytes(b"new\n")
        await seen.until_text(b"new\n", generation=1)

    assert seen.changes == [("missing", 0), ("rotated", 1)]


async def test_a_replaced_log_is_drained_before_its_successor(agent: Agent, log: Path) -> None:
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
        append(log, b"2\n")
        log.rename(log.with_suffix(".log.1"))
        log.write_bytes(b"new\n")
        await seen.until_text(b"new\n", generation=1)

    assert seen.text(0) == b"1\n2\n"
    assert ("rotated", 1) in seen.changes


async def test_a_deleted_log_is_drained_and_its_successor_found(agent: Agent, log: Path) -> None:
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
        append(log, b"2\n")
        log.unlink()
        await seen.until_change("missing")
        assert seen.text() == b"1\n2\n"
        log.write_bytes(b"new\n")
        await seen.until_text(b"new\n", generation=1)

    assert seen.changes == [("missing", 0), ("rotated", 1)]


async def test_a_log_that_comes_back_under_its_name_goes_on(agent: Agent, log: Path) -> None:
    log.write_bytes(b"1\n")
    away = log.with_name("away")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
        log.rename(away)
        await seen.until_change("missing")
        away.rename(log)
        await seen.until_change("appeared")
        append(log, b"2\n")
        await seen.until_text(b"1\n2\n")

    assert seen.changes == [("missing", 0), ("appeared", 0)]


async def test_a_truncated_log_begins_a_new_generation(agent: Agent, log: Path) -> None:
    log.write_bytes(b"0123456789\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"0123456789\n")
        os.truncate(log, 0)
        await seen.until_change("truncated")
        append(log, b"new\n")
        await seen.until_text(b"new\n", generation=1)

    assert seen.changes == [("truncated", 1)]


async def test_a_log_that_was_rewritten_longer_begins_a_new_generation(
    agent: Agent, log: Path
) -> None:
    log.write_bytes(b"first start\n" * 10)
    async with following(agent, log) as seen:
        await seen.until_text(b"first start\n" * 10)
        log.write_bytes(b"second start\n" * 100)
        await seen.until_text(b"second start\n" * 100, generation=1)

    assert seen.changes == [("truncated", 1)]


async def test_what_a_copying_rotator_kept_is_read_from_its_copy(agent: Agent, log: Path) -> None:
    """The reader has no credit left while the log grows, is copied and truncated."""
    first, unread = b"a" * 4000 + b"\n", b"b" * 50000 + b"\n"
    log.write_bytes(first)
    async with following(agent, log, window=2048) as seen:
        await seen.until(lambda: len(seen.text()) >= 1000)
        append(log, unread)
        log.with_name("server.log.1").write_bytes(log.read_bytes())
        os.truncate(log, 0)
        append(log, b"new\n")
        await seen.until_text(b"new\n", generation=1)

    assert seen.text(0) == first + unread
    assert seen.changes == [("truncated", 1)]


@pytest.mark.parametrize("acts", ["cc", "cr", "ccr", "crc", "ccc", "crr"])
async def test_what_was_copied_and_moved_while_nobody_read_is_read_in_order(
    agent: Agent, log: Path, acts: str
) -> None:
    """c: copied and truncated, r: renamed; each with content of its own before."""
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
    contents = [b"%d content %d\n" % (n, n) for n in range(len(acts) + 1)]
    for number, act in enumerate(acts):
        append(log, contents[number])
        for older in sorted(log.parent.glob("server.log.*"), reverse=True):
            older.rename(older.with_suffix(f".{int(older.suffix[1:]) + 1}"))
        newest = log.with_name("server.log.1")
        if act == "c":
            newest.write_bytes(log.read_bytes())
            os.truncate(log, 0)
        else:
            log.rename(newest)
    append(log, contents[-1])
    async with following(agent, log, seen.reader.position) as rest:
        await rest.until_text(contents[-1], generation=len(acts))

    assert [rest.text(n) for n in range(len(acts) + 1)] == contents
    assert not [state for state, _ in rest.changes if state == "gap"]


async def test_a_break_while_a_copy_is_read_loses_nothing(agent: Agent, log: Path) -> None:
    first, unread = b"a" * 4000 + b"\n", b"b" * 50000 + b"\n"
    log.write_bytes(first)
    async with following(agent, log, window=2048) as seen:
        await seen.until(lambda: len(seen.text()) >= 1000)
        append(log, unread)
        log.with_name("server.log.1").write_bytes(log.read_bytes())
        os.truncate(log, 0)
        append(log, b"new\n")
        await seen.until(lambda: len(seen.text()) >= 9000)
    async with following(agent, log, seen.reader.position) as rest:
        await rest.until_text(b"new\n", generation=1)

    assert seen.text(0) + rest.text(0) == first + unread
    assert [generation for _, generation in rest.changes] == [1]


async def test_what_was_destroyed_unread_is_told_as_a_gap(agent: Agent, log: Path) -> None:
    log.write_bytes(b"x" * 10000)
    async with following(agent, log, window=2048) as seen:
        await seen.until(lambda: len(seen.text()) >= 2000)
        os.truncate(log, 0)
        append(log, b"new\n")
        await seen.until_text(b"new\n", generation=1)

    assert seen.changes == [("gap", 0), ("truncated", 1)]
    assert seen.lost[0] == 10000 - len(seen.text(0))


async def test_the_hole_of_a_writer_without_append_is_passed_over(agent: Agent, log: Path) -> None:
    with log.open("wb", buffering=0) as writer:
        writer.write(b"x" * 300_000)
        async with following(agent, log) as seen:
            await seen.until_text(b"x" * 300_000)
            os.truncate(log, 0)
            await seen.until_change("truncated")
            writer.write(b"new\n")
            await seen.until(lambda: seen.text(1).endswith(b"new\n"))

    assert len(seen.text(1)) <= 4096 + 4
    assert seen.ends[1] == 300_004


async def test_a_link_is_followed_and_its_new_target_too(agent: Agent, tmp_path: Path) -> None:
    one, two, log = tmp_path / "one", tmp_path / "two", tmp_path / "current"
    one.write_bytes(b"1\n")
    two.write_bytes(b"2\n")
    log.symlink_to(one)
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
        other = tmp_path / "other"
        other.symlink_to(two)
        other.rename(log)
        await seen.until_text(b"2\n", generation=1)


async def test_a_later_agent_goes_on_at_the_exact_byte(
    agent: Agent, log: Path, state: Path
) -> None:
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
    append(log, b"2\n")

    async with (
        open_agent(local_host()) as later,
        following(later, log, seen.reader.position) as rest,
    ):
        await rest.until_text(b"2\n")

    assert rest.ends == {0: 4}
    assert rest.changes == []


async def test_a_rotation_between_two_agents_loses_nothing(agent: Agent, log: Path) -> None:
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
    append(log, b"2\n")
    log.rename(log.with_suffix(".log.1"))
    log.write_bytes(b"new\n")

    async with following(agent, log, seen.reader.position) as rest:
        await rest.until_text(b"new\n", generation=1)

    assert rest.text(0) == b"2\n"
    assert rest.changes == [("rotated", 1)]


async def test_a_log_replaced_between_two_agents_is_told_as_a_gap(agent: Agent, log: Path) -> None:
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
    log.unlink()
    log.with_name("unrelated").write_bytes(b"keeps the inode from being used again")
    log.write_bytes(b"new and longer\n")

    async with following(agent, log, seen.reader.position) as rest:
        await rest.until_text(b"new and longer\n", generation=1)

    assert rest.changes[-1][0] in ("rotated", "truncated")


async def test_a_folder_is_no_log(agent: Agent, tmp_path: Path) -> None:
    async with following(agent, tmp_path) as seen:
        with pytest.raises(OperationError, match="not a regular file") as caught:
            await seen.until_text(b"never")

    assert caught.value.code == "not-a-file"


WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(int(sys.argv[2])):
    os.write(file, b"line %d\\n" % number)
"""


async def test_many_small_writes_arrive_whole(agent: Agent, log: Path) -> None:
    count = 20_000
    expected = b"".join(b"line %d\n" % number for number in range(count))
    async with following(agent, log) as seen:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(log), str(count)
        )
        await seen.until(lambda: len(seen.text()) >= len(expected))
        await process.wait()

    assert seen.text() == expected


async def test_lines_survive_a_rotator_that_renames_all_the_time(agent: Agent, log: Path) -> None:
    """A writer that reopens by name after each rename, as servers with a log handler do."""
    code = """
import os, sys
path = sys.argv[1]
for turn in range(30):
    with open(path, "ab", 0) as file:
        for number in range(200):
            file.write(b"%d:%d\\n" % (turn, number))
    if turn < 29:
        os.rename(path, "%s.%d" % (path, turn))
"""
    expected = [b"%d:%d" % (turn, number) for turn in range(30) for number in range(200)]
    expected.append(b"begin")
    lines: list[bytes] = []
    log.write_bytes(b"begin\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"begin\n")
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(log))

        def gather() -> bool:
            lines[:] = b"".join(seen.generations[g] for g in sorted(seen.generations)).split(b"\n")
            return lines[-2:] == [b"29:199", b""] if len(lines) > 1 else False

        await seen.until(gather)
        await process.wait()

    assert sorted(lines[:-1]) == sorted(expected)


async def test_logs_rotated_twice_between_two_agents_are_all_read(agent: Agent, log: Path) -> None:
    log.write_bytes(b"1\n")
    async with following(agent, log) as seen:
        await seen.until_text(b"1\n")
    append(log, b"2\n")
    log.rename(log.with_name("server.log.2"))
    log.with_name("server.log.1").write_bytes(b"between\n")
    log.write_bytes(b"new\n")
    log.with_name("server.log.0.gz").write_bytes(b"\x1f\x8bpacked")
    log.with_name("server.log.copy").write_bytes(b"1\n2\n")

    async with following(agent, log, seen.reader.position) as rest:
        await rest.until_text(b"new\n", generation=2)

    assert rest.generations == {0: b"2\n", 1: b"between\n", 2: b"new\n"}
    assert rest.changes == [("rotated", 1), ("rotated", 2)]


async def test_a_burst_arrives_whole_while_little_of_it_waits(agent: Agent, log: Path) -> None:
    """100 MB in one go, through a reader that holds at most its window."""
    code = (
        "import os, sys\n"
        "file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "for number in range(100):\n"
        "    os.write(file, (b'%099d\\n' % number) * 10000)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(log))
    reader = follow_log(agent, str(log), window=262144)
    size, most = 0, 0
    digest = hashlib.sha256()
    async with asyncio.timeout(LIMIT_S):
        while size < 100_000_000:
            event = await anext(reader)
            if isinstance(event, LogData):
                assert event.offset == size
                size += len(event.data)
                digest.update(event.data)
            most = max(most, reader.waiting_bytes)
        await process.wait()
    reader.close()

    expected = hashlib.sha256()
    for number in range(100):
        expected.update(b"%099d\n" % number * 10000)
    assert digest.digest() == expected.digest()
    assert most <= 262144 + 65536


async def test_a_reader_that_stands_still_holds_up_nothing_but_itself(
    agent: Agent, log: Path
) -> None:
    """60 MB are written and the log is renamed twice, while the reader takes nothing."""
    code = (
        "import os, sys\n"
        "for turn in range(3):\n"
        "    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "    for number in range(20):\n"
        "        os.write(file, b'%d:%097d\\n' % (turn, number) * 10000)\n"
        "    if turn < 2:\n"
        "        os.rename(sys.argv[1], '%s.%d' % (sys.argv[1], turn))\n"
    )
    window = 65536
    process = psutil.Process(agent.hello["pid"])
    log.write_bytes(b"begin\n")
    async with following(agent, log, window=window) as seen:
        await seen.until_text(b"begin\n")
        before = process.memory_info().rss
        writer = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(log))
        await writer.wait()
        await agent.call("clock")  # the agent has looked since

        assert seen.reader.waiting_bytes <= window + 65536
        assert process.memory_info().rss - before < 8 << 20
        await seen.until(lambda: len(seen.text(2)) == 20 * 10000 * 100)

    for turn in range(3):
        part = b"".join(b"%d:%097d\n" % (turn, number) * 10000 for number in range(20))
        assert seen.text(turn) == (b"begin\n" if turn == 0 else b"") + part
    assert [change for change in seen.changes if change[0] != "missing"] == [
        ("rotated", 1),
        ("rotated", 2),
    ]


async def test_a_follow_that_cannot_begin_leaves_nothing_open(agent: Agent, tmp_path: Path) -> None:
    files = Path(f"/proc/{agent.hello['pid']}/fd")
    before = len(list(files.iterdir()))
    for _ in range(5):
        with pytest.raises(OperationError):
            await anext(agent.open("follow", path=f"{tmp_path}/a\0b"))

    assert len(list(files.iterdir())) == before


async def test_a_watch_that_cannot_begin_leaves_nothing_open(agent: Agent) -> None:
    folder = Path(agent.hello["runs_folder"], "one")
    folder.mkdir(parents=True)
    nobody = {"pid": 1 << 70, "start_ticks": 1}  # more than any process may have
    keeper = {"boot_id": agent.hello["boot_id"], **nobody, "server": nobody}
    (folder / "keeper.json").write_text(json.dumps(keeper))
    files = Path(f"/proc/{agent.hello['pid']}/fd")
    before = len(list(files.iterdir()))
    for _ in range(5):
        with pytest.raises(OperationError):
            await anext(agent.open("watch_run", run="one"))

    assert len(list(files.iterdir())) == before
