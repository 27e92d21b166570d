"""The daily act: stop, wait for the port, sweep orphans, launch again with changed flags."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from firedup.core.difference import Change, describe_changes, is_flag
from firedup.core.error import FiredupError, UsageError
from firedup.core.model import Ownership
from firedup.host.base import LinkError
from firedup.host.link import Agent
from firedup.host.process import fetch_port, find_members
from firedup.profile.schema import Catalogue
from firedup.session.launch import Heed, launch, refuse_doomed
from firedup.session.order import Order, parse_words
from firedup.session.registry import Run
from firedup.session.stop import stop_run

PORT_WAIT_S = 30.0


async def restart_run(
    agent: Agent,
    catalogue: Catalogue,
    run: Run,
    changed: Sequence[str],
    *,
    say: Callable[[str], None],
    force: bool = False,
    arms_stacks: bool | None = None,
    skips: tuple[str, ...] = (),
    heed: Heed = lambda _: None,
    will_watch: bool = False,
    whole: Callable[[Coroutine[Any, Any, Run]], Awaitable[Run]] | None = None,
) -> tuple[Run, tuple[Change, ...]]:
    """Stop `run` and launch its command again; returns the new run and what is different.

    `changed` are flags that replace those of the same name (`--flag value`, `--flag=value`),
    `K=V` words that change the environment, and `--no=--flag` to drop one. Without them the
    command is the same. `arms_stacks` None is as the run was. `skips` are checks that are left
    out, `heed` is told of what is merely risky. `whole` awaits the launch, for one who wants to
    know of it even when the restart is cut short.
    """
    manifest = run.manifest
    env, argv = change_command(manifest.env, manifest.argv, changed)
    difference = describe_changes(manifest.env, manifest.argv, env, argv)
    order = make_order(run, env, argv, force=force, arms_stacks=arms_stacks)
    order = replace(order, skips=skips)
    # A typing error must not cost the living server: what is doomed is refused before the stop.
    own = await find_own_processes(agent, run)
    await refuse_doomed(agent, catalogue, order, own, heed)
    await stop_run(agent, catalogue, run, say=say)
    with stop_told(run, changed, say):
        await wait_for_port(agent, run, say)
    launching = launch(agent, catalogue, replace(order, will_watch=will_watch))
    with stop_told(run, changed, say, is_launching=True):
        return await (whole(launching) if whole else launching), difference


@contextmanager
def stop_told(
    run: Run, changed: Sequence[str], say: Callable[[str], None], *, is_launching: bool = False
) -> Iterator[None]:
    """Say that `run` is stopped already where a restart ends before its launch, and what to type.

    Of a launch (`is_launching`) that is cut short others know better how it stands.
    """
    try:
        yield
    except (asyncio.CancelledError, FiredupError) as error:
        if not (is_launching and isinstance(error, asyncio.CancelledError | LinkError)):
            # A launch that failed may have left a newer run of that name.
            label = run.label.id if is_launching else run.label.name
            host = () if run.label.host == "local" else ("--host", run.label.host)
            words = ("firedup", "restart", label, *host, *(("--", *changed) if changed else ()))
            what = f"{run.label.name} is stopped, and nothing was launched in its place."
            say(f"{what} Launch it: {shlex.join(words)}")
        raise


def make_order(
    run: Run,
    env: Mapping[str, str],
    argv: tuple[str, ...],
    *,
    force: bool,
    arms_stacks: bool | None = None,
) -> Order:
    """The order that launches `run` again, with another environment and command."""
    manifest = run.manifest
    return Order(
        argv=argv,
        name=manifest.name,
        env=tuple(env.items()),
        setup=manifest.setup,
        login=manifest.login,
        cwd=manifest.cwd,
        log=None if run.log.startswith(f"{run.folder}/") else run.log,
        timeout_s=manifest.timeout_s,
        stage_limits=tuple(manifest.stage_limits.items()),
        on_stall=manifest.on_stall,
        arms_stacks=manifest.arms_stacks if arms_stacks is None else arms_stacks,
        hooks=tuple((hook.on, hook.command) for hook in manifest.hooks),
        notify=manifest.notify,
        env_files=manifest.env_files,
        engine=run.spec.engine,
        restarted_from=manifest.id,
        force=force,
    )


async def find_own_processes(agent: Agent, run: Run) -> set[int]:
    """The processes that will be gone once `run` was stopped."""
    server, keeper = run.state.server, run.state.keeper
    members = await find_members(
        agent,
        run.label.id,
        (server.pid, server.start_ticks) if server else None,
        (keeper.pid, keeper.start_ticks) if keeper else None,
    )
    return {process.pid for process in members}


def change_command(
    env: Mapping[str, str], argv: Sequence[str], changed: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Environment and argv after `changed`. UsageError for a word that is neither flag nor K=V."""
    new_env = dict(env)
    words = list(changed)
    if words and words[0] == "--":
        words.pop(0)
    if words and not words[0].startswith("-"):
        pairs, rest = parse_words([*words, "--end-of-words"])
        new_env |= dict(pairs)
        words = list(rest[:-1])
    new_argv = list(argv)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            raise UsageError(
                f"{word!r} is no flag",
                todo="Give flags with their values: firedup restart RUN -- --tp 4 --mem 0.8",
            )
        if word.startswith("--no="):
            _drop(new_argv, word.removeprefix("--no="))
            continue
        name, has_value, value = word.partition("=")
        values = [value] if has_value else []
        while not has_value and words and not is_flag(words[0]):
            values.append(words.pop(0))
        _put(new_argv, name, values, joined=bool(has_value))
    return new_env, tuple(new_argv)


async def wait_for_port(agent: Agent, run: Run, say: Callable[[str], None]) -> None:
    """Wait until the port of a stopped run is free, for some time."""
    port = run.spec.port
    if port is None:
        return
    has_said = False
    try:
        async with asyncio.timeout(PORT_WAIT_S):
            while True:
                owner = (await fetch_port(agent, port)).judge((), bind=run.spec.bind)
                if owner.owner not in (Ownership.NO, Ownership.UNKNOWN):
                    return
                if not has_said:
                    say(f"waiting for port {port}, held by pid {owner.pid}")
                    has_said = True
                await asyncio.sleep(0.1)
    except TimeoutError:
        return  # the pre-flight of the launch will name the owner


def _find(argv: Sequence[str], name: str) -> tuple[int, int] | None:
    """Where the last `name` stands with its values: (start, end)."""
    for start in range(len(argv) - 1, 0, -1):
        if argv[start] == name:
            end = start + 1
            while end < len(argv) and not is_flag(argv[end]):
                end += 1
            return start, end
        if argv[start].startswith(name + "="):
            return start, start + 1
    return None


def _drop(argv: list[str], name: str) -> None:
    place = _find(argv, name)
    if place is None:
        raise UsageError(f"the command has no {name} to drop")
    del argv[place[0] : place[1]]


def _put(argv: list[str], name: str, values: list[str], *, joined: bool) -> None:
    place = _find(argv, name)
    if place is not None and len(values) == 1:
        # Not every program takes both forms: the one in use is known to work.
        joined = argv[place[0]] != name
    words = [f"{name}={values[0]}"] if joined else [name, *values]
    if place is None:
        argv += words
    else:
        argv[place[0] : place[1]] = words
