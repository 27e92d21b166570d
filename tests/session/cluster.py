"""Two hosts that are this machine twice, and what a test does with the nodes of a run on them."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
from workbench import LIMIT_S, Knowledge, free_port, recorded

from firedup.core.error import FiredupError
from firedup.core.model import Snapshot
from firedup.core.rule import Matcher
from firedup.host.agent.boot import BOOT
from firedup.host.base import Host
from firedup.host.link import Agent, open_agent
from firedup.session.nodes import Member, NodePlan
from firedup.session.nodes_launch import check_nodes, launch_nodes, make_orders
from firedup.session.nodes_watch import NodesWatch, feed_of
from firedup.session.order import Order
from firedup.session.watch import Watching
from firedup.testing.program import first_lines, make_program
from firedup.testing.script import End, Script, line

HOSTS = ("box1", "box2")
# Before the agent begins: its wall clock is another, which may be set at any time.
_SKEWED = (
    "import time;real_ns=time.time_ns;time.time_ns=lambda:real_ns()+int(open({path!r}).read());"
)


@dataclass(frozen=True)
class Elsewhere:
    """A hop to a host of its own: the same machine with another home for its runs.

    Its wall clock is ahead by the nanoseconds in the file `skew`, if there is one.
    """

    state: Path
    word: str

    @property
    def skew(self) -> Path:
        return self.state.parent / f"{self.word}.skew"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        words = list(program)
        if self.skew.exists():
            words[words.index("-c") + 1] = _SKEWED.format(path=str(self.skew)) + BOOT
        return ("env", f"XDG_STATE_HOME={self.state}", *words)

    def explain(self, status: int | None, stderr: str) -> None:
        return None


class Cluster:
    """Hosts by their words, and what a test does with the nodes of a run on them."""

    def __init__(self, knowledge: Knowledge, folder: Path) -> None:
        self.catalogue = knowledge.catalogue
        self.folder = folder
        self.matcher = knowledge.matcher
        self.said: list[str] = []

    def open(self, word: str) -> AbstractAsyncContextManager[Agent]:
        if word == "nowhere":
            return open_agent(Host("nowhere", (), "no-such-python3"))
        hop = Elsewhere(self.folder / word, word)
        return open_agent(Host(word, (hop,), sys.executable))

    def plan(self, *scripts: Script | str, hosts: Sequence[str] = HOSTS) -> tuple[NodePlan, ...]:
        """A fake SGLang on each host that plays its script, or is a Python program."""
        plans = []
        for host, script in zip(hosts, scripts, strict=True):
            place = self.folder / "bin" / host
            place.mkdir(parents=True, exist_ok=True)
            program = str(_make(place, script))
            argv = (program, "serve", "--model-path", "org/model", "--port", str(free_port()))
            order = Order((*argv, "--nnodes", "{nnodes}", "--dist-init-addr", "{head}:5000"))
            plans.append(NodePlan(host, replace(order, name="pair"), address="10.0.0.1"))
        return tuple(plans)

    async def launch(
        self, agents: Sequence[Agent | FiredupError], plans: Sequence[NodePlan]
    ) -> tuple[Member, ...]:
        found = [agent for agent in agents if isinstance(agent, Agent)]
        orders = make_orders(self.catalogue, found, plans)
        await check_nodes(self.catalogue, found, orders)
        hosts = [plan.host for plan in plans]
        return await launch_nodes(found, self.catalogue, orders, hosts, say=self.said.append)

    def make_matcher(self, engine: str | None) -> Matcher:
        return self.matcher

    def watch(self, members: Sequence[Member], **how: object) -> AsyncIterator[Snapshot]:
        feeds = [feed_of(member, self.catalogue, self.make_matcher) for member in members]
        watching = replace(Watching(timeout_s=60), **how)  # type: ignore[arg-type]  # fields by name
        return NodesWatch(feeds, watching, self.open).snapshots()

    async def conclude(self, members: Sequence[Member], **how: object) -> Snapshot:
        async with asyncio.timeout(LIMIT_S), aclosing(self.watch(members, **how)) as snapshots:  # type: ignore[type-var]  # a generator
            return [snapshot async for snapshot in snapshots][-1]

    def close(self) -> None:
        """End what was started on any of the hosts."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                state = process.environ().get("XDG_STATE_HOME", "")
                if state.startswith(str(self.folder)) and process.pid != os.getpid():
                    process.send_signal(signal.SIGKILL)


def _make(place: Path, script: Script | str) -> Path:
    if isinstance(script, Script):
        return make_program(place, "sglang", script)
    path = place / "sglang"
    path.write_text(first_lines() + script)
    path.chmod(0o755)
    return path


def one_after_the_other(flag: Path, first: str, second: str) -> tuple[str, str]:
    """Two programs that fail with a traceback that ends so, the first before the second."""
    fail = (
        "import sys, time\nfrom pathlib import Path\n"
        "FLAG = Path({flag!r})\n{wait}"
        "print('Traceback (most recent call last):')\n"
        "print('  File \"a.py\", line 1, in f')\n"
        "print({text!r}, flush=True)\nFLAG.touch()\nsys.exit(1)\n"
    )
    wait = "while not FLAG.exists():\n    time.sleep(0.01)\n"
    return (
        fail.format(flag=str(flag), wait="", text=first),
        fail.format(flag=str(flag), wait=wait, text=second),
    )


def head() -> Script:
    return recorded("s01_success.log")


def follower() -> Script:
    """A node above the head: it never says that it is ready, and answers on its health route."""
    whole = recorded("s01_success.log")
    ready = next(i for i, piece in enumerate(whole.pieces) if b"Uvicorn" in piece.data)
    return replace(whole, pieces=whole.pieces[: ready - 1])


def begun() -> Script:
    """A start that goes no further than its first lines."""
    return Script(head().pieces[:5])


def failing(*texts: str, at_s: float = 0.1) -> Script:
    """The beginning of a start, then `texts`, then the end with status 1."""
    words = [line(at_s, text) for text in texts]
    return Script((*begun().pieces, *words), end=End(at_s + 0.05, code=1))
