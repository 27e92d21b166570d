"""Work goes on over broken links, and ends when it is cancelled or the host is given up."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from linkstory import CUT, REFUSED, Story, break_until

from firedup.core.error import HostError
from firedup.host.base import LinkError, OperationError, Trouble, local_host
from firedup.host.link import Agent, open_agent
from firedup.session.linked import MOST_PAUSE_S, SOUND_S, LinkSpeaker, Patience, run_linked
from firedup.session.prepared import prepare_linked


async def test_work_that_ends_is_done_once(agent: Agent) -> None:
    story, seen = Story(), []

    async def work(agent: Agent) -> None:
        seen.append(agent)

    assert await run_linked(agent, work, story, story.patience)
    assert seen == [agent]
    assert story.told == []


async def test_after_a_break_the_work_goes_on_with_a_new_agent(agent: Agent) -> None:
    seen: list[Agent] = []
    story = Story()

    async def work(agent: Agent) -> None:
        seen.append(agent)
        if len(seen) == 1:
            raise CUT

    patience = replace(story.patience, open=Patience().open)
    assert await run_linked(agent, work, story, patience)
    assert seen[0] is agent
    assert seen[1] is not agent
    assert [what for what, _ in story.told] == ["the line was cut", "the line was cut", "up"]


async def test_pauses_grow_and_no_two_clients_keep_step(agent: Agent) -> None:
    stories = [Story(*[REFUSED] * 12), Story(*[REFUSED] * 12)]
    stories[1].patience = replace(stories[1].patience, random=random.Random(8))
    for story in stories:
        assert await run_linked(agent, break_until(1, story), story, story.patience)

    first, second = (story.pauses_s for story in stories)
    assert first != second
    assert first[0] < 0.3
    assert max(first) <= MOST_PAUSE_S
    assert all(later > earlier for earlier, later in zip(first[:8], first[2:8], strict=False))


async def test_a_host_that_is_not_reached_for_long_is_given_up(agent: Agent) -> None:
    story = Story(*[REFUSED] * 1000, lost_after_s=100.0)

    assert not await run_linked(agent, break_until(1, story), story, story.patience)
    assert 100.0 <= story.now_s <= 105.0
    assert story.told[-1] == ("connection refused", None)


async def test_without_a_limit_no_host_is_given_up(agent: Agent) -> None:
    story = Story(*[REFUSED] * 1000, lost_after_s=None)

    assert await run_linked(agent, break_until(1, story), story, story.patience)
    assert story.now_s > 20_000


async def test_each_break_of_a_sound_link_has_its_own_time(agent: Agent) -> None:
    story = Story(*[REFUSED, None] * 20, lost_after_s=60.0)

    assert await run_linked(agent, break_until(20, story, SOUND_S + 1), story, story.patience)
    assert story.now_s > 400.0


async def test_a_link_that_comes_and_goes_is_given_up_in_the_end(agent: Agent) -> None:
    story = Story(lost_after_s=60.0)

    assert not await run_linked(agent, break_until(10_000, story, 2.0), story, story.patience)
    ups = [what for what, _ in story.told].count("up")
    down_s = story.now_s - 2.0 * (ups + 1)
    assert ups > 5
    assert down_s == pytest.approx(60.0, abs=MOST_PAUSE_S)
    assert down_s >= 60.0


async def test_a_link_over_which_nothing_is_heard_is_no_contact(agent: Agent) -> None:
    story = Story(lost_after_s=60.0)
    story.silent_s = 30.0

    assert not await run_linked(agent, break_until(10_000, story, 30.0), story, story.patience)
    assert [what for what, _ in story.told].count("up") <= 2


async def test_a_sound_link_ends_what_earlier_ones_added_up(agent: Agent) -> None:
    story, holds_s = Story(lost_after_s=60.0), iter([*[2.0] * 6, SOUND_S] * 5)

    async def work(agent: Agent) -> None:
        hold_s = next(holds_s, None)
        if hold_s is not None:
            story.now_s += hold_s
            raise CUT

    assert await run_linked(agent, work, story, story.patience)
    assert story.now_s > 2 * 60.0


async def test_after_a_sound_link_the_pauses_begin_anew(agent: Agent) -> None:
    story = Story(*[REFUSED] * 8)

    assert await run_linked(agent, break_until(2, story, SOUND_S + 1), story, story.patience)
    assert story.pauses_s[-1] < 0.3 < story.pauses_s[-2]


async def test_what_the_host_refuses_is_raised_and_not_tried_again(agent: Agent) -> None:
    story = Story()

    async def work(agent: Agent) -> None:
        raise OperationError("denied", "not yours", where="here", evidence=None)

    with pytest.raises(OperationError, match="not yours"):
        await run_linked(agent, work, story, story.patience)
    assert story.told == []


@pytest.mark.parametrize("has_renewed", [False, True])
async def test_what_fails_over_a_link_that_stands_is_no_break(
    agent: Agent, has_renewed: bool
) -> None:
    slow, story = HostError("docker did not answer within 30 s"), Story()
    errors = [CUT, slow] if has_renewed else [slow]

    async def work(agent: Agent) -> None:
        raise errors.pop(0)

    with pytest.raises(HostError) as caught:
        await run_linked(agent, work, story, story.patience)
    assert caught.value is slow
    assert ("up", None) in story.told or not has_renewed
    assert slow.what not in [what for what, _ in story.told]


async def test_a_call_without_an_answer_is_a_break(agent: Agent) -> None:
    story, limits_s = Story(), [0.01, 30.0]

    async def work(agent: Agent) -> None:
        limit_s = limits_s.pop(0)
        if limits_s:
            ended = {"pid": agent.hello["pid"], "start_ticks": start_ticks(agent.hello["pid"])}
            await agent.call("wait", timeout_s=limit_s, **ended)
        await agent.call("clock", timeout_s=limit_s)

    assert await run_linked(agent, work, story, replace(story.patience, open=Patience().open))
    assert "no answer to 'wait'" in story.told[0][0]


def start_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])


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
        task = asyncio.ensure_future(run_linked(agent, work, Story(), Patience()))
        await has_begun.wait()
        task.cancel()
        await asyncio.wait([task], timeout=100)

        assert task.cancelled()


async def test_what_a_break_interrupts_is_prepared_anew_with_a_link_that_is_held() -> None:
    story, said = Story(REFUSED), []
    patience = replace(Patience(), open=_open_after(story))

    async def prepare(agent: Agent) -> Agent:
        await agent.call("clock")
        return agent

    async with open_agent(local_host()) as gone:
        pass
    async with prepare_linked(gone, prepare, LinkSpeaker(said.append), patience) as made:
        assert made is not gone
        assert (await made.call("clock"))["boottime_ns"] > 0

    assert not made.is_alive
    assert said == ["the link is down: local: the agent ended", "the link is up again"]


def _open_after(story: Story) -> Callable[[Agent, float], object]:
    """Links that fail as the story has it, and then are real ones."""

    @asynccontextmanager
    async def open_real(agent: Agent, try_s: float) -> AsyncIterator[Agent]:
        async with story.open(agent, try_s), open_agent(agent.host) as renewed:
            yield renewed

    return open_real


async def test_a_preparation_ends_when_the_host_is_given_up() -> None:
    story = Story(*[REFUSED] * 1000, lost_after_s=30.0)
    async with open_agent(local_host()) as gone:
        pass

    with pytest.raises(LinkError, match="not reached for 30 s"):
        async with prepare_linked(gone, lambda a: a.call("clock"), story, story.patience):
            pass


@pytest.mark.parametrize(
    "error",
    [
        OperationError("denied", "not yours", where="here", evidence=None),
        LinkError(Trouble.NO_CLIENT, "docker is not installed on box"),
    ],
)
async def test_what_fails_over_a_link_that_stands_is_not_tried_again(
    agent: Agent, error: HostError
) -> None:
    story = Story()

    async def prepare(agent: Agent) -> None:
        raise error

    with pytest.raises(HostError) as caught:
        async with prepare_linked(agent, prepare, story, story.patience):
            pass
    assert caught.value is error
    assert story.told == []
