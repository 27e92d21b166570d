"""A keeper and clients that watch: each event is told once, by who knows more while it lives."""

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from ear import Ear, recipe
from kept import LIMIT_S, end, ended, told_by

from firedup.host.agent.hook import is_attended
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent

if TYPE_CHECKING:
    from tests.host.conftest import Launcher


async def test_a_client_that_watches_tells_first_and_the_keeper_adds_nothing(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    watching = agent.open("attend", run=launched.folder)
    await told_by(Path(launched.folder, "keeper.json"), "pid")
    end(launched, signal.SIGSEGV)
    await told_by(Path(launched.folder, "exit.json"), "code")
    facts = {"verdict": "crashed", "cause": "cuda-out-of-memory", "cause_line": "OOM: sorry"}
    for event in ("crashed", "exited"):
        for _ in range(2):
            await agent.call("hook", run=launched.folder, on=event, facts=facts)
    await ended(agent, launched)
    watching.close()

    await ear.hear_times(2)

    assert sorted(ear.events) == ["crashed", "exited"]
    assert [told["source"] for told in ear.told] == ["client", "client"]
    assert ear.told[0]["cause"] == {"class": "cuda-out-of-memory", "line": "OOM: sorry"}


async def test_a_client_that_will_watch_tells_first_of_an_end_before_it_attends(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch(
        "sh", "-c", "exit 3", notify=(ear.url,), recipe=recipe(1), will_watch=True
    )
    await told_by(Path(launched.folder, "exit.json"), "code")
    is_expected = is_attended(launched.folder)
    facts = {"verdict": "crashed", "cause": "cuda-out-of-memory", "cause_line": "OOM: sorry"}
    for event in ("crashed", "exited"):
        await agent.call("hook", run=launched.folder, on=event, facts=facts)
    await ear.hear_times(2)

    assert is_expected
    assert [told["source"] for told in ear.told] == ["client", "client"]


async def test_a_client_that_would_watch_and_is_killed_before_it_does_is_not_waited_for(
    launch: "Launcher", ear: Ear
) -> None:
    async with open_agent(local_host()) as other:
        launched = await launch(
            "sleep", "600", notify=(ear.url,), recipe=recipe(1), will_watch=True, on=other
        )
        os.kill(other.hello["pid"], signal.SIGKILL)
    end(launched, signal.SIGSEGV)

    assert (await ear.hear("crashed"))["source"] == "keeper"


async def test_a_client_that_attended_and_left_is_expected_no_more(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1), will_watch=True)
    agent.open("attend", run=launched.folder).close()
    end(launched, signal.SIGSEGV)

    assert (await ear.hear("crashed"))["source"] == "keeper"


async def test_the_keeper_tells_at_once_when_the_client_that_watched_is_killed(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    async with open_agent(local_host()) as other:
        other.open("attend", run=launched.folder)
        async with asyncio.timeout(LIMIT_S):
            while not is_attended(launched.folder):
                await asyncio.sleep(0.02)
        end(launched, signal.SIGSEGV)
        await told_by(Path(launched.folder, "exit.json"), "code")
        os.kill(other.hello["pid"], signal.SIGKILL)

    assert (await ear.hear("crashed"))["source"] == "keeper"


async def test_a_client_that_watches_and_says_nothing_is_waited_for_no_longer_than_the_grace(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    short = recipe(1, grace_s=1.0)
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=short)
    agent.open("attend", run=launched.folder)
    end(launched, signal.SIGSEGV)

    assert (await ear.hear("crashed"))["source"] == "keeper"


async def test_without_a_keeper_the_agent_sees_to_what_a_client_concludes(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    os.kill(launched.keeper.pid, signal.SIGKILL)
    await ended(agent, launched)

    await agent.call("hook", run=launched.folder, on="stalled", facts={"verdict": "stalled"})

    assert (await ear.hear("stalled"))["source"] == "client"
