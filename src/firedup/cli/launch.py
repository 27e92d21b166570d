"""What `firedup run` does: order, launch, watch, and a word when the watching is broken off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any, TypeVar

from firedup.cli.compose import read_command
from firedup.cli.drive import run_async
from firedup.cli.knowledge import read_catalogue
from firedup.cli.option import read_limit
from firedup.cli.recalled import complete_order
from firedup.cli.say import say_aside
from firedup.cli.watching import say_goes_on, say_launched, watch_launched
from firedup.core.model import Finding, Severity
from firedup.host.base import LinkError
from firedup.profile.schema import Catalogue
from firedup.session.launch import launch
from firedup.session.open import open_host
from firedup.session.order import Order
from firedup.session.registry import Run
from firedup.view.redact import clean

LAUNCH_LIMIT_S = 10.0
Made = TypeVar("Made")


def launch_and_watch(given: Mapping[str, Any]) -> int:
    """Launch what the options of `firedup run` describe; the exit status."""
    catalogue = read_catalogue(given["profiles"], engine=given["engine"])
    order = read_order(given, catalogue)
    status, run = run_async(_launch_and_watch(order, catalogue, given))
    if given["then"] is None or status:
        return status
    from firedup.cli.then import probe_launched

    return probe_launched(run, given)


def read_order(given: Mapping[str, Any], catalogue: Catalogue) -> Order:
    """The order that the options make."""
    words = ("engine", "target", "draft", "tp", "port", "bind", "host")
    env, argv = read_command(given["words"], catalogue, **{word: given[word] for word in words})
    return Order(
        argv=argv,
        name=given["name"],
        env=(*given["env"], *env),
        env_files=given["env_files"],
        setup=given["setup"],
        login=bool(given["login"]),
        cwd=given["cwd"],
        log=given["log"],
        timeout_s=read_limit(given["timeout_s"]),
        stage_limits=given["stage_limits"],
        on_stall=given["on_stall"] or "report",
        arms_stacks=given["arms_stacks"],
        force=given["force"],
        hooks=given["hooks"],
        notify=given["notify"],
        engine=given["engine"],
        will_watch=not given["no_wait"],
        skips=given["skips"],
    )


async def _launch_and_watch(
    order: Order, catalogue: Catalogue, given: Mapping[str, Any]
) -> tuple[int, Run]:
    async with open_host(given["host"] or "local") as agent:
        order = complete_order(agent, order, given)
        run = await launch_whole(launch(agent, catalogue, order, say_risk), [agent.host.name])
        if given["no_wait"]:
            say_launched(run, as_json=given["as_json"])
            return 0, run
        return await watch_launched(agent, catalogue, run, given), run


def say_risk_on(label: str, finding: Finding) -> None:
    """The same of one of several nodes."""
    say_risk(replace(finding, message=f"{label}: {finding.message}"))


def say_risk(finding: Finding) -> None:
    """Tell of what the pre-flight finds risky or would add, and launch all the same."""
    if finding.severity is Severity.NOTE:
        advice = f"{clean(finding.message)} {clean(finding.remedy or '')}".strip()
        say_aside(f"firedup: suggestion ({clean(finding.id)}): {advice}")
        return
    evidence = "; ".join(item.text for item in finding.evidence)
    say_aside(f"firedup: risky ({clean(finding.id)}): {clean(finding.message)} {clean(evidence)}")


async def launch_whole(
    launching: Coroutine[Any, Any, Made],
    hosts: Sequence[str],
    run_of: Callable[[Made], Run | None] = lambda made: made if isinstance(made, Run) else None,
) -> Made:
    """What `launching` launches on `hosts`; `run_of` is the run that is told of.

    One that is cut short is awaited, so that no server stays unknown. LinkError with advice where
    the link broke on the way: whether the server began is for the host to say.
    """
    ways = " ".join(f"--host {quote(host)}" for host in dict.fromkeys(hosts))
    doubt = f"Whether the server began is not known here: firedup ps --all {ways}"
    task = asyncio.ensure_future(launching)
    try:
        return await asyncio.shield(task)
    except LinkError as error:
        raise error.advise(doubt) from error
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=LAUNCH_LIMIT_S)
        if not task.done() or task.cancelled() or isinstance(task.exception(), LinkError):
            say_aside(doubt)
        elif (fault := task.exception()) is not None:
            say_aside(f"nothing was launched: {fault}".splitlines()[0])
        elif run := run_of(task.result()):
            say_goes_on(run)
        raise
