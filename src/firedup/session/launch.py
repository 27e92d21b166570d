"""Launches a server as ordered: reads its command, checks what it can, starts the keeper."""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from firedup import __version__
from firedup.core.error import RefusedError, UsageError
from firedup.core.model import Evidence, Finding, ServerSpec, Severity
from firedup.host.base import OperationError
from firedup.host.launch import launch_server
from firedup.host.link import Agent
from firedup.host.manifest import Hook, Manifest, Recipe, new_run_id
from firedup.probe.target import make_target
from firedup.profile.command import read_command
from firedup.profile.schema import Catalogue
from firedup.session.container import name_container, order_container
from firedup.session.fate import tell_fate
from firedup.session.order import Order, check_name
from firedup.session.preflight import check_launch, note_facts
from firedup.session.preflight_host import Facts
from firedup.session.recipe import make_recipe
from firedup.session.registry import Run, find_run
from firedup.session.variables import fetch_variable_names, variable_paths

_MOST_FIRST = 4  # files of the first reason that a refusal names

Heed = Callable[[Finding], None]


def folder_of(agent: Agent, order: Order) -> str:
    """The absolute folder on the host in which the command runs.

    On the local host that is the client's own when --cwd says nothing, else the home there.
    """
    base = str(Path.cwd()) if agent.host.is_local else str(agent.hello["home"])
    return posixpath.normpath(posixpath.join(base, order.cwd or ""))


def name_of(order: Order, spec: ServerSpec) -> str:
    """The run's label: as given, else the model's, else the program's."""
    if order.name is not None:
        return check_name(order.name)
    word = spec.model or name_container(order.argv) or order.argv[0]
    base = posixpath.basename(word.rstrip("/"))
    return base.removesuffix(".gguf").lower() or "server"


def spec_of(order: Order, catalogue: Catalogue, names: Collection[str] = ()) -> ServerSpec:
    """What the command says; the engine as the order names it, if it does.

    `names` are variables that have values which only the host knows.
    """
    env = dict.fromkeys(names, "?") | dict(order.env)
    spec = read_command(order.argv, env, catalogue)
    return replace(spec, engine=order.engine) if order.engine is not None else spec


async def refuse_doomed(
    agent: Agent,
    catalogue: Catalogue,
    order: Order,
    own: Collection[int] = (),
    heed: Heed = lambda _: None,
) -> None:
    """RefusedError when the pre-flight finds `order` doomed, unless it is to be forced.

    UsageError for a file of variables that cannot be read, or a container that cannot be armed,
    forced or not. `own` are processes that
    will be gone by then, such as those of a server to be restarted. `heed` is told of what is
    merely risky.
    """
    _refuse_arming(order, catalogue)
    names = await fetch_variable_names(agent, order)
    if not order.force:
        found = await find_problems(agent, catalogue, order, own, names)
        host = None if agent.host.is_local else agent.host.name
        refuse([one for one in found if one.severity is Severity.SEVERE], host)
        for one in found:
            heed(one)


def _refuse_arming(order: Order, catalogue: Catalogue) -> None:
    """UsageError for a container whose Python processes are to tell their stacks."""
    if order.arms_stacks and order_container(order.argv, catalogue) is not None:
        raise UsageError(
            "--arm-stacks does not reach into a container",
            where=order.argv[0],
            why="what it sets up lies on the host, and the container sees none of that",
            todo="Leave it out: as root, or with sudo, py-spy on the host reads a container's"
            " processes too.",
        )


async def find_problems(
    agent: Agent,
    catalogue: Catalogue,
    order: Order,
    own: Collection[int] = (),
    names: Collection[str] = (),
) -> list[Finding]:
    """What speaks against the launch that `order` asks for, the most severe first."""
    spec, cwd = spec_of(order, catalogue), folder_of(agent, order)
    name_of(order, spec)
    return await check_launch(agent, order, spec, cwd, own, names=names)


async def launch(
    agent: Agent, catalogue: Catalogue, order: Order, heed: Heed = lambda _: None
) -> Run:
    """Start the server of `order` and return its run, which `watch_run` can follow.

    RefusedError when the pre-flight finds it doomed (unless `order.force`), UsageError when the
    program did not begin. `heed` is told of what the pre-flight finds risky.
    """
    await refuse_doomed(agent, catalogue, order, heed=heed)
    names = await fetch_variable_names(agent, order)
    spec, cwd = spec_of(order, catalogue, names), folder_of(agent, order)
    clock = await agent.call("clock")
    name = name_of(order, spec)
    place = order.place
    run_id = place.run_id if place else new_run_id(clock["wall_ns"], name, secrets.token_hex(2))
    manifest = Manifest(
        id=run_id,
        name=name,
        argv=order.argv,
        env=dict(order.env),
        cwd=cwd,
        log=posixpath.normpath(posixpath.join(cwd, order.log)) if order.log else None,
        setup=order.setup,
        login=order.login,
        spec=spec,
        timeout_s=order.timeout_s,
        stage_limits=dict(order.stage_limits),
        on_stall=order.on_stall,
        arms_stacks=order.arms_stacks,
        firedup=__version__,
        restarted_from=order.restarted_from,
        hooks=tuple(Hook(on, command) for on, command in order.hooks),
        notify=order.notify,
        env_files=variable_paths(agent, order),
        recipe=_recipe_for(agent, catalogue, order, spec),
        nodes=place.hosts if place else (),
        node=place.rank if place else 0,
        container=order_container(order.argv, catalogue),
        notes=tell_fate(agent.host),
        facts=await note_facts(Facts(agent, order, spec, cwd, names=frozenset(names))),
    )
    try:
        await launch_server(agent, manifest, will_watch=order.will_watch)
    except OperationError as error:
        if error.code != "exec-failed":
            raise
        raise UsageError(
            f"{order.argv[0]} did not begin",
            evidence=error.evidence,
            why=error.what,
            todo="Check the program's name and mode, the folder it runs in, and the path of --log.",
        ) from error
    return await find_run(agent, run_id)


def _recipe_for(
    agent: Agent, catalogue: Catalogue, order: Order, spec: ServerSpec
) -> Recipe | None:
    """What the keeper needs to tell of events; None when nobody wants to be told."""
    if not order.hooks and not order.notify:
        return None
    target = make_target(agent, spec, catalogue.profile(spec.engine), run_folder="")
    return make_recipe(target, catalogue.rules_for(spec.engine))


def _list_some(evidence: Sequence[Evidence], most: int) -> list[str]:
    shown = evidence if len(evidence) <= most + 1 else evidence[:most]
    hidden = len(evidence) - len(shown)
    more = [f"and {hidden} more, which firedup preflight --json lists"] if hidden else []
    return [*(one.text for one in shown), *more]


def refuse(findings: Sequence[Finding], host: str | None = None) -> None:
    """Raise RefusedError when there are reasons against a launch; `host` is not this machine."""
    if not findings:
        return
    first, *others = findings
    raise RefusedError(
        f"refused to launch{f' on {host}' if host else ''}: {first.message}",
        evidence="\n  ".join(_list_some(first.evidence, _MOST_FIRST)) or None,
        why="\n  ".join(
            f"also: {one.message} {', '.join(_list_some(one.evidence, 1))}".rstrip()
            for one in others
        )
        or None,
        todo=f"{first.remedy or ''} --force launches all the same.".strip(),
    )
