"""Asks a starting server whether it is ready: port owner, health route, first tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from firedup.core.event import Event, Health, Token
from firedup.core.model import Ownership, Snapshot
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.process import fetch_port, sample_tree
from firedup.probe.accept import read_acceptance, read_counts
from firedup.probe.target import Target
from firedup.probe.token import DEADLINE_S, PROMPT, ask_token

_OK = 200
# Polls of a health route leave lines in some engines' logs, so they are few and grow rarer.
FIRST_PAUSE_S, LAST_PAUSE_S = 0.25, 2.0
RETRY_TOKEN_S = 10.0
PORT_PAUSE_S = 1.0


@dataclass(slots=True)
class Prober:
    """Runs beside the log until the server has proved itself.

    `feed` takes events for the pipeline, `look` gives the present snapshot, `identity` the pid and
    start ticks of the server when they are known. Wake it by `nudge.set()` when something was
    seen; nothing is asked over HTTP before the log says ready or the port is open.
    """

    target: Target
    feed: Callable[[Event], None]
    look: Callable[[], Snapshot]
    now_ns: Callable[[], int]
    identity: Callable[[], tuple[int, int] | None]
    prompt: str = PROMPT
    max_tokens: int | None = None
    deadline_s: float = DEADLINE_S
    nudge: asyncio.Event = field(default_factory=asyncio.Event)
    is_done: bool = False
    _last: dict[type, tuple[object, ...]] = field(default_factory=dict)

    def use(self, agent: Agent) -> None:
        """Ask through `agent` from now on (the link was renewed)."""
        self.target = replace(self.target, agent=agent)

    async def run(self) -> None:
        """Ask until the first tokens came, then end."""
        if self.target.spec.port is None:
            self.is_done = True
            return
        pause_s = FIRST_PAUSE_S
        while not self.is_done:
            if await self._is_worth_asking():
                pause_s = FIRST_PAUSE_S if await self.ask() else min(LAST_PAUSE_S, pause_s * 1.5)
            self.nudge.clear()
            await self._wait(pause_s if self._is_open() else PORT_PAUSE_S)

    async def ask(self) -> bool:
        """One round of questions; True when it got further than the last round."""
        before = (self.is_done, dict(self._last))
        ownership = await self._ask_owner()
        if ownership is not None and await self._ask_health() and ownership is not Ownership.NO:
            await self._ask_token()
        return before != (self.is_done, self._last)

    async def _ask_owner(self) -> Ownership | None:
        spec, own = self.target.spec, set[int]()
        known = self.identity()
        if known is not None:
            own.add(known[0])
            try:
                sample = await sample_tree(self.target.agent, known[0], start_ticks=known[1])
                own |= {process.pid for process in sample.processes}
            except OperationError:
                return None  # it is gone; its exit will be told by others
        facts = await fetch_port(self.target.agent, spec.port or 0)
        owner = facts.judge(own, bind=spec.bind)
        if known is None and owner.owner is Ownership.NO:
            # Without a process to compare with, a stranger and the server look alike.
            owner = replace(owner, owner=Ownership.UNKNOWN)
        self._tell(owner, owner.owner, owner.pid)
        return owner.owner

    async def _ask_health(self) -> bool:
        path = self.target.spec.health_path or self.target.http.health or "/health"
        try:
            answer = await self.target.get(path)
            health = Health(answer.at_ns, answer.status)
        except OperationError as error:
            health = Health(self.now_ns(), None, error.what)
        self._tell(health, health.status, health.error)
        return health.status == _OK

    async def _ask_token(self) -> None:
        spec = self.target.spec
        before = await read_counts(self.target) if spec.asks_for_speculation else None
        asked = await ask_token(
            self.target,
            self.now_ns(),
            prompt=self.prompt,
            max_tokens=self.max_tokens,
            deadline_s=self.deadline_s,
        )
        self._tell(asked.event, asked.event.has_answered, asked.event.error)
        if asked.event.has_answered and spec.asks_for_speculation:
            self.feed(await read_acceptance(self.target, self.now_ns(), asked.answer, before))
        self.is_done = asked.event.has_answered or asked.event.is_skipped
        if not self.is_done:
            await self._wait(RETRY_TOKEN_S)

    async def _is_worth_asking(self) -> bool:
        if self._is_open():
            return True
        if self.identity() is not None:
            return False  # samples show the tree's ports as soon as one is opened
        facts = await fetch_port(self.target.agent, self.target.spec.port or 0)
        return bool(facts.listeners)

    def _is_open(self) -> bool:
        snapshot = self.look()
        return bool(snapshot.checks.log) or snapshot.has_open_port

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.nudge.wait()
        except TimeoutError:
            pass

    def _tell(self, event: Event, *facts: object) -> None:
        """Feed an answer unless it is the same as the last of its kind."""
        if self._last.get(type(event)) != facts or isinstance(event, Token):
            self._last[type(event)] = facts
            self.feed(event)
