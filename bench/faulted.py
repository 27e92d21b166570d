"""A server that writes what it is told, on a host whose link can be cut, and clients to kill."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.story import story
from firedup.core.rule import Matcher
from firedup.host.agent.boot import BOOT
from firedup.host.base import Host, LinkError
from firedup.host.link import Agent, open_agent
from firedup.profile.schema import Catalogue
from firedup.session.launch import launch
from firedup.session.order import Order
from firedup.session.registry import Run, find_run
from firedup.session.run import watch_run
from firedup.session.watch import Watching
from firedup.testing.program import first_lines
from tests.ssh_server import SshBox

LIMIT_S = 120.0
NO_LINK = 3
TO_THE_END = Watching(until="exit", timeout_s=None, lost_after_s=None)

# Writes a part of the log each time it is told to, as a log handler does: by the log's name.
SERVER = """
import os
go, done = (os.open(path, os.O_RDWR) for path in ({go!r}, {done!r}))
number = 0
while os.read(go, 1) == b"w":
    with open({parts!r} + "/part-%d" % number, "rb") as part:
        data = part.read()
    log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    while data:
        data = data[os.write(log, data):]
    os.close(log)
    os.write(done, b"w")
    number += 1
os._exit(1)
"""
# Before the agent begins: its wall clock is ahead by what a file says, which may change.
SKEWED = (
    "import time;real_ns=time.time_ns;time.time_ns=lambda:real_ns()+int(open({path!r}).read());"
)


@dataclass(frozen=True, slots=True)
class Beside:
    """A hop to this machine with runs and a wall clock of its own."""

    folder: Path
    word: str = "beside"

    @property
    def skew(self) -> Path:
        """The file with the nanoseconds by which the wall clock is ahead."""
        return self.folder / "skew"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """The agent with a clock that can be set."""
        words = list(program)
        if "-c" in words:
            words[words.index("-c") + 1] = SKEWED.format(path=str(self.skew)) + BOOT
        return ("env", f"XDG_STATE_HOME={self.folder / 'state'}", *words)

    def explain(self, status: int | None, stderr: str) -> None:
        """No trouble is this hop's own."""


@dataclass(slots=True)
class Place:
    """A host for servers: this machine with a clock of its own, or one behind SSH."""

    host: Host
    hop: Beside | None = None
    box: SshBox | None = None

    @property
    def kind(self) -> str:
        """How the host is reached."""
        return self.box.kind if self.box else "local"


@dataclass(slots=True)
class Server:
    """One run of a server that writes `parts`, and what the disturber does to it."""

    place: Place
    folder: Path
    parts: list[bytes]
    catalogue: Catalogue
    matcher: Matcher
    port: int
    written: int = 0
    run: Run = field(init=False)
    client: int = 0
    _go: int = -1
    _done: int = -1

    @property
    def log(self) -> Path:
        """The server's log, which a disturber may rename."""
        return self.folder / "server.log"

    @property
    def said(self) -> Path:
        """Where a client that concluded says what it found."""
        return self.folder / "said.json"

    async def begin(self, agent: Agent) -> None:
        """Launch it; nothing is written yet."""
        for number, part in enumerate(self.parts):
            (self.folder / f"part-{number}").write_bytes(part)
        go, done = self.folder / "go", self.folder / "done"
        for path in (go, done):
            os.mkfifo(path)
        self._go, self._done = (os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in (go, done))
        program = self.folder / "sglang"
        program.write_text(
            first_lines()
            + SERVER.format(go=str(go), done=str(done), parts=str(self.folder), log=str(self.log))
        )
        program.chmod(0o755)
        argv = (str(program), "serve", "--model-path", "org/model", "--port", str(self.port))
        self.run = await launch(agent, self.catalogue, Order(argv, log=str(self.log)))

    async def write(self) -> None:
        """Let the server write its next part, and wait until it has."""
        os.write(self._go, b"w")
        written = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._done, written.set)
        try:
            async with asyncio.timeout(LIMIT_S):
                await written.wait()
            os.read(self._done, 1)
        finally:
            loop.remove_reader(self._done)
        self.written += 1

    def end(self) -> None:
        """Let the server exit with status 1."""
        os.write(self._go, b"q")

    async def until_sampled(self) -> None:
        """Wait until the keeper has noted how long the log is now."""
        size = self.log.stat().st_size if self.log.exists() else 0
        await wait_for(lambda: self._sampled() == size)

    def _sampled(self) -> int:
        path = Path(self.run.folder) / "samples.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [text for text in lines if text.endswith(b"\n")]
        return int(json.loads(whole[-1])["log_size"]) if whole else -1

    def rotate(self, *, copies: bool) -> None:
        """As logrotate with numbers: the newest is .1; renamed, or copied and truncated."""
        if not self.log.exists():
            return
        older = list(self.folder.glob("server.log.*"))
        for path in sorted(older, key=lambda path: -int(path.suffix[1:])):
            path.rename(path.with_suffix(f".{int(path.suffix[1:]) + 1}"))
        newest = self.folder / "server.log.1"
        if copies:
            shutil.copyfile(self.log, newest)
            os.truncate(self.log, 0)
        else:
            self.log.rename(newest)

    @property
    def watching(self) -> Path:
        """What the client makes with its first snapshot."""
        return self.folder / "watching"

    def start_client(self) -> None:
        """A process that watches the run to its end and then says what it found."""
        self.watching.unlink(missing_ok=True)
        self.client = os.fork()
        if self.client == 0:  # nothing of the parent's loop may be touched here
            status = 1
            os.closerange(3, 4096)  # a proxy's port could not be opened again while it is held
            try:
                asyncio.run(self._watch())
                status = 0
            except LinkError:
                status = NO_LINK
            finally:
                os._exit(status)

    async def _watch(self) -> None:
        last = None
        async with open_agent(self.place.host) as agent:
            run = await find_run(agent, self.run.label.id)
            async for snapshot in watch_run(agent, self.catalogue, self.matcher, run, TO_THE_END):
                self.watching.touch()
                last = snapshot
        if last is not None:
            scratch = self.said.with_suffix(".new")
            scratch.write_text(json.dumps(story(last.explanation)))
            scratch.rename(self.said)

    def tell(self) -> dict[str, object]:
        """What the client found that concluded."""
        return json.loads(self.said.read_text())  # type: ignore[no-any-return]

    def kill_client(self) -> None:
        """End the client at once, wherever it is."""
        if self.client:
            os.kill(self.client, signal.SIGKILL)
            os.waitpid(self.client, 0)
            self.client = 0

    async def until_watching(self) -> None:
        """Wait for the client's first snapshot."""
        await wait_for(lambda: self.watching.exists() or self._renew_client())

    async def until_concluded(self) -> None:
        """Wait until the client has said what it found."""
        await wait_for(lambda: self.said.exists() or self._renew_client())
        self.kill_client()

    def _renew_client(self) -> bool:
        """Another client for one that found no link when it began; its user would do the same."""
        pid, status = os.waitpid(self.client, os.WNOHANG)
        if pid and not self.said.exists():
            if os.waitstatus_to_exitcode(status) != NO_LINK:
                raise RuntimeError(f"a client ended with wait status {status}")
            self.start_client()
        return False

    def signal_agent(self, number: int) -> list[psutil.Process]:
        """Send a signal to the client's own process beside it, its agent, and return that."""
        found = self._children()
        signal_all(found, number)
        return found

    def signal_far_agents(self, number: int) -> None:
        """Send a signal to the agents on the host behind SSH, but not to keeper and server."""
        assert self.place.box is not None
        state = json.loads((Path(self.run.folder) / "keeper.json").read_text())
        kept = {state["pid"], state["server"]["pid"]}
        for process in self.place.box.processes():
            with contextlib.suppress(psutil.Error):
                if process.pid not in kept and not kept & {p.pid for p in process.parents()}:
                    process.send_signal(number)

    def _children(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.client).children() if self.client else []
        except psutil.NoSuchProcess:
            return []

    def close(self) -> None:
        """End all that was started."""
        self.kill_client()
        path = Path(self.run.folder) / "keeper.json" if hasattr(self, "run") else None
        if path is not None and path.exists():
            state = json.loads(path.read_text())
            for pid in (state["pid"], state["server"]["pid"]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for file in (self._go, self._done):
            if file >= 0:
                os.close(file)


def signal_all(processes: list[psutil.Process], number: int) -> None:
    """Send a signal to those that are still there."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


async def wait_for(holds: Callable[[], object]) -> None:
    """Wait until something holds that nothing announces."""
    async with asyncio.timeout(LIMIT_S):
        while not holds():  # noqa: ASYNC110 - files and other processes send no events
            await asyncio.sleep(0.02)
