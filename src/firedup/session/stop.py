"""Ends a server by its engine's stop table: who gets which signal, and when the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from firedup.core.event import Exited, StopAsked
from firedup.core.model import Stage
from firedup.host.base import OperationError
from firedup.host.file import append_file
from firedup.host.launch import Identity
from firedup.host.link import Agent
from firedup.host.process import send_signal, wait_gone
from firedup.host.run import find_run as find_state
from firedup.profile.schema import Catalogue
from firedup.profile.stop import stop_steps
from firedup.session.clock import HostClock
from firedup.session.family import find_family
from firedup.session.run import Run
from firedup.session.summary import last_stage
from firedup.store.event import encode_event

# The keeper writes exit.json within moments of the end.
EXIT_WAIT_S = 5.0


async def stop_run(
    agent: Agent,
    catalogue: Catalogue,
    run: Run,
    *,
    say: Callable[[str], None],
    stage: Stage | None = None,
    grace_s: float | None = None,
) -> Exited | None:
    """Stop the server of `run` and sweep what it left; returns how it ended, None if unknown.

    Doing it twice is harmless. `stage` chooses the row of the stop table (None: the stage that was
    seen last). `grace_s` replaces the table's times between the signals.
    """
    server = run.state.server
    if server is not None and run.state.is_server_alive:
        stage = stage or await last_stage(agent, run)
        clock = await HostClock.read(agent)
        asked = StopAsked(clock.boottime_ns(), "firedup stop")
        await append_file(agent, f"{run.folder}/events.jsonl", encode_event(asked))
        await _signal_in_turn(agent, catalogue, run, server, say, stage, grace_s)
    else:
        say(f"{run.label.name} ({run.label.id}) has ended already")
    await sweep_orphans(agent, run, say)
    return await _read_exit(agent, run)


async def sweep_orphans(agent: Agent, run: Run, say: Callable[[str], None]) -> int:
    """Kill processes of this run that outlived its server; returns how many there were."""
    members = await find_family(agent, run.state)
    swept = 0
    for process in members:
        say(f"sweeping pid {process.pid} ({process.command}), left behind by the server")
        try:
            await send_signal(agent, process.pid, process.start_ticks, "SIGKILL", to="main")
            await wait_gone(agent, process.pid, process.start_ticks, timeout_s=5.0)
        except OperationError:
            continue
        swept += 1
    return swept


async def _signal_in_turn(
    agent: Agent,
    catalogue: Catalogue,
    run: Run,
    server: Identity,
    say: Callable[[str], None],
    stage: Stage | None,
    grace_s: float | None,
) -> None:
    for step in stop_steps(catalogue.profile(run.spec.engine), stage):
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
