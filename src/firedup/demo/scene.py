"""The demo's servers: how each is launched, on which free port, and how it is ended again."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from firedup.core.error import FiredupError
from firedup.demo.engine import engine_command
from firedup.demo.model import TARGET, Model, model_path
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.launch import launch
from firedup.session.order import Order
from firedup.session.registry import Run, find_run
from firedup.session.stop import stop_run

LOOPBACK = "127.0.0.1"
CONTEXT_TOKENS = "1024"
# More threads are no faster with models so small, and far slower where the cores are busy.
THREADS = "1"


class Launch(Protocol):
    """What is launched under the label `name`, and how long it may take to become ready."""

    @property
    def name(self) -> str:
        """The run's label."""

    @property
    def limit_s(self) -> float:
        """When it is given up."""

    def order(self, *, force: bool = False) -> Order:
        """What is launched."""

    def command(self, *, force: bool = False) -> tuple[str, ...]:
        """The same as one would type it."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One launch: `name` labels the run, `draft` speculates for `target`, a path or a file name."""

    name: str
    port: int
    target: str = TARGET.file
    draft: Model | None = None
    limit_s: float = 60.0

    def order(self, *, force: bool = False) -> Order:
        """What is launched. It runs in the models' folder, so that its words are short."""
        flags = ["-m", self.target]
        if self.draft is not None:
            flags += ["-md", self.draft.file, "--spec-type", self.draft.speculation or "none"]
        flags += ["-c", CONTEXT_TOKENS, "-t", THREADS, "--port", str(self.port)]
        folder = model_path(TARGET).parent
        return Order(engine_command(*flags), name=self.name, cwd=str(folder), force=force)

    def command(self, *, force: bool = False) -> tuple[str, ...]:
        """The same as one would type it in the models' folder."""
        words = ["firedup", "run", "--name", self.name, *(["--force"] if force else []), "--"]
        return (*words, "python", *self.order().argv[1:])


def find_free_port() -> int:
    """A TCP port of this machine on which nobody listens now."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        return int(listener.getsockname()[1])


@asynccontextmanager
async def hold_port() -> AsyncIterator[int]:
    """Keep a port taken, as another server would; whoever connects is turned away."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:  # noqa: ARG001 - asyncio's
        writer.close()

    server = await asyncio.start_server(refuse, LOOPBACK, 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


@asynccontextmanager
async def launched(
    agent: Agent,
    catalogue: Catalogue,
    order: Order,
    *,
    say: Callable[[str], None],
) -> AsyncIterator[Run]:
    """The run of `order`, whose server is stopped and swept at the end, whatever ends it."""
    launching = asyncio.ensure_future(launch(agent, catalogue, order))
    try:
        # A launch that was cut short could leave a server that nobody knows of.
        yield await asyncio.shield(launching)
    finally:
        run = await _outcome(launching)
        if run is not None:
            await _end(agent, catalogue, await find_run(agent, run.label.id), say)


async def _end(agent: Agent, catalogue: Catalogue, run: Run, say: Callable[[str], None]) -> None:
    """Stop `run` and sweep; says how it ended unless it had ended by itself."""

    def say_if_heard(text: str) -> None:
        if run.is_alive:
            with contextlib.suppress(OSError):  # what broke the demo off may be a closed output
                say(text)

    exited = await stop_run(agent, catalogue, run, say=say_if_heard)
    if exited is not None:
        how = f"status {exited.code}" if exited.code is not None else f"signal {exited.signal}"
        say_if_heard(f"stopped, with {how}")


async def _outcome(launching: asyncio.Future[Run]) -> Run | None:
    """The run, None when there was none: the refusal was told already."""
    try:
        return await launching
    except FiredupError:
        return None
