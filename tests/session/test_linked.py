"""Work goes on over broken links, and ends when it is cancelled."""

import asyncio

import pytest

from firedup.core.error import HostError
from firedup.host.base import OperationError, local_host
from firedup.host.link import Agent, open_agent
from firedup.session.linked import run_linked


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firedup.session.linked.RECONNECT_S", (0.0, 0.0))


async def _nothing(agent: Agent) -> None:
    pass


async def test_work_that_ends_is_done_once(agent: Agent) -> None:
    seen = []

    async def work(agent: Agent) -> None:
        seen.append(agent)

    assert await run_linked(agent, work, _nothing, seen.append)
    assert seen == [agent]


async def test_after_a_break_the_work_goes_on_with_a_new_agent(agent: Agent) -> None:
    seen, ups, downs = [], [], []

    async def work(agent: Agent) -> None:
        seen.append(agent)
        if len(seen) == 1:
            raise HostError("the line was cut")

    async def say_up(agent: Agent) -> None:
        ups.append(agent)

    assert await run_linked(agent, work, say_up, downs.append)
    assert (seen[0], seen[1]) == (agent, ups[0])
    assert [str(error) for error in downs] == ["the line was cut"]


async def test_after_the_last_try_the_contact_is_given_up(agent: Agent) -> None:
    downs: list[Exception] = []

    async def work(agent: Agent) -> None:
        raise HostError("cut again")

    assert not await run_linked(agent, work, _nothing, downs.append)
    assert len(downs) == 3


async def test_what_the_host_refuses_is_raised_and_not_tried_again(agent: Agent) -> None:
    async def work(agent: Agent) -> None:
        raise OperationError("denied", "not yours", where="here", evidence=None)

    with pytest.raises(OperationError, match="not yours"):
        await run_linked(agent, work, _nothing, lambda error: None)


async def test_a_cancelled_work_ends_even_when_the_link_breaks_at_that_moment() -> None:
    # A task group that is cancelled while one of its tasks fails tells of the failure alone.
    has_begun = asyncio.Event()

    async def one() -> None:
        try:
            has_begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise HostError("the line was cut") from None

    async def work(agent: Agent) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(one())

    async with open_agent(local_host()) as agent:
        task = asyncio.ensure_future(run_linked(agent, work, _nothing, lambda error: None))
        await has_begun.wait()
        task.cancel()
        await asyncio.wait([task], timeout=8)

        assert task.cancelled()
