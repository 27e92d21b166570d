"""A run that fails is compared with the last one like it that came up."""

from typing import Any

import pytest
from workbench import Site

from firedup.core.difference import Change
from firedup.core.model import Verdict
from firedup.host.link import Agent
from firedup.session.registry import Run, find_run
from firedup.session.stop import stop_run
from firedup.testing.script import Http, Script, line

UP = Script((line(0, "The server is fired up and ready to roll!"),), Http(health=((0.0, 200),)))
DOWN = Script((line(0, "torch.OutOfMemoryError: CUDA out of memory."),), end=1)


async def come_up(site: Site, *flags: str, **order: object) -> Run:
    run = await site.launch(site.serve(site.fake(UP), *flags), **order)
    assert (await site.conclude(run)).explanation.verdict is Verdict.READY
    await stop_run(site.agent, site.catalogue, run, say=lambda _: None)
    return run


async def test_the_difference_to_the_last_good_run_is_told(site: Site) -> None:
    good = await come_up(site, "--tp", "4", name="r")
    argv = site.serve(site.fake(DOWN), "--tp", "8")
    bad = await site.launch(argv, name="r", env=(("NCCL_ALGO", "Tree"),))

    watched = (await site.conclude(bad)).explanation
    attached = (await site.conclude(bad)).explanation

    assert watched.verdict is Verdict.CRASHED
    assert watched.since_good is not None
    assert watched.since_good.run == good.label.id
    assert watched.since_good.changes == (
        Change("--tp", "4", "8"),
        Change("NCCL_ALGO", None, "Tree"),
    )
    assert attached.since_good == watched.since_good


async def test_a_failed_run_is_no_precedent_and_its_model_may_be(site: Site) -> None:
    good = await come_up(site, name="first")
    for name in ("second", "third"):
        run = await site.launch(site.serve(site.fake(DOWN), "--tp", "2"), name=name)
        seen = (await site.conclude(run)).explanation

        assert seen.since_good is not None
        assert seen.since_good.run == good.label.id


async def test_a_run_that_comes_up_is_compared_with_nothing(site: Site) -> None:
    await come_up(site, name="r")
    again = await site.launch(site.serve(site.fake(UP)), name="r")

    seen = (await site.conclude(again)).explanation
    await stop_run(site.agent, site.catalogue, again, say=lambda _: None)

    assert seen.verdict is Verdict.READY
    assert seen.since_good is None


async def test_earlier_runs_are_read_for_a_run_that_failed_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await come_up(site, name="r"), await come_up(site, name="r")
    asked: list[str] = []
    fetch = Agent.fetch

    async def note(agent: Agent, op: str, **args: Any) -> tuple[dict[str, Any], bytes]:
        asked.append(str(args.get("path")))
        return await fetch(agent, op, **args)

    monkeypatch.setattr(Agent, "fetch", note)
    seen = (await site.conclude(await find_run(site.agent, second.label.id))).explanation

    assert seen.verdict in (Verdict.READY, Verdict.STOPPED)
    assert f"{second.folder}/exit.json" in asked
    assert f"{first.folder}/events.jsonl" not in asked
