"""Keeps work going on a host across broken links: each new link is a new agent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from firedup.core.error import HostError
from firedup.host.base import ANSWER_S, LinkError, OperationError, SilenceError, Trouble
from firedup.host.link import Agent, open_agent

FIRST_PAUSE_S, MOST_PAUSE_S = 0.25, 30.0
# A link over which the host spoke for this long was sound: its break is a new story.
SOUND_S = 20.0
# Before a file that did not answer is asked again.
FILE_PAUSE_S = 5.0
# Work that went on for this long had its answers before: a new silence begins.
FILE_SOUND_S = 60.0
TRY_S = 30.0
LEAST_TRY_S = 1.0
_BREAKS = (Trouble.LINK_DOWN, Trouble.AGENT_DIED)


class Listener(Protocol):
    """Hears what becomes of the link."""

    async def link_up(self, agent: Agent) -> None:
        """A new agent answers; work goes on with it."""

    def link_down(self, error: HostError, pause_s: float | None) -> None:
        """The link broke or a try failed; the next one is made in `pause_s` (None: right now)."""

    def file_silent(self, error: SilenceError) -> None:
        """The link stands, and a file on the host does not answer; it will be asked again."""


class LinkSpeaker:
    """Says in a line each that the link broke and that it is up again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._is_down = False
        self._silent: set[str] = set()

    async def link_up(self, agent: Agent) -> None:  # noqa: ARG002 - the work is given it too
        """The link was renewed."""
        self._is_down = False
        self._say("the link is up again")

    def link_down(self, error: HostError, pause_s: float | None) -> None:  # noqa: ARG002 - a Listener is told it
        """Each break is said once, however many tries follow."""
        if not self._is_down:
            self._say(f"the link is down: {error.what}")
        self._is_down = True

    def file_silent(self, error: SilenceError) -> None:
        """Each file is told once."""
        if error.path not in self._silent:
            self._say(f"{error.where}: {error.what}")
        self._silent.add(error.path)


@dataclass(frozen=True, slots=True)
class Patience:
    """How broken links are renewed.

    A host without a word for `lost_after_s` is given up (None: never). What it says over a link
    that breaks again before it was sound ends no such time, it only does not count. All times count
    while this machine is awake, so that a laptop's sleep is no absence of the host. `silent_s` is
    for how long nothing has come from an agent.
    """

    lost_after_s: float | None = 600.0
    random: random.Random = field(default_factory=random.Random)
    open: Callable[[Agent, float], AbstractAsyncContextManager[Agent]] = lambda agent, try_s: (
        open_agent(agent.host, start_timeout_s=try_s)
    )
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now_s: Callable[[], float] = lambda: asyncio.get_running_loop().time()
    silent_s: Callable[[Agent], float] = lambda agent: agent.silent_s

    def pauses_s(self) -> Iterator[float]:
        """Longer and longer, and no two clients in step."""
        most_s = FIRST_PAUSE_S
        while True:
            yield most_s * (0.5 + self.random.random() / 2)
            most_s = min(MOST_PAUSE_S, most_s * 2)


async def run_linked(
    agent: Agent,
    work: Callable[[Agent], Awaitable[None]],
    listener: Listener,
    patience: Patience,
) -> bool:
    """Do `work` with `agent`, and again with a new agent whenever the link breaks.

    True when the work ended, False when the host was given up. What the host refuses
    (OperationError) and what fails over a link that stands is raised: a new one would not help.
    A file that does not answer is asked again over the same link, for as long as a host is waited
    for; then that (SilenceError) is raised.
    """
    try:
        return await _renew_until_done(agent, work, listener, patience)
    except _Failed as failed:
        raise failed.error from None


class _Failed(Exception):  # noqa: N818 - no error of its own, it carries one
    """The work failed, and not for want of a link."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _renew_until_done(
    agent: Agent,
    work: Callable[[Agent], Awaitable[None]],
    listener: Listener,
    patience: Patience,
) -> bool:
    error = await _run_until_broken(agent, work, listener, patience)
    absence = _Absence(patience, _last_word_s(agent, error, patience))
    pauses_s = patience.pauses_s()
    while error is not None:
        left_s = absence.left_s()
        if left_s <= 0:
            return False
        pause_s = min(next(pauses_s), max(left_s / 2, FIRST_PAUSE_S))
        listener.link_down(error, pause_s)
        await patience.sleep(pause_s)
        listener.link_down(error, None)
        try_s = max(LEAST_TRY_S, min(TRY_S, absence.left_s()))
        up_s: float | None = None
        try:
            async with patience.open(agent, try_s) as renewed:
                await listener.link_up(renewed)
                up_s = patience.now_s()
                error = await _run_until_broken(renewed, work, listener, patience)
                word_s = _last_word_s(renewed, error, patience)
        except OperationError:
            raise
        except HostError as failure:
            error = error if up_s is not None and error is None else failure
            word_s = patience.now_s()
        if up_s is not None and absence.is_over(up_s, word_s):
            pauses_s = patience.pauses_s()
    return True


class _Absence:
    """For how long nothing came from the host, since a link to it was sound last."""

    def __init__(self, patience: Patience, since_s: float) -> None:
        self._patience = patience
        self._since_s = since_s
        self._before_s = 0.0  # in earlier breaks, with links between that were none

    def left_s(self) -> float:
        """How long the host will still be waited for."""
        if self._patience.lost_after_s is None:
            return float("inf")
        absent_s = self._before_s + self._patience.now_s() - self._since_s
        return self._patience.lost_after_s - absent_s

    def is_over(self, up_s: float, word_s: float) -> bool:
        """Whether the link that stood from `up_s` was sound; the host's last word was at `word_s`.

        A new absence begins then, or this one goes on.
        """
        is_sound = word_s - up_s >= SOUND_S
        self._before_s = 0.0 if is_sound else self._before_s + up_s - self._since_s
        self._since_s = max(up_s, word_s)
        return is_sound


def _last_word_s(agent: Agent, error: HostError | None, patience: Patience) -> float:
    """When the host was heard last, over a link that broke in this moment."""
    is_broken_way = isinstance(error, LinkError) and error.trouble is Trouble.LINK_DOWN
    return patience.now_s() - (patience.silent_s(agent) if is_broken_way else 0.0)


def give_up(agent: Agent, patience: Patience) -> LinkError:
    """The error for a host that was not reached for too long."""
    host = agent.host.name
    what = f"{host}: not reached for {patience.lost_after_s:g} s"
    return LinkError(Trouble.UNREACHED, what, where=host)


async def _run_until_broken(
    agent: Agent,
    work: Callable[[Agent], Awaitable[None]],
    listener: Listener,
    patience: Patience,
) -> HostError | None:
    """What broke the link; None when the work ended. _Failed with the first other error."""
    silent_s: float | None = None  # since when a file does not answer
    while True:
        begun_s = patience.now_s()
        try:
            return await _run_once(agent, work)
        except _Failed as failed:
            if not isinstance(failed.error, SilenceError):
                raise
            now_s = patience.now_s()
            if silent_s is None or now_s - begun_s > FILE_SOUND_S:
                silent_s = max(begun_s, now_s - ANSWER_S)
            if patience.lost_after_s is not None and now_s - silent_s >= patience.lost_after_s:
                raise
            listener.file_silent(failed.error)
        await patience.sleep(FILE_PAUSE_S)


async def _run_once(agent: Agent, work: Callable[[Agent], Awaitable[None]]) -> HostError | None:
    """What broke the link; None when the work ended. _Failed with the first other error."""
    refusals: list[Exception] = []
    broken: HostError | None = None
    try:
        await _in_own_task(work(agent))
    except* OperationError as group:
        refusals = [_first(group)]
    except* HostError as group:
        first = _first(group)
        if isinstance(first, HostError) and _is_break(agent, first):
            broken = first
        else:
            refusals.append(first)
    if refusals:
        raise _Failed(refusals[0])
    return broken


def _is_break(agent: Agent, error: HostError) -> bool:
    """Whether it was the link that failed, not something on the host that is asked through it.

    A call that gets no answer tells of the link before its end is known.
    """
    return not agent.is_alive or (isinstance(error, LinkError) and error.trouble in _BREAKS)


async def _in_own_task(work: Awaitable[None]) -> None:
    """Await `work`, and end as cancelled when cancelled, whatever `work` says to that.

    A task group that is cancelled while one of its tasks fails raises that failure alone.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])
        _ = task.cancelled() or task.exception()  # or asyncio complains that nobody looked
    task.result()


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else RuntimeError(str(error))
