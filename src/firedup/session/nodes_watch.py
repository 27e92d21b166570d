"""Watches the nodes of one run at once and yields snapshots of the whole."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from firedup.core.error import FiredupError, HostError
from firedup.core.model import Explanation, Snapshot, State, Verdict
from firedup.core.node import ClockOffset, label_hosts
from firedup.core.rule import Matcher
from firedup.core.verdict.nodes import Node, combine_nodes
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.nodes import Member, Opener
from firedup.session.nodes_clock import measure_clock
from firedup.session.open import open_host
from firedup.session.run import watch_run
from firedup.session.stalltaker import TAKING
from firedup.session.watch import Watching

CLOCK_EVERY_S = 180.0
# After the end of one node the others may still say why; not for ever.
QUIET_S, DIAGNOSE_S = 2.0, 10.0
CHECK_S = 0.25
# When a line came is known to this much: while it is watched, and from the keeper's samples.
WATCHED_BLUR_NS, SAMPLED_BLUR_NS = 20_000_000, 1_000_000_000

Streamer = Callable[[Agent, Watching], AsyncIterator[Snapshot]]


@dataclass(slots=True)
class Feed:
    """One node being watched: `stream` makes its snapshots; None where `fault` forbids that."""

    host: str
    rank: int
    agent: Agent | None
    stream: Streamer | None
    fault: FiredupError | None = None
    latest: Snapshot | None = None
    clock: ClockOffset | None = None
    begun_ns: int = 0  # host boottime of the first look
    has_ended: bool = False


def feed_of(
    member: Member, catalogue: Catalogue, make_matcher: Callable[[str | None], Matcher]
) -> Feed:
    """How the node of a launched run is watched."""
    run = member.run
    if member.agent is None or run is None:
        return Feed(member.host, member.rank, None, None, member.fault)

    def stream(agent: Agent, watching: Watching) -> AsyncIterator[Snapshot]:
        return watch_run(agent, catalogue, make_matcher(run.spec.engine), run, watching)

    return Feed(member.host, member.rank, member.agent, stream)


@dataclass(slots=True)
class NodesWatch:
    """The watch over all nodes. Use `snapshots()` once."""

    feeds: Sequence[Feed]
    watching: Watching
    opener: Opener = open_host
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _ended_s: float | None = None
    _fault: Exception | None = None

    async def snapshots(self) -> AsyncGenerator[Snapshot, None]:
        """A snapshot at each change and at least every tick; the last one is the conclusion.

        Raises what the head's watch raised, and HostError when the head was never reached.
        """
        head = self.feeds[0]
        if head.fault is not None:
            raise head.fault
        await asyncio.gather(*(self._measure(feed) for feed in self.feeds))
        tasks = [asyncio.ensure_future(self._pump(feed)) for feed in self.feeds]
        tasks += [asyncio.ensure_future(self._keep_time(feed)) for feed in self.feeds]
        try:
            while True:
                self._changed.clear()
                if self._fault is not None:
                    raise self._fault
                combined = self._look()
                if combined is not None:
                    is_over = self._is_over(combined)
                    is_ready = combined.explanation.verdict is Verdict.READY
                    yield replace(combined, is_final=is_over and not is_ready)
                    if is_over:
                        return
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._tick_s()):
                        await self._changed.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _tick_s(self) -> float:
        return CHECK_S if self._ended_s is not None else self.watching.tick_s

    def _look(self) -> Snapshot | None:
        """The present snapshot; None until every node has shown itself."""
        labels = label_hosts(tuple(feed.host for feed in self.feeds))
        nodes = []
        for feed in self.feeds:
            if feed.latest is None:
                return None
            nodes.append(
                Node(
                    labels[feed.rank],
                    feed.host,
                    feed.rank,
                    feed.latest,
                    feed.clock,
                    _blur_ns(feed),
                )
            )
        return combine_nodes(nodes)

    def _is_over(self, now: Snapshot) -> bool:
        verdict, head = now.explanation.verdict, self.feeds[0]
        if now.is_final or verdict in (Verdict.CRASHED, Verdict.STOPPED):
            return self._has_settled()
        self._ended_s = None
        if head.has_ended or verdict in (Verdict.LOST, Verdict.TIMED_OUT):
            return True
        is_taking = any(f.latest and f.latest.waiting_for == TAKING for f in self.feeds)
        if self.watching.until == "exit" or is_taking:
            return False
        return verdict is Verdict.STALLED or (verdict is Verdict.READY and _is_proved(now))

    def _has_settled(self) -> bool:
        """Whether no node will add to what is said about the end of one."""
        if all(feed.has_ended for feed in self.feeds):
            return True
        if not any(feed.has_ended for feed in self.feeds):
            return False  # the watch over the node itself waits for its last words
        now_s = time.monotonic()
        self._ended_s = self._ended_s or now_s
        waited_s = now_s - self._ended_s
        ends = (Verdict.CRASHED, Verdict.STOPPED)
        is_ending = any(
            not feed.has_ended and feed.latest and feed.latest.explanation.verdict in ends
            for feed in self.feeds
        )
        return waited_s >= (DIAGNOSE_S if is_ending else QUIET_S)

    async def _pump(self, feed: Feed) -> None:
        """Take the snapshots of one node as they come."""
        try:
            if feed.agent is None or feed.stream is None:
                fault = feed.fault or HostError(f"{feed.host} was not reached")
                feed.latest = _lost(None, fault)
                return
            limit_s = self.watching.timeout_s if feed.rank == 0 else None
            # The run as a whole decides when it is over.
            watching = replace(self.watching, until="exit", timeout_s=limit_s)
            async with aclosing(feed.stream(feed.agent, watching)) as stream:  # type: ignore[type-var]  # a generator
                async for snapshot in stream:
                    feed.latest = snapshot
                    self._changed.set()
        except HostError as error:
            if feed.rank == 0:
                self._fault = error
            else:
                feed.latest = _lost(feed.latest, error)
        except Exception as error:  # noqa: BLE001 - raised again by whoever reads the snapshots
            self._fault = error
        finally:
            feed.has_ended = True
            self._changed.set()

    async def _keep_time(self, feed: Feed) -> None:
        """Measure the clock again now and then: it drifts, and somebody may set it."""
        while True:
            await asyncio.sleep(CLOCK_EVERY_S)
            await self._measure(feed)

    async def _measure(self, feed: Feed) -> None:
        """The old measure stays where there is no new one."""
        with contextlib.suppress(HostError):
            if feed.agent is not None and feed.agent.is_alive:
                feed.clock = await measure_clock(feed.agent)
            elif feed.agent is not None:
                async with self.opener(feed.host) as agent:
                    feed.clock = await measure_clock(agent)
        if feed.clock is not None and not feed.begun_ns:
            feed.begun_ns = time.monotonic_ns() + feed.clock.boot_ns


def _blur_ns(feed: Feed) -> int:
    cause = feed.latest.explanation.cause if feed.latest else None
    is_past = cause is not None and cause.at_ns is not None and cause.at_ns < feed.begun_ns
    return SAMPLED_BLUR_NS if is_past else WATCHED_BLUR_NS


def _is_proved(now: Snapshot) -> bool:
    """Whether the head has answered everything that it is asked."""
    is_counted = now.acceptance is not None or not now.spec.asks_for_speculation
    return is_counted or now.checks.token is not True


def _lost(last: Snapshot | None, error: FiredupError) -> Snapshot:
    """What is known of a node that cannot be reached: the last that was seen of it."""
    if last is None:
        last = Snapshot(0, None, Explanation(None, None, Verdict.LOST, None, None, 0.5))
    notes = (*last.explanation.notes, error.what)
    explanation = replace(last.explanation, verdict=Verdict.LOST, notes=notes)
    return replace(last, explanation=explanation, state=State.UNREACHED, is_final=True)
