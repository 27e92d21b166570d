"""When stacks are asked for, how often, and what becomes of a question without an answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from firedup.core.error import HostError
from firedup.core.event import Event, Noted, StacksTaken
from firedup.core.model import Explanation, Process, Snapshot, Stage, Verdict
from firedup.core.stack import Stacks
from firedup.host.base import OperationError
from firedup.session import stacks as taking
from firedup.session import stalltaker
from firedup.session.stalltaker import MOST_TAKEN, TAKING, StallTaker

TAKEN = StacksTaken(7, Stacks(7))
PROCESS = Process(1, 1, 0, "sglang", "S", 0.0, 1)


def moment(verdict: Verdict, *, stacks: Stacks | None = None) -> Snapshot:
    told = Explanation("sglang", None, verdict, Stage.LOAD_WEIGHTS, None, 0.5, stacks=stacks)
    return Snapshot(1, None, told, processes=(PROCESS,))


class Bench:
    """A taker whose questions are answered by `answer`; `asked` counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: StacksTaken | str = TAKEN) -> None:
        self.fed: list[Event] = []
        self.asked = 0
        pipeline: Any = SimpleNamespace(crew=(), snapshot=lambda: moment(Verdict.STALLED))
        self.taker = StallTaker(pipeline, self.feed)
        self.changed = asyncio.Event()

        async def try_taking(*_: object, **__: object) -> StacksTaken | str:
            self.asked += 1
            return answer

        monkeypatch.setattr(stalltaker, "try_taking", try_taking)

    def feed(self, event: Event) -> None:
        self.fed.append(event)
        self.changed.set()

    async def answer(self) -> None:
        """Let what is wanted be taken."""
        agent: Any = None
        work = asyncio.ensure_future(self.taker.keep(agent))
        async with asyncio.timeout(100):
            await self.changed.wait()
        self.changed.clear()
        work.cancel()
        await asyncio.wait([work])


async def test_a_stall_is_looked_into_once_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)

    first = bench.taker.heed(moment(Verdict.STALLED))
    assert first.waiting_for == TAKING
    assert bench.taker.is_busy
    await bench.answer()

    assert bench.fed == [TAKEN]
    assert bench.taker.heed(moment(Verdict.STALLED)).waiting_for == ""
    assert not bench.taker.is_busy
    assert bench.asked == 1


async def test_a_server_whose_time_is_over_is_looked_into_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch)

    assert bench.taker.heed(moment(Verdict.TIMED_OUT)).waiting_for == TAKING


@pytest.mark.parametrize("verdict", [Verdict.LOADING, Verdict.READY, Verdict.CRASHED])
async def test_what_moves_or_has_ended_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    bench = Bench(monkeypatch)

    bench.taker.heed(moment(verdict))
    bench.taker.heed(replace(moment(Verdict.STALLED), processes=()))
    bench.taker.heed(replace(moment(Verdict.STALLED), is_final=True))

    assert not bench.taker.is_busy


async def test_what_another_session_took_is_not_taken_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch)

    bench.taker.heed(moment(Verdict.STALLED, stacks=Stacks(1)))

    assert not bench.taker.is_busy


async def test_a_new_stall_is_looked_into_again_but_not_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch)

    for _ in range(MOST_TAKEN):
        bench.taker.heed(moment(Verdict.STALLED))
        await bench.answer()
        bench.taker.heed(moment(Verdict.LOADING))
    bench.taker.heed(moment(Verdict.STALLED))

    assert not bench.taker.is_busy
    assert bench.asked == MOST_TAKEN


async def test_a_failure_is_a_note_and_the_watch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, "no stacks were taken: the host gave no answer")

    bench.taker.heed(moment(Verdict.STALLED))
    await bench.answer()

    assert bench.fed == [Noted(1, "no stacks were taken: the host gave no answer")]
    assert not bench.taker.is_busy


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.taker.heed(moment(Verdict.STALLED))

    bench.taker.limit_s = -1.0

    assert not bench.taker.is_busy


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def take_of(*_: object, **__: object) -> StacksTaken:
        raise error

    monkeypatch.setattr(taking, "take_of", take_of)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OperationError("fault", "it failed", where="box", evidence=None), "it failed"),
        (HostError("box does not answer"), "the host gave no answer"),
        (TimeoutError(), "nothing came within 40 s"),
    ],
)
async def test_what_fails_on_the_host_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    failing(monkeypatch, error)
    agent: Any = SimpleNamespace(is_alive=True)
    members: Any = [object()]

    found = await taking.try_taking(agent, members, taking.Place())

    assert found == f"no stacks were taken: {said}"


async def test_a_broken_link_is_for_those_to_mend_who_watch_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing(monkeypatch, HostError("the link broke"))
    agent: Any = SimpleNamespace(is_alive=False)
    members: Any = [object()]

    with pytest.raises(HostError):
        await taking.try_taking(agent, members, taking.Place())


async def test_without_processes_nothing_is_asked() -> None:
    agent: Any = None

    found = await taking.try_taking(agent, (), taking.Place())

    assert found == "no stacks were taken: no process of the server is known"
