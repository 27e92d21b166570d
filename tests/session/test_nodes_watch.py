"""Two servers on two hosts are one run: launched, watched, judged and stopped together."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from workbench import LIMIT_S, Knowledge, free_port, recorded

from firedup.core.error import FiredupError, RefusedError, UsageError
from firedup.core.model import Snapshot, State, Verdict
from firedup.core.rule import Matcher
from firedup.host.base import Host
from firedup.host.link import Agent, open_agent
from firedup.host.run import list_runs
from firedup.session.nodes import Member, NodePlan, open_agents, open_members, put_head_first
from firedup.session.nodes_launch import check_nodes, launch_nodes, make_orders
from firedup.session.nodes_stop import stop_nodes
from firedup.session.nodes_watch import NodesWatch, feed_of
from firedup.session.order import Order
from firedup.session.registry import find_run
from firedup.session.watch import Watching
from firedup.testing.program import make_program
from firedup.testing.script import End, Script, line

HOSTS = ("box1", "box2")


@dataclass(frozen=True)
class Elsewhere:
    """A hop to a host of its own: the same machine with another home for its runs."""

    state: Path
    word: str

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        return ("env", f"XDG_STATE_HOME={self.state}", *program)

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

    def plan(self, *scripts: Script, hosts: Sequence[str] = HOSTS) -> tuple[NodePlan, ...]:
        """A fake SGLang on each host that plays its script."""
        plans = []
        for host, script in zip(hosts, scripts, strict=True):
            place = self.folder / "bin" / host
            place.mkdir(parents=True, exist_ok=True)
            program = str(make_program(place, "sglang", script))
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
        watching = replace(Watching(timeout_s=60), **how)  # type: ignore[arg-type]
        return NodesWatch(feeds, watching, self.open).snapshots()

    async def conclude(self, members: Sequence[Member], **how: object) -> Snapshot:
        async with asyncio.timeout(LIMIT_S), aclosing(self.watch(members, **how)) as snapshots:  # type: ignore[type-var]
            return [snapshot async for snapshot in snapshots][-1]


@pytest.fixture
def cluster(knowledge: Knowledge, tmp_path: Path) -> Iterator[Cluster]:
    yield Cluster(knowledge, tmp_path)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            state = process.environ().get("XDG_STATE_HOME", "")
            if state.startswith(str(tmp_path)) and process.pid != os.getpid():
                process.send_signal(signal.SIGKILL)


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


async def test_the_head_decides_that_two_nodes_are_ready(cluster: Cluster) -> None:
    async with open_agents(HOSTS, cluster.open) as agents:
        members = await cluster.launch(agents, cluster.plan(head(), follower()))
        last = await cluster.conclude(members)

    assert last.explanation.verdict is Verdict.READY
    assert [(node.host, node.rank) for node in last.nodes] == [("box1", 0), ("box2", 1)]
    assert all(node.uncertainty_s is not None for node in last.nodes)
    assert last.checks.token is True


async def test_each_node_knows_its_rank_and_all_share_one_run(cluster: Cluster) -> None:
    async with open_agents(HOSTS, cluster.open) as agents:
        first, second = await cluster.launch(agents, cluster.plan(head(), follower()))

    assert first.run is not None
    assert second.run is not None
    assert first.run.manifest.argv[-6:] == (
        *("--nnodes", "2", "--dist-init-addr", "10.0.0.1:5000", "--node-rank", "0"),
    )
    assert second.run.manifest.argv[-2:] == ("--node-rank", "1")
    assert second.run.spec.purpose == "follower"
    assert second.run.label.id == f"{first.run.label.id}-n1"
    assert (first.run.manifest.nodes, first.run.manifest.node) == (HOSTS, 0)
    assert (second.run.manifest.nodes, second.run.manifest.node) == (HOSTS, 1)


async def test_the_cause_on_another_node_ends_the_run(cluster: Cluster) -> None:
    out_of_memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    trace = ("Traceback (most recent call last):", '  File "a.py", line 1, in f', out_of_memory)
    async with open_agents(HOSTS, cluster.open) as agents:
        members = await cluster.launch(agents, cluster.plan(begun(), failing(*trace)))
        last = await cluster.conclude(members)

    cause = last.explanation.cause
    assert last.explanation.verdict is Verdict.CRASHED
    assert last.is_final
    assert cause is not None
    assert out_of_memory in cause.line
    assert (cause.rank or "").startswith("box2")
    assert (last.exit_code, last.state) == (1, State.EXITED)
    assert [node.verdict for node in last.nodes] == [Verdict.LOADING, Verdict.CRASHED]


async def test_what_only_lost_its_peer_is_said_to_have_followed(cluster: Cluster) -> None:
    trace = ("Traceback (most recent call last):", '  File "a.py", line 1, in f')
    cause = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    victim = "RuntimeError: [gloo/pair.cc:547] Connection closed by peer [10.0.0.2]:21000"
    async with open_agents(HOSTS, cluster.open) as agents:
        members = await cluster.launch(
            agents, cluster.plan(failing(*trace, victim, at_s=1.0), failing(*trace, cause))
        )
        last = await cluster.conclude(members)

    assert last.explanation.cause is not None
    assert last.explanation.cause.line.endswith(cause)
    assert [(f.node, f.role) for f in last.explanation.followed if f.node] == [("box1", "victim")]


async def test_a_doomed_node_refuses_the_launch_of_all(cluster: Cluster) -> None:
    plans = cluster.plan(head(), follower())
    doomed = replace(plans[1].order, argv=("no-such-engine", *plans[1].order.argv[1:]))
    async with open_agents(HOSTS, cluster.open) as agents:
        with pytest.raises(RefusedError, match="box2: refused to launch"):
            await cluster.launch(agents, (plans[0], replace(plans[1], order=doomed)))
        found = [await list_runs(agent) for agent in agents if isinstance(agent, Agent)]

    assert found == [(), ()]


async def test_when_one_cannot_be_launched_the_others_are_stopped_again(cluster: Cluster) -> None:
    plans = cluster.plan(head(), follower())
    argv = ("no-such-engine", *plans[1].order.argv[1:], "--node-rank", "{rank}")
    broken = replace(plans[1].order, argv=argv, force=True)
    async with open_agents(HOSTS, cluster.open) as agents:
        with pytest.raises(FiredupError, match="box2: ") as caught:
            await cluster.launch(agents, (plans[0], replace(plans[1], order=broken)))
        found = [await list_runs(agent) for agent in agents if isinstance(agent, Agent)]

    assert "1 that had begun were stopped again" in str(caught.value)
    assert [run.is_server_alive for runs in found for run in runs] == [False, False]
    assert "stopping box1 again" in cluster.said


async def test_all_nodes_are_stopped_from_any_of_them(cluster: Cluster) -> None:
    async with open_agents(HOSTS, cluster.open) as agents:
        members = await cluster.launch(agents, cluster.plan(head(), follower()))
        await cluster.conclude(members)
        assert isinstance(agents[1], Agent)
        second = await find_run(agents[1], "pair")

        async with open_members(second, cluster.open) as found:
            ends = await stop_nodes(found, cluster.catalogue, say=cluster.said.append)
        async with open_members(second, cluster.open) as found:
            last = await cluster.conclude(found)

    assert [member.host for member in found] == list(HOSTS)
    assert not any(isinstance(end, FiredupError) for end in ends)
    assert last.explanation.verdict is Verdict.STOPPED
    assert [node.verdict for node in last.nodes] == [Verdict.STOPPED, Verdict.STOPPED]


async def test_a_node_out_of_reach_is_lost_and_not_crashed(cluster: Cluster) -> None:
    async with open_agents(HOSTS, cluster.open) as agents:
        members = await cluster.launch(agents, cluster.plan(head(), follower()))
        async with open_agents(("box1", "nowhere"), cluster.open) as reached:
            assert isinstance(reached[1], FiredupError)
            lost = Member("box2", 1, fault=reached[1])
            last = await cluster.conclude((members[0], lost))

    assert last.explanation.verdict is Verdict.READY
    assert [node.verdict for node in last.nodes] == [Verdict.READY, Verdict.LOST]
    assert "node-lost" in [finding.id for finding in last.explanation.findings]


async def test_a_head_out_of_reach_is_an_error(cluster: Cluster) -> None:
    async with open_agents(("nowhere", "box2"), cluster.open) as agents:
        assert isinstance(agents[0], FiredupError)
        with pytest.raises(FiredupError, match="nowhere"):
            await cluster.conclude((Member("nowhere", 0, fault=agents[0]),))


def test_a_marked_head_is_the_first() -> None:
    plans = tuple(NodePlan(host, Order(("sglang",))) for host in ("box1", "box2", "box3"))

    ranked = put_head_first(plans, "box2")

    assert [plan.host for plan in ranked] == ["box2", "box1", "box3"]
    with pytest.raises(UsageError, match="none of the nodes"):
        put_head_first(plans, "box4")


async def test_a_command_that_is_the_same_everywhere_is_refused(cluster: Cluster) -> None:
    plans = tuple(NodePlan(host, Order(("ray", "start"))) for host in HOSTS)
    async with open_agents(HOSTS, cluster.open) as agents:
        with pytest.raises(UsageError, match="the same on all nodes"):
            await cluster.launch(agents, plans)
