"""Two servers on two hosts are one run: launched, watched, judged and stopped together."""

import os
import signal
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from cluster import HOSTS, Cluster, begun, failing, follower, head, one_after_the_other
from workbench import Knowledge, until

from firedup.core.error import FiredupError, RefusedError, UsageError
from firedup.core.model import State, Verdict
from firedup.host.link import Agent
from firedup.host.run import list_runs
from firedup.session.nodes import Member, NodePlan, open_agents, open_members, put_head_first
from firedup.session.nodes_clock import measure_clock
from firedup.session.nodes_stop import stop_nodes
from firedup.session.order import Order
from firedup.session.registry import find_run

NS = 1_000_000_000
HOUR_NS = 3600 * NS


@pytest.fixture
def cluster(knowledge: Knowledge, tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(knowledge, tmp_path)
    yield made
    made.close()


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


@pytest.mark.parametrize("skews_s", [(0, 0), (-3600, 3600)], ids=["same-clock", "skewed-clocks"])
async def test_what_only_lost_its_peer_is_said_to_have_followed(
    cluster: Cluster, skews_s: tuple[int, int]
) -> None:
    for host, skew_s in zip(HOSTS, skews_s, strict=True):
        (cluster.folder / f"{host}.skew").write_text(str(skew_s * NS))
    cause = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    victim = "RuntimeError: [gloo/pair.cc:547] Connection closed by peer [10.0.0.2]:21000"
    async with open_agents(HOSTS, cluster.open) as agents:
        other, first = one_after_the_other(cluster.folder / "flag", cause, victim)
        members = await cluster.launch(agents, cluster.plan(first, other))
        last = await cluster.conclude(members)

    assert last.explanation.cause is not None
    assert last.explanation.cause.line.endswith(cause)
    assert [(f.node, f.role) for f in last.explanation.followed if f.node] == [("box1", "victim")]
    for node, skew_s in zip(last.nodes, skews_s, strict=True):
        assert node.offset_s is not None
        assert node.uncertainty_s is not None
        assert abs(node.offset_s - skew_s) <= node.uncertainty_s


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


async def test_a_link_that_breaks_is_said_and_renewed(cluster: Cluster) -> None:
    async with open_agents(HOSTS, cluster.open) as agents:
        members = await cluster.launch(agents, cluster.plan(begun(), begun()))
        assert isinstance(agents[1], Agent)
        async with aclosing(cluster.watch(members)) as snapshots:  # type: ignore[type-var]  # a generator
            await until(snapshots, lambda now: now.nodes[1].stage)
            os.kill(agents[1].hello["pid"], signal.SIGKILL)
            down = await until(snapshots, lambda now: now.nodes[1].state is State.UNREACHED)
            up = await until(snapshots, lambda now: now.nodes[1].state is not State.UNREACHED)

    for now in (down, up):
        assert now.explanation.verdict is Verdict.LOADING
        assert now.nodes[0].state is State.STARTING


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


async def test_a_clock_that_is_set_changes_the_wall_time_alone(cluster: Cluster) -> None:
    skew = cluster.folder / "box1.skew"
    skew.write_text("0")
    async with cluster.open("box1") as agent:
        before = await measure_clock(agent)
        skew.write_text(str(HOUR_NS))
        after = await measure_clock(agent)

    doubt_ns = before.uncertainty_ns + after.uncertainty_ns
    assert abs(after.wall_ns - before.wall_ns - HOUR_NS) <= doubt_ns
    assert abs(after.boot_ns - before.boot_ns) <= doubt_ns


async def test_the_clock_of_this_machine_is_its_own(cluster: Cluster) -> None:
    async with cluster.open("box1") as agent:
        clock = await measure_clock(agent)

    assert abs(clock.wall_ns) <= clock.uncertainty_ns
