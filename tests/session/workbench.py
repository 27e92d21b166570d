"""What tests do with servers: make programs, launch them, watch them to the end."""

import asyncio
import re
import textwrap
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from port import free_port

from firedup.core.model import Explanation, Snapshot
from firedup.core.rule import Matcher
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.launch import launch
from firedup.session.order import Order
from firedup.session.registry import Run
from firedup.session.run import watch_run
from firedup.session.watch import Watching
from firedup.testing.program import first_lines, make_program
from firedup.testing.script import Http, Script, Stop, line

__all__ = [
    "LIMIT_S",
    "RUNS",
    "Knowledge",
    "Site",
    "free_port",
    "last_of",
    "recorded",
    "story",
    "until",
]

LIMIT_S = 100.0
RUNS = Path(__file__).parent.parent / "data" / "engine-runs"


@dataclass(frozen=True)
class Knowledge:
    catalogue: Catalogue
    matcher: Matcher


class Site:
    """What a test does with servers: make programs, launch them, watch them to the end."""

    def __init__(self, agent: Agent, knowledge: Knowledge, folder: Path, port: int) -> None:
        self.agent = agent
        self.catalogue = knowledge.catalogue
        self.matcher = knowledge.matcher
        self.folder = folder
        self.port = port
        self.watches: list[Any] = []

    def fake(self, script: Script, name: str = "sglang") -> str:
        """A program that is taken for the engine `name` and plays `script`."""
        self.folder.mkdir(exist_ok=True)
        return str(make_program(self.folder, name, script))

    def program(self, body: str, name: str = "sglang") -> str:
        """A Python program of one's own, taken for the engine `name`; PORT is known in it."""
        self.folder.mkdir(exist_ok=True)
        path = self.folder / name
        path.write_text(f"{first_lines()}PORT = {self.port}\n{textwrap.dedent(body)}")
        path.chmod(0o755)
        return str(path)

    def serve(self, program: str, *flags: str) -> tuple[str, ...]:
        """The command line of an SGLang server on this test's port."""
        return (program, "serve", "--model-path", "org/model", "--port", str(self.port), *flags)

    async def launch(self, argv: tuple[str, ...], **order: Any) -> Run:
        return await launch(self.agent, self.catalogue, Order(argv, **order))

    def watch(self, run: Run, agent: Agent | None = None, **how: Any) -> AsyncIterator[Snapshot]:
        """A watch over `run`, which ends with the test at the latest."""
        watching = Watching(**{"timeout_s": 600, **how})
        snapshots = watch_run(agent or self.agent, self.catalogue, self.matcher, run, watching)
        self.watches.append(snapshots)
        return snapshots

    async def conclude(self, run: Run, **how: Any) -> Snapshot:
        """The last snapshot of a watch over `run`."""
        return await last_of(self.watch(run, **how))


async def last_of(snapshots: AsyncIterator[Snapshot]) -> Snapshot:
    last = None
    async with asyncio.timeout(LIMIT_S):
        async for snapshot in snapshots:
            last = snapshot
    assert last is not None
    return last


async def until(
    snapshots: AsyncIterator[Snapshot], holds: Callable[[Snapshot], object]
) -> Snapshot:
    """The first snapshot for which `holds`; the stream can be read on."""
    async with asyncio.timeout(LIMIT_S):
        async for snapshot in snapshots:
            if holds(snapshot):
                return snapshot
    raise AssertionError("the watch ended before")


def recorded(name: str, *, line_s: float = 0.002, **http: Any) -> Script:
    """A recorded SGLang log up to its ready line, as a server that then serves until stopped."""
    lines = (RUNS / "sglang" / name).read_bytes().splitlines(keepends=True)
    ready = next(i for i, text in enumerate(lines) if b"fired up" in text)
    opened = next(i for i, text in enumerate(lines) if b"Uvicorn running on" in text)
    pieces = tuple(
        replace(line(i * line_s, ""), data=text) for i, text in enumerate(lines[: ready + 1])
    )
    served = Http(open_s=opened * line_s, health=((opened * line_s, 200),))
    return Script(pieces, replace(served, **http), stop=Stop((line(0, "bye"),)))


def story(explanation: Explanation) -> tuple[Any, ...]:
    """What two watches of the same run must agree on: everything but how long things took."""
    cause = explanation.cause
    said = re.sub(r"pid \d+", "pid N", cause.line) if cause else None
    return (
        explanation.engine,
        explanation.version,
        explanation.verdict,
        explanation.stage,
        explanation.starts,
        tuple(span.stage for span in explanation.stages),
        (cause.failure, cause.rule, cause.line_number, cause.offset, said) if cause else None,
        tuple((f.line_number, f.offset, f.role) for f in explanation.followed),
        tuple(finding.id for finding in explanation.findings),
        explanation.gauges,
    )
