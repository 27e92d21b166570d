"""Asks a starting server whether it is ready: port owner, health route, first tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Protocol

from firedup.core.event import Event, Health, Token
from firedup.core.model import Ownership
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.process import PortFacts, fetch_port, sample_tree
from firedup.probe.accept import read_acceptance, read_counts
from firedup.probe.target import Target
from firedup.probe.token import DEADLINE_S, PROMPT, ask_token

_OK = 200
# Polls of a health route leave lines in some engines' logs, so they are few and grow rarer.
FIRST_PAUSE_S, LAST_PAUSE_S = 0.25, 2.0
RETRY_TOKEN_S = 10.0
PORT_PAUSE_S = 1.0


class Sight(Protocol):
    """What is known of the server so far, cheap enough to be asked at every event."""

    @property
    def is_log_ready(self) -> bool:
        """Whether its log says that it is ready."""

    @property
    def has_open_port(self) -> bool:
        """Whether its processes listen on its port."""

    @property
    def pids(self) -> frozenset[int]:
        """Its processes at the newest sample."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a server that was ready says later."""

    health: Health
    token: Token


class Step(IntEnum):
    """How far a round of questions got."""

    GONE = 0  # its process is not there
    CLOSED = 1  # nobody listens, or somebody else
    UNHEALTHY = 2
    HEALTHY = 3
    PROVEN = 4


@dataclass(slots=True)
class Prober:
    """Runs beside the log until the server has proved itself.

    `feed` takes events for the pipeline, `sight` tells what that knows, `identity` the pid and
    start ticks of the server when they are known, `family` its processes as far as the host can
    find them, `look` who listens on a port. Call `notice` after each event: nothing is asked over
    HTTP before the log says ready or the port is open, and then at once.
    """

    target: Target
    feed: Callable[[Event], None]
    sight: Sight
    now_ns: Callable[[], int]
    identity: Callable[[], tuple[int, int] | None]
    family: Callable[[Agent], Awaitable[frozenset[int]]]
    prompt: str = PROMPT
    max_tokens: int | None = None
    deadline_s: float = DEADLINE_S
    is_done: bool = False
    can_ask_again: bool = True  # once it is done
    look: Callable[[Agent, int], Awaitable[PortFacts]] = fetch_port
    _has_seen: tuple[bool, bool] = (False, False)
    _nudge: asyncio.Event = field(default_factory=asyncio.Event)
    _last: dict[type, tuple[object, ...]] = field(default_factory=dict)

    def notice(self) -> None:
        """Wake up when the server first says that it is ready or first listens, and for no more."""
        before = self._has_seen
        is_ready = before[0] or self.sight.is_log_ready
        # An open port tells nothing new of a server that says that it is ready.
        self._has_seen = (is_ready, is_ready or before[1] or self.sight.has_open_port)
        if self._has_seen != before:
            self._nudge.set()

    def use(self, agent: Agent) -> None:
        """Ask through `agent` from now on (the link was renewed)."""
        self.target = replace(self.target, agent=agent)

    async def run(self) -> None:
        """Ask until the first tokens came, then end."""
        if self.target.spec.port is None:
            self.is_done = True
            return
        pause_s, furthest = FIRST_PAUSE_S, Step.GONE
        while not self.is_done:
            self._nudge.clear()
            if not await self._is_worth_asking():
                await self._wait(PORT_PAUSE_S)
                continue
            step = await self.ask()
            if step >= Step.HEALTHY:
                await self._wait(RETRY_TOKEN_S if step is Step.HEALTHY else 0.0)
                continue
            pause_s = FIRST_PAUSE_S if step > furthest else min(LAST_PAUSE_S, pause_s * 1.5)
            furthest = max(step, furthest)
            await self._wait(pause_s)

    async def ask(self) -> Step:
        """One round of questions; says how far it got."""
        ownership, is_there = await self._ask_owner()
        if not is_there:
            return Step.GONE
        if ownership is None:
            return Step.CLOSED
        is_healthy = await self._ask_health(ownership)
        if ownership is Ownership.NO:
            return Step.CLOSED
        if not is_healthy:
            return Step.UNHEALTHY
        await self._ask_token()
        return Step.PROVEN if self.is_done else Step.HEALTHY

    async def ask_again(self) -> Answers:
        """The answers to one more question, which are not fed; for a server that was ready."""
        health = await self._fetch_health(self.target)
        asked = await ask_token(
            self.target, self.now_ns(), max_tokens=1, deadline_s=self.deadline_s
        )
        return Answers(health, asked.event)

    async def _ask_owner(self) -> tuple[Ownership | None, bool]:
        """Whose the port is, and whether the server's process is there."""
        spec, known = self.target.spec, self.identity()
        own = set(self.sight.pids) | ({known[0]} if known is not None else set())
        facts = await self.look(self.target.agent, spec.port or 0)
        owner = facts.judge(own, bind=spec.bind)
        if owner.owner in (Ownership.NO, None) and known is not None:
            # The newest sample may be older than the process that listens, or without its orphans;
            # and what a dead server does not hold any more says nothing about its start.
            try:
                sample = await sample_tree(self.target.agent, known[0], start_ticks=known[1])
                own |= {process.pid for process in sample.processes}
            except OperationError:
                return None, False  # it is gone; its exit will be told by others
            if owner.owner is Ownership.NO:
                own |= await self.family(self.target.agent)
                owner = facts.judge(own, bind=spec.bind)
        if known is None and owner.owner is Ownership.NO:
            # Without a process to compare with, a stranger and the server look alike.
            owner = replace(owner, owner=Ownership.UNKNOWN)
        self._tell(owner, owner.owner, owner.pid)
        return owner.owner, True

    async def _ask_health(self, ownership: Ownership) -> bool:
        is_foreign = ownership is Ownership.NO  # whoever that is gets no key
        target = replace(self.target, key=None) if is_foreign else self.target
        health = await self._fetch_health(target)
        self._tell(health, health.status, health.error)
        return health.status == _OK

    async def _fetch_health(self, target: Target) -> Health:
        path = target.spec.health_path or target.http.health or "/health"
        try:
            answer = await target.get(path)
        except OperationError as error:
            return Health(self.now_ns(), None, error.what)
        return Health(answer.at_ns, answer.status)

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

    async def _is_worth_asking(self) -> bool:
        if self.sight.is_log_ready or self.sight.has_open_port:
            return True
        if self.identity() is not None:
            return False  # samples show the tree's ports as soon as one is opened
        facts = await self.look(self.target.agent, self.target.spec.port or 0)
        return bool(facts.listeners)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._nudge.wait()
        except TimeoutError:
            pass

    def _tell(self, event: Event, *facts: object) -> None:
        """Feed an answer unless it is the same as the last of its kind."""
        if self._last.get(type(event)) != facts or isinstance(event, Token):
            self._last[type(event)] = facts
            self.feed(event)
