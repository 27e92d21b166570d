"""Hooks are told of each verdict once, after whoever watches, and in spite of broken links."""

from functools import partial
from typing import Any, cast

import pytest
from workbench import Site, recorded

from firedup.core.error import HostError
from firedup.core.model import Explanation, Snapshot, Verdict
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.session import hook
from firedup.session.hook import Teller

LINKS = [cast("Agent", "first"), cast("Agent", "second")]


def snapshot(verdict: Verdict, *, exited: bool | None = None) -> Snapshot:
    return Snapshot(0, None, Explanation(None, None, verdict, None, exited, 1.0))


class Listener:
    """Notes with which link it was told of what; fails as often as there are `errors`."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.told: list[tuple[Any, str]] = []

    async def __call__(self, agent: Agent, _now: Snapshot, event: str) -> None:
        self.told.append((agent, event))
        if self.errors:
            raise self.errors.pop(0)


async def test_what_a_broken_link_swallowed_is_told_again() -> None:
    listener = Listener(HostError("the link broke"))
    teller, links = Teller(listener), iter(LINKS)

    for _ in range(3):
        await teller.tell(partial(next, links), snapshot(Verdict.READY), is_over=False)

    assert listener.told == [("first", "ready"), ("second", "ready")]


async def test_at_the_end_a_renewed_link_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "PAUSE_S", 0.0)
    listener = Listener(HostError("the link broke"))
    teller, links = Teller(listener), iter(LINKS)

    await teller.tell(partial(next, links), snapshot(Verdict.CRASHED), is_over=False)
    await teller.tell(partial(next, links), snapshot(Verdict.CRASHED), is_over=True)

    assert [agent for agent, _ in listener.told] == LINKS


async def test_what_the_host_refuses_is_not_told_again() -> None:
    refusal = OperationError("not-found", "no such run", where="local", evidence=None)
    listener = Listener(refusal)
    teller = Teller(listener)

    for _ in range(2):
        await teller.tell(lambda: LINKS[0], snapshot(Verdict.READY), is_over=True)

    assert len(listener.told) == 1


async def test_a_crash_is_told_before_the_end_and_both_once_all_is_over() -> None:
    listener = Listener()
    teller = Teller(listener)
    crashed = snapshot(Verdict.CRASHED, exited=True)

    await teller.tell(lambda: LINKS[0], crashed, is_over=False)
    assert listener.told == []
    for _ in range(2):
        await teller.tell(lambda: LINKS[0], crashed, is_over=True)

    assert [event for _, event in listener.told] == ["crashed", "exited"]


@pytest.mark.parametrize("exited", [False, None])
async def test_a_server_that_lives_or_that_nobody_knows_has_not_exited(exited: bool | None) -> None:
    listener = Listener()

    await Teller(listener).tell(
        lambda: LINKS[0], snapshot(Verdict.CRASHED, exited=exited), is_over=True
    )

    assert [event for _, event in listener.told] == ["crashed"]


async def test_whoever_watches_sees_the_verdict_before_the_hook_is_run(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    async def note(*_: object) -> None:
        order.append("hook")

    monkeypatch.setattr("firedup.session.run.run_hooks", note)
    program = site.fake(recorded("s01_success.log"))
    run = await site.launch(site.serve(program), hooks=(("ready", "true"),))

    snapshots = site.watch(run)
    while (now := await anext(snapshots, None)) is not None:
        order.append(now.explanation.verdict.value)

    assert order[-2:] == ["ready", "hook"]
