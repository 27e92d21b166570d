"""What a session saw reaches events.jsonl, whatever interrupts the writing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from firedup.core.event import Health
from firedup.host.link import Agent
from firedup.session.recorder import MAX_APPEND_BYTES, Recorder
from firedup.store.event import EventReader, encode_event

EVENTS = [Health(number, 503) for number in range(2000)]


class Deaf:
    """An agent whose answers never come."""

    def __init__(self) -> None:
        self.was_asked = asyncio.Event()

    async def call(self, op: str, **_: Any) -> dict[str, Any]:
        self.was_asked.set()
        await asyncio.Event().wait()
        raise AssertionError(op)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def recorded(path: Path) -> list[object]:
    reader = EventReader()
    return [*reader.feed(path.read_bytes()), *reader.close()]


async def test_what_a_cancelled_flush_had_in_hand_is_left_to_the_next(
    agent: Agent, path: Path
) -> None:
    deaf = Deaf()
    recorder = Recorder(deaf, str(path))  # type: ignore[arg-type]
    for event in EVENTS:
        recorder.add(event)
    flushing = asyncio.ensure_future(recorder.flush())
    await deaf.was_asked.wait()
    flushing.cancel()
    await asyncio.wait([flushing])

    recorder.use(agent)
    await recorder.flush()

    assert sum(map(len, map(encode_event, EVENTS))) > 2 * MAX_APPEND_BYTES
    assert recorded(path) == EVENTS


async def test_two_who_flush_at_once_write_each_event_once_and_in_order(
    agent: Agent, path: Path
) -> None:
    recorder = Recorder(agent, str(path))
    for event in EVENTS:
        recorder.add(event)

    await asyncio.gather(recorder.flush(), recorder.flush())

    assert recorded(path) == EVENTS
