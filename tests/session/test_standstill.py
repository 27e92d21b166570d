"""Last words are waited for while the agent has no time, and not when it has nothing to say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from workbench import LIMIT_S

from firedup.core.event import Event, LogData
from firedup.host.frame import Data
from firedup.session import intake as module
from firedup.session.intake import PROMPT_ANSWERS, PROMPT_S, Intake

WORD = b"RuntimeError: the last word\n"
FACTS = {
    "path": "/log", "kind": "file", "size": len(WORD), "mode": 0, "uid": 0, "dev": 1, "ino": 2,
    "modified_wall_ns": 0, "real_path": "/log",
}  # fmt: skip
OPENED = {"state": "opened", "generation": 0, "dev": 1, "ino": 2, "at_ns": 0}


class StandIn:
    """An agent whose log has one more line, which `when_asked` may let through."""

    host = SimpleNamespace(name="box")

    def __init__(self, when_asked: Callable[[StandIn], None]) -> None:
        self.now_s, self.answers = 0.0, 0
        self.when_asked = when_asked
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        self.messages.put_nowait(SimpleNamespace(value=OPENED))

    async def call(self, op: str, **_: object) -> dict[str, Any]:
        if op == "stat":
            return FACTS
        self.answers += 1
        self.when_asked(self)
        return {}

    def open(self, _op: str, **_: object) -> StandIn:
        return self

    async def __anext__(self) -> Any:
        return await self.messages.get()

    def close(self) -> None:
        """Nothing is held."""


async def words_at_end(agent: Any, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """What has been fed when an end is no longer waited with."""
    fed = bytearray()

    def feed(event: Event) -> None:
        if isinstance(event, LogData):
            fed.extend(event.data)

    contact: Any = SimpleNamespace(
        heed=lambda _: None, hears=lambda _: None, date=lambda event: (event,)
    )
    monkeypatch.setattr(module, "PAUSE_S", 0.0)
    monkeypatch.setattr(module, "monotonic", lambda: agent.now_s)
    intake = Intake("/log", contact, feed)
    following = asyncio.ensure_future(intake.follow(agent))
    async with asyncio.timeout(LIMIT_S):
        await intake.catch_up(agent)
    following.cancel()
    await asyncio.wait([following])
    return bytes(fed)


async def test_slow_answers_are_no_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    def starve(agent: StandIn) -> None:
        agent.now_s += 2 * PROMPT_S
        if agent.answers == 5 * PROMPT_ANSWERS:
            agent.messages.put_nowait(Data(0, 0, 0, WORD))

    assert await words_at_end(StandIn(starve), monkeypatch) == WORD


async def test_prompt_answers_again_and_again_without_a_word_are_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = StandIn(lambda _: None)

    assert await words_at_end(agent, monkeypatch) == b""
    assert agent.answers == PROMPT_ANSWERS
