"""Ends a server by its engine's stop table: who gets which signal, and when the next one."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from firedup.core.error import FiredupError
from firedup.core.event import Exited, StopAsked
from firedup.core.log.block import OPENERS
from firedup.core.model import Finding, Stage
from firedup.core.rule import Matcher
from firedup.host.base import LinkError, OperationError
from firedup.host.file import append_file
from firedup.host.launch import Identity
from firedup.host.link import Agent
from firedup.host.process import sample_tree, send_signal, wait_gone
from firedup.host.run import find_run as find_state
from firedup.profile.cache import Cache
from firedup.profile.match import CatalogueMatcher
from firedup.profile.schema import GENERIC, Catalogue
from firedup.profile.stop import stop_steps
from firedup.session.clock import HostClock
from firedup.session.container import stop_container
from firedup.session.family import find_family
from firedup.session.registry import Run
from firedup.session.summary import find_stage
from firedup.store.event import encode_event

# The keeper writes exit.json within moments of the end.
EXIT_WAIT_S = 5.0
SWEEP_WAIT_S = 5.0
# The carrier of a container ends when that has.
CARRIER_WAIT_S = 15.0


class StuckError(FiredupError):
    """Something lives on that was to end (exit status 1)."""

    exit_status = 1


async def stop_run(
    agent: Agent,
    catalogue: Catalogue,
    run: Run,
    *,
    say: Callable[[str], None],
    stage: Stage | None = None,
    grace_s: float | None = None,
    stall: Finding | None = None,
) -> Exited | None:
    """Stop the server of `run` and sweep what it left; returns how it ended, None if unknown.

    Doing it twice is harmless. `stage` chooses the row of the stop table (None: the stage that its
    log has reached). `grace_s` replaces the table's times between the signals. `stall` is what
    stands, where that is why firedup stops it by itself. StuckError when something of it lives on
    all the same.
    """
    server = run.state.server
    if server is not None and run.state.is_server_alive:

        def make_matcher(engine: str | None) -> Matcher:
            # The rules of a watch, so that what was compiled for that is of use here.
            rules = catalogue.rules_for(GENERIC if engine == GENERIC else None)
            return CatalogueMatcher(rules, OPENERS, blobs=Cache.of_user(os.environ))

        stage = stage or await find_stage(agent, make_matcher, run)
        clock = await HostClock.read(agent)
        by = "firedup stop" if stall is None else "--on-stall stop"
        asked = StopAsked(clock.boottime_ns(), by, stall)
        await append_file(agent, f"{run.folder}/events.jsonl", encode_event(asked))
        with _leaving_told(run, say):
            await _signal_in_turn(agent, catalogue, run, server, say, stage, grace_s)
    else:
        say(f"{run.label.name} ({run.label.id}) has ended already")
    await sweep_orphans(agent, run, say)
    await _check_gone(agent, run)
    return await _read_exit(agent, run)


async def sweep_orphans(agent: Agent, run: Run, say: Callable[[str], None]) -> int:
    """Kill processes of this run that outlived its server; returns how many there were."""
    members = await find_family(agent, run.state)
    swept = 0
    for process in members:
        say(f"sweeping pid {process.pid} ({process.command}), left behind by the server")
        try:
            await send_signal(agent, process.pid, process.start_ticks, "SIGKILL", to="main")
            await wait_gone(agent, process.pid, process.start_ticks, timeout_s=SWEEP_WAIT_S)
        except OperationError:
            continue
        swept += 1
    return swept


@contextmanager
def _leaving_told(run: Run, say: Callable[[str], None]) -> Iterator[None]:
    """Tell who breaks off the wait, or whose link breaks, that the server may end all the same."""
    name, host = run.label.name, run.label.host
    way = shlex.join((name, *(() if host == "local" else ("--host", host))))
    try:
        yield
    except asyncio.CancelledError:
        say(f"{name} was asked to end and may still do so. See to it: firedup stop {way}")
        raise
    except LinkError as error:
        raise error.advise(
            f"Whether {name} ended is not known. See to it: firedup stop {way}"
        ) from error


async def _signal_in_turn(
    agent: Agent,
    catalogue: Catalogue,
    run: Run,
    server: Identity,
    say: Callable[[str], None],
    stage: Stage | None,
    grace_s: float | None,
) -> None:
    steps = stop_steps(catalogue.profile(run.spec.engine), stage)
    patience_s = grace_s if grace_s is not None else steps[0].grace_s
    if await stop_container(agent, run, patience_s, say):
        with suppress(OperationError):
            await wait_gone(agent, server.pid, server.start_ticks, timeout_s=CARRIER_WAIT_S)
            return
    for step in steps:
        limit_s = grace_s if grace_s is not None else step.grace_s
        whom = "the server's group" if step.to == "group" else f"pid {server.pid}"
        say(f"SIG{step.signal} to {whom}, waiting up to {limit_s:g} s")
        try:
            await send_signal(
                agent, server.pid, server.start_ticks, f"SIG{step.signal}", to=step.to
            )
            await wait_gone(agent, server.pid, server.start_ticks, timeout_s=limit_s)
        except OperationError as error:
            if error.code == "timeout":
                continue
            if error.code not in ("gone", "not-found"):
                raise
        return


async def _check_gone(agent: Agent, run: Run) -> None:
    """StuckError when the server or one of its processes heeded no signal."""
    state = await find_state(agent, run.label.id)
    members = await find_family(agent, state)
    living = {process.pid: process for process in members}
    if state.server is not None and state.is_server_alive:
        first: int | None = state.server.pid
    else:
        first = next(iter(living), None)
    if first is None:
        return
    others = [str(pid) for pid in living if pid != first]
    letter = await _state_of(agent, first)
    why = "in this state it waits in the kernel, mostly for a device or a file system"
    raise StuckError(
        f"pid {first} heeds no signal (state {letter})",
        where=f"of {run.label.name} ({run.label.id})",
        evidence=f"and with it live {', '.join(others)}" if others else None,
        why=why if letter == "D" else None,
        todo=f"cat /proc/{first}/wchan and dmesg may tell what holds it.",
    )


async def _state_of(agent: Agent, pid: int) -> str:
    """The letter of /proc/PID/stat."""
    try:
        sample = await sample_tree(agent, pid)
    except OperationError:
        return "unknown"
    return next((process.state for process in sample.processes if process.pid == pid), "unknown")


async def _read_exit(agent: Agent, run: Run) -> Exited | None:
    deadline_s = EXIT_WAIT_S if run.state.is_keeper_alive else 0.0
    try:
        async with asyncio.timeout(deadline_s + 0.5):
            while True:
                state = await find_state(agent, run.label.id)
                if state.exit is not None or not state.is_keeper_alive:
                    return state.exit.event if state.exit else None
                await asyncio.sleep(0.05)
    except TimeoutError:
        return None
