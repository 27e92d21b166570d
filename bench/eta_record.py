"""Records starts of a real engine: how long the stages took, and where each start was meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

from firedup.cli.knowledge import match_server, read_catalogue
from firedup.core.model import Snapshot
from firedup.core.verdict.etatimes import present_of, times_of
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.launch import launch
from firedup.session.open import open_host
from firedup.session.order import Order
from firedup.session.run import watch_run
from firedup.session.stop import stop_run
from firedup.session.watch import Watching

TICK_S = 0.25


def record_starts(kind: str, argv: list[str], count: int, into: Path) -> None:
    """Start `argv` so often, `{port}` in it being a free one, and append each start to `into`."""
    asyncio.run(_record(kind, argv, count, into))


async def _record(kind: str, argv: list[str], count: int, into: Path) -> None:
    catalogue = read_catalogue()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        async with open_host() as agent:
            for _ in range(count):
                start = await _start(agent, catalogue, argv)
                if start is not None:
                    with into.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({"kind": kind, **start}) + "\n")


async def _start(agent: Agent, catalogue: Catalogue, argv: list[str]) -> dict[str, Any] | None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    order = Order(tuple(word.replace("{port}", port) for word in argv))
    run = await launch(agent, catalogue, order)
    matcher = match_server(catalogue, run.spec.engine)
    moments: list[list[Any]] = []
    last: Snapshot | None = None
    try:
        async for snapshot in watch_run(agent, catalogue, matcher, run, Watching(tick_s=TICK_S)):
            last = snapshot
            here = present_of(snapshot)
            stage_s = None if here.stage_s is None else round(here.stage_s, 3)
            row = [round(here.elapsed_s, 3), here.stage, stage_s, here.fraction, here.basis]
            is_new = not moments or row[1] != moments[-1][1]
            gap_s = max(TICK_S, here.elapsed_s / 20)
            if is_new or here.elapsed_s - moments[-1][0] >= gap_s:
                moments.append(row)
    finally:
        await stop_run(agent, catalogue, run, say=lambda _: None)
    times = times_of(last) if last is not None else None
    if times is None:
        return None
    stages = [[time.stage, round(time.began_s, 3), round(time.seconds, 3)] for time in times.stages]
    return {"ready_s": round(times.ready_s, 3), "stages": stages, "moments": moments}
