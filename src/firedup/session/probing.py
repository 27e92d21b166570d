"""Asks servers a set of prompts under one load after the other, and keeps what was measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace

from firedup.core.measure.accepted import find_draft_tokens
from firedup.core.measure.completion import Generation
from firedup.core.measure.counter import Rise
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.prompt import Prompt
from firedup.core.measure.warmup import mark_warm_up
from firedup.probe.asker import Asker
from firedup.probe.call import Call, make_call
from firedup.probe.served import Served, acceptance_of_cell, rise_of, take_look

_NS = 1_000_000_000
# One after the other of a stream: then the server is not waited for any more.
MOST_FAILURES = 3
# Requests before the first that counts, for each stream: they fill caches and compile kernels.
WARM_UP_EACH = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked: each load's own `prompts`, in so many `visits`, as `generation` says.

    `prompts` and `visits` are in the order of the loads. `warm_up` has prompts that are in none of
    them; `name` is that of the set.
    """

    loads: tuple[Load, ...]
    prompts: tuple[tuple[Prompt, ...], ...]
    warm_up: tuple[Prompt, ...]
    generation: Generation
    name: str = ""
    seed: int = 0
    visits: tuple[int, ...] = ()
    budget_s: float | None = None

    @property
    def rounds(self) -> int:
        """How often loads are gone through; one with fewer visits is left out of the later ones."""
        return max(self.visits, default=0)

    @property
    def requests(self) -> int:
        """How many are asked of each arm, the warm-up not counted."""
        return sum(prompt.turns for prompts in self.prompts for prompt in prompts)

    def part(self, load: int, visit: int) -> tuple[Prompt, ...]:
        """The prompts of one visit to one load; all visits together ask each once."""
        visits = self.visits[load]
        return self.prompts[load][visit::visits] if visit < visits else ()


@dataclass(slots=True)
class Side:
    """An arm while it is measured. `failure` is what a server said last that answers no more."""

    name: str
    client: Asker
    served: Served
    conditions: Conditions
    wall_ns: int = field(default_factory=time.time_ns)
    requests: dict[Load, list[Request]] = field(default_factory=dict)
    counters: dict[Load, Rise | None] = field(default_factory=dict)
    failure: str | None = None

    def arm(self) -> Arm:
        """What was measured so far."""
        cells = []
        for load, asked in self.requests.items():
            # The server stays as warm as it is between two visits, since nobody stops it.
            first = [request for request in asked if request.block == 0]
            rest = [request for request in asked if request.block > 0]
            requests = (*mark_warm_up(first, load.concurrency), *rest)
            counters = self.counters.get(load)
            acceptance = acceptance_of_cell(requests, counters, self.served)
            cells.append(Cell(load, requests, counters, acceptance))
        conditions = self.conditions
        if conditions.draft_tokens is None:
            conditions = replace(conditions, draft_tokens=find_draft_tokens(cells))
        return Arm(self.name, conditions, tuple(cells), self.wall_ns)


async def measure(
    sides: Sequence[Side],
    plan: Plan,
    *,
    tell: Callable[[Request], None] = lambda _: None,
    decided: Container[Load] = (),
) -> AsyncGenerator[tuple[Arm, ...], None]:
    """Ask every side all prompts of `plan`; yields what is known after each visit to all loads.

    With two sides they take turns: A B, then B A, so that what drifts touches both alike. Whoever
    stops iterating stops measuring, and so does a server that answers nothing any more; a load
    that is among the `decided` by now is not asked on. `tell` is told of each request that is over.
    """
    for visit in range(plan.rounds):
        for number, load in enumerate(plan.loads):
            if load in decided or visit >= plan.visits[number]:
                continue
            turn = sides if visit % 2 == 0 else tuple(reversed(sides))
            for side in turn:
                if not side.requests:
                    side.wall_ns = time.time_ns()
                if load not in side.requests:
                    side.requests[load] = await _warm_up(side, load, plan, number)
                before = await take_look(side.client, side.served)
                block = visit if len(sides) > 1 else 0  # alone it is one stay in so many parts
                asking = _Asking(side, load, plan.generation, tell, block)
                asked = asking.answered
                try:
                    await asking.ask_all(plan.part(number, visit))
                finally:  # also when the budget is spent meanwhile
                    side.requests[load] += asked
                if all(request.error is not None for request in asked):
                    side.failure = asked[-1].error if asked else None
                    yield tuple(side.arm() for side in sides)
                    return
                after = await take_look(side.client, side.served)
                rise = rise_of(before, after, side.served, asked)
                past = side.counters.get(load)
                side.counters[load] = past.plus(rise) if past and rise else rise
        yield tuple(side.arm() for side in sides)


async def _warm_up(side: Side, load: Load, plan: Plan, number: int) -> list[Request]:
    wanted = WARM_UP_EACH * load.concurrency
    used = WARM_UP_EACH * sum(one.concurrency for one in plan.loads[:number])
    # Later turns need nothing that the first did not.
    prompts = [replace(prompt, later=()) for prompt in plan.warm_up[used:][:wanted]]
    closed = replace(load, rate=None)
    asking = _Asking(side, closed, plan.generation, lambda _: None, is_warm_up=True)
    return await asking.ask_all(prompts)


@dataclass(slots=True)
class _Asking:
    """One visit to a side under a load."""

    side: Side
    load: Load
    generation: Generation
    tell: Callable[[Request], None]
    block: int = 0
    is_warm_up: bool = False
    answered: list[Request] = field(default_factory=list)

    async def ask_all(self, prompts: Sequence[Prompt]) -> list[Request]:
        """The answers, in the order in which they were complete."""
        waiting = iter(prompts)
        async with asyncio.TaskGroup() as group:
            if self.load.rate is None:
                ahead = 1 if self._looks_between else self.side.client.ahead
                for _ in range(min(self.load.concurrency * ahead, len(prompts))):
                    group.create_task(self._work(waiting))
            else:
                await self._offer(group, waiting, self.load.rate)
        return self.answered

    async def _work(self, waiting: Iterator[Prompt]) -> None:
        """One of the streams of a closed loop: the next request when the last is answered.

        A client elsewhere is told the next ones beforehand, and waits with them itself.
        """
        failures = 0
        for prompt in waiting:
            failures = failures + 1 if await self._converse(prompt, None) else 0
            if failures == MOST_FAILURES:
                return

    async def _offer(
        self, group: asyncio.TaskGroup, waiting: Iterator[Prompt], rate: float
    ) -> None:
        """An open loop: requests are sent at their time, however many are under way."""
        begun_ns = time.monotonic_ns()
        for number, prompt in enumerate(waiting):
            due_ns = begun_ns + round(number / rate * _NS)
            await asyncio.sleep(max(0.0, (due_ns - time.monotonic_ns()) / _NS))
            group.create_task(self._converse(prompt, due_ns))

    async def _converse(self, prompt: Prompt, due_ns: int | None) -> bool:
        """Ask it turn by turn, each after the answer to the one before; whether none was answered.

        A later turn may fail by itself, when the conversation has become too long.
        """
        turn, rest = 1, prompt
        while True:
            request = await self._ask(rest, due_ns, turn)
            following = rest.after(request.text)
            if request.error is not None or following is None:
                return request.error is not None and turn == 1
            turn, rest, due_ns = turn + 1, following, None

    async def _ask(self, prompt: Prompt, due_ns: int | None, turn: int) -> Request:
        served = self.side.served
        call = make_call(
            served.route,
            served.model,
            prompt,
            replace(self.generation, engine=served.info.engine),
            due_ns=due_ns,
            is_warm_up=self.is_warm_up,
            block=self.block,
            turn=turn,
            at_most=self.load.concurrency if self.load.rate is None else None,
        )
        request = await self._complete(call)
        self.answered.append(request)
        self.tell(request)
        return request

    @property
    def _looks_between(self) -> bool:
        """Whether the server's counters are to be looked at between two requests."""
        served, load = self.side.served, self.load
        is_alone = load.concurrency == 1 and load.rate is None
        return is_alone and not served.counts_requests and served.info.speculates is not False

    async def _complete(self, call: Call) -> Request:
        """The answer; where nothing else is asked meanwhile, with what the server's counters say.

        They are believed when they rose by this request's own tokens and no others.
        """
        client, served = self.side.client, self.side.served
        if not self._looks_between:
            return await client.complete(call)
        before = await take_look(client, served)
        request = await client.complete(call)
        rise = rise_of(before, await take_look(client, served), served)
        if rise is None or rise.counts is None or rise.generated != request.tokens:
            return request
        return replace(request, counts=rise.counts)
