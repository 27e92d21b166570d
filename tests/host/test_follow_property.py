"""Whatever a rotator does and however the reader pauses: the writer's bytes, minus reported gaps.

The agent's stream is driven without its loop, so that no example depends on time.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firedup.host.agent.follow import Follow
from firedup.host.agent.wire import DATA, DATA_HEADER

RECORD = 8
START_NS = 1_800_000_000_000_000_000


class Bench:
    """Stands in for the agent's loop: hands notices on when it is told to."""

    def __init__(self) -> None:
        self.handlers: dict[int, Callable[[], None]] = {}

    def watch(self, file: int, handler: Callable[[], None]) -> None:
        self.handlers[file] = handler

    def unwatch(self, file: int) -> None:
        self.handlers.pop(file, None)

    def hand_on(self) -> None:
        poll = select.poll()
        for file in self.handlers:
            poll.register(file, select.POLLIN)
        for file, _ in poll.poll(0):
            self.handlers[file]()


class Reader:
    """Reads the stream, with pauses, and keeps what it gave."""

    def __init__(self, path: Path, **args: object) -> None:
        self.bench = Bench()
        self.stream = Follow(self.bench, 1, {"path": str(path), **args})  # type: ignore[arg-type]
        self.data = b""
        self.ends: dict[int, int] = {}
        self.gaps: list[int | None] = []
        self.states: list[str] = []

    def look(self, credit: int = 1 << 20) -> None:
        """Take notices, and read until there is nothing new or `credit` bytes came."""
        self.stream.credit = credit
        self.bench.hand_on()
        if credit:
            self.stream.on_due()  # as after each of its own looks
        while room := max(0, self.stream.credit) // RECORD * RECORD:  # whole records
            made = self.stream.produce(room)
            if made is None:
                break
            kind, payload = made
            self.stream.credit -= len(payload)
            if kind == DATA:
                self._take(payload)
                continue
            event = json.loads(payload)
            self.states.append(event["state"])
            if event["state"] == "gap":
                self.gaps.append(event["lost_bytes"])

    def _take(self, payload: bytes) -> None:
        _, generation, offset = DATA_HEADER.unpack_from(payload)
        data = payload[DATA_HEADER.size :]
        assert offset == self.ends.get(generation, 0)
        self.ends[generation] = offset + len(data)
        self.data += data

    def pause(self) -> None:
        self.look(0)


class Writer:
    """A server and its rotator. Files are dated as if a second passed between two steps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.turn = 0
        self.now_ns = START_NS
        self.file = self._open()

    def _open(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _date(self, file: int | Path) -> None:
        self.now_ns += 1_000_000_000
        os.utime(file, ns=(self.now_ns, self.now_ns))

    def append(self, records: int) -> None:
        text = b"".join(b"%07d\n" % (self.count + i) for i in range(records))
        self.count += records
        os.write(self.file, text)
        self._date(self.file)

    def _reopen(self) -> None:
        os.close(self.file)
        self.file = self._open()

    def rename(self) -> None:
        """Numbers that rise; the server goes on writing into the file it has open."""
        self.turn += 1
        if self.path.exists():
            self.path.rename(f"{self.path}.{self.turn:03}")

    def reopen(self) -> None:
        self._reopen()

    def copytruncate(self) -> None:
        if self.path.exists():
            self.turn += 1
            copy = Path(f"{self.path}.{self.turn:03}")
            copy.write_bytes(self.path.read_bytes())
            self._date(copy)
            self.truncate()

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        self._reopen()

    def truncate(self) -> None:
        if self.path.exists():
            os.truncate(self.path, 0)
            self._date(self.path)


@contextmanager
def followed(**args: object) -> Iterator[tuple[Writer, Reader]]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "server.log")
        writer = Writer(path)
        reader = Reader(path, **args)
        try:
            yield writer, reader
        finally:
            reader.stream.close()
            os.close(writer.file)


def missing_bytes(writer: Writer, reader: Reader) -> int:
    """How much of what was written was not read; what was read is in order and nothing twice."""
    records = [int(line) for line in reader.data.splitlines()]
    assert len(reader.data) == RECORD * len(records)
    assert records == sorted(set(records))
    return RECORD * (writer.count - len(records))


MOVES = ("rename", "reopen", "copytruncate", "delete", "truncate")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 80)),
        st.tuples(st.sampled_from(MOVES), st.just(0)),
    ),
    max_size=14,
)


def step(writer: Writer, name: str, records: int) -> None:
    if name == "append":
        writer.append(records)
    else:
        getattr(writer, name)()


@settings(max_examples=150)
@given(STEPS)
@example([("append", 1), ("rename", 0), ("append", 1), ("delete", 0), ("append", 2)])
def test_a_reader_that_keeps_up_misses_nothing(steps: list[tuple[str, int]]) -> None:
    with followed() as (writer, reader):
        reader.look()
        for name, records in steps:
            step(writer, name, records)
            reader.look()
        reader.look()

        assert missing_bytes(writer, reader) == 0
        assert reader.gaps == []


@settings(max_examples=300)
@given(STEPS, st.lists(st.integers(0, 900), max_size=14))
def test_a_reader_that_pauses_misses_no_more_than_it_is_told(
    steps: list[tuple[str, int]], credits_given: list[int]
) -> None:
    with followed() as (writer, reader):
        reader.look()
        for number, (name, records) in enumerate(steps):
            step(writer, name, records)
            reader.pause()
            reader.look(credits_given[number] if number < len(credits_given) else 0)
        writer.reopen()
        reader.pause()
        writer.append(1)  # what is lost is told when something new comes
        reader.look()

        missing = missing_bytes(writer, reader)
        assert None not in reader.gaps
        assert missing <= sum(gap or 0 for gap in reader.gaps)


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 80)),
            st.tuples(st.just("rename"), st.just(0)),
            st.tuples(st.just("reopen"), st.just(0)),
        ),
        max_size=14,
    ),
    st.lists(st.integers(0, 900), max_size=14),
)
def test_a_rotator_that_only_renames_costs_nothing_however_the_reader_pauses(
    steps: list[tuple[str, int]], credits_given: list[int]
) -> None:
    with followed() as (writer, reader):
        reader.look()
        for number, (name, records) in enumerate(steps):
            step(writer, name, records)
            reader.pause()
            reader.look(credits_given[number] if number < len(credits_given) else 0)
        reader.look()

        assert missing_bytes(writer, reader) == 0
        assert reader.gaps == []


def test_a_network_file_system_that_shows_an_old_size_is_not_believed() -> None:
    with followed(polls=True, settle_s=3600.0) as (writer, reader):
        writer.append(100)
        reader.look()
        whole = writer.path.read_bytes()
        os.truncate(writer.path, 240)
        reader.look()
        writer.path.write_bytes(whole)
        writer.append(1)
        reader.look()

        assert missing_bytes(writer, reader) == 0
        assert reader.states == ["opened"]


def test_a_network_file_system_is_believed_after_a_while() -> None:
    with followed(polls=True, settle_s=0.0) as (writer, reader):
        writer.append(100)
        reader.look()
        os.truncate(writer.path, 0)
        reader.look()
        writer.append(1)
        reader.look()

        assert missing_bytes(writer, reader) == 0
        assert reader.states == ["opened", "truncated"]


@pytest.mark.parametrize("mode", ["rename", "copytruncate", "delete", "truncate"])
def test_a_successor_that_goes_while_the_reader_pauses_is_counted(mode: str) -> None:
    """Two rotations between two reads: the second file is seen by its notices alone."""
    with followed() as (writer, reader):
        writer.append(3)
        reader.look()
        writer.rename()
        writer.reopen()
        reader.pause()
        writer.append(5)
        reader.pause()
        step(writer, mode, 0)
        writer.reopen()
        reader.pause()
        writer.append(7)
        reader.look()

        missing = missing_bytes(writer, reader)
        assert missing == (5 * RECORD if mode in ("delete", "truncate") else 0)
        assert sum(gap or 0 for gap in reader.gaps) >= missing
