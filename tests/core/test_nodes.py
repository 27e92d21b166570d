"""Snapshots of several nodes become one, and their clocks tell whose failure came first."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.forecast import Eta, Forecast
from firedup.core.model import (
    Cause,
    Checks,
    Explanation,
    Progress,
    RankState,
    Snapshot,
    Stage,
    StageSpan,
    State,
    Verdict,
)
from firedup.core.node import ClockOffset, label_hosts
from firedup.core.verdict.firstnode import Failure, choose_first
from firedup.core.verdict.nodes import Node, combine_nodes

NS = 1_000_000_000
MS = 1_000_000


def at(verdict: Verdict, *stages: Stage, is_over: bool = False, **more: object) -> Snapshot:
    """A node that has begun these stages; the last one is over or goes on."""
    spans = tuple(
        StageSpan(s, i * NS, "host", 1.0, is_over=is_over or i + 1 < len(stages))
        for i, s in enumerate(stages)
    )
    stage = stages[-1] if stages else None
    explanation = Explanation("sglang", None, verdict, stage, None, 0.9, spans)
    return replace(Snapshot(10 * NS, 20 * NS, explanation), **more)  # type: ignore[arg-type]  # fields by name


def crashed(second: float, failure: str, *, role: str = "cause", boot_s: float = 0) -> Snapshot:
    """A node whose cause came at this second of the client's clock, by a boottime of its own."""
    cause = Cause(
        failure, "rule", failure, 7, 70, None, Stage.LOAD_WEIGHTS, "", None,
        at_ns=round((second + boot_s) * NS), role=role,
    )  # fmt: skip
    snapshot = at(Verdict.CRASHED, Stage.ARGS, Stage.LOAD_WEIGHTS, state=State.EXITED)
    return replace(
        snapshot,
        explanation=replace(snapshot.explanation, cause=cause),
        is_final=True,
        exit_code=1,
        log_path=f"/{failure}.log",
    )


def clock(boot_s: float = 0, wall_s: float = 0, doubt_ms: float = 1) -> ClockOffset:
    return ClockOffset(round(boot_s * NS), round(wall_s * NS), round(doubt_ms * MS))


def nodes(*snapshots: Snapshot, clocks: tuple[ClockOffset | None, ...] = ()) -> list[Node]:
    known = clocks or (clock(),) * len(snapshots)
    return [
        Node(f"box{i}", f"box{i}", i, snapshot, known[i]) for i, snapshot in enumerate(snapshots)
    ]


LOADING = at(Verdict.LOADING, Stage.ARGS, Stage.LOAD_WEIGHTS)
READY = at(Verdict.READY, Stage.ARGS, Stage.LOAD_WEIGHTS, Stage.READY, checks=Checks(token=True))


def test_the_head_decides_readiness() -> None:
    assert combine_nodes(nodes(READY, LOADING)).explanation.verdict is Verdict.READY
    assert combine_nodes(nodes(LOADING, READY)).explanation.verdict is Verdict.LOADING


def test_the_stage_is_that_of_the_slowest_node() -> None:
    ahead = at(Verdict.LOADING, Stage.ARGS, Stage.LOAD_WEIGHTS, Stage.KV_CACHE)
    bar = Progress(Stage.LOAD_WEIGHTS, 41, 100, 3.0, None, "shards", "TP3")
    behind = replace(LOADING, progress=bar)

    run = combine_nodes(nodes(ahead, behind))

    assert run.explanation.stage is Stage.LOAD_WEIGHTS
    assert [s.stage for s in run.explanation.stages if s.rank is None] == [
        Stage.ARGS,
        Stage.LOAD_WEIGHTS,
    ]
    assert not run.explanation.stages[1].is_over
    assert run.progress is not None
    assert run.progress.rank == "box1 TP3"
    assert [node.fraction for node in run.nodes] == [None, 0.41]


def test_the_stage_of_the_slowest_and_the_head_s_readiness_are_forecast() -> None:
    fast, slow = Eta(Forecast(5.0), Forecast(60.0)), Eta(Forecast(40.0), Forecast(50.0))
    head = replace(at(Verdict.LOADING, Stage.ARGS, Stage.KV_CACHE), eta=fast)
    other = replace(LOADING, eta=slow)

    assert combine_nodes(nodes(head, other)).eta == Eta(slow.stage, fast.ready)
    assert combine_nodes(nodes(head, replace(LOADING, eta=None))).eta == Eta(None, fast.ready)
    assert combine_nodes(nodes(replace(READY, eta=fast), other)).eta is None


def test_ranks_carry_the_name_of_their_node() -> None:
    ranks = (RankState("TP0", Stage.LOAD_WEIGHTS),)

    run = combine_nodes(nodes(replace(LOADING, ranks=ranks), replace(LOADING, ranks=ranks)))

    assert [rank.rank for rank in run.ranks] == ["box0 TP0", "box1 TP0"]


def test_stages_are_told_by_the_heads_clock() -> None:
    run = combine_nodes(nodes(LOADING, LOADING, clocks=(clock(), clock(wall_s=3600))))

    parts = {s.rank: s.started_ns for s in run.explanation.stages if s.stage is Stage.ARGS}
    assert parts == {None: -3600 * NS, "box0": 0, "box1": -3600 * NS}


def test_the_earliest_cause_is_the_cause_of_all() -> None:
    clocks = (clock(boot_s=500), clock(boot_s=9000))
    late, early = crashed(5.0, "late", boot_s=500), crashed(4.0, "early", boot_s=9000)

    run = combine_nodes(nodes(late, early, clocks=clocks))

    assert run.explanation.cause is not None
    assert (run.explanation.cause.failure, run.explanation.cause.rank) == ("early", "box1")
    assert [(f.line, f.node) for f in run.explanation.followed] == [("late", "box0")]
    assert (run.is_final, run.state, run.log_path) == (True, State.EXITED, "/early.log")
    assert run.explanation.notes == ()


def test_a_victim_within_the_doubt_is_not_the_cause() -> None:
    closed = crashed(4.000, "connection-closed", role="victim")
    killed = crashed(4.003, "out-of-memory")

    run = combine_nodes(nodes(closed, killed, clocks=(clock(doubt_ms=2), clock(doubt_ms=2))))

    assert run.explanation.cause is not None
    assert run.explanation.cause.failure == "out-of-memory"
    assert [f.role for f in run.explanation.followed] == ["victim"]


def test_two_causes_within_the_doubt_are_both_said() -> None:
    one, other = crashed(4.001, "one"), crashed(4.000, "other")

    run = combine_nodes(nodes(one, other))

    assert run.explanation.cause is not None
    assert run.explanation.cause.failure == "one"
    assert run.explanation.confidence <= 0.6
    assert run.explanation.notes == (
        "whether box0 or box1 failed first cannot be told: their times are known to 0.001 s each",
    )
    assert [f.line for f in run.explanation.followed] == ["other"]


def test_one_lost_node_is_said_and_does_not_end_the_run() -> None:
    lost = at(Verdict.LOST, Stage.ARGS, state=State.UNREACHED, is_final=True)

    run = combine_nodes(nodes(LOADING, lost))

    assert (run.explanation.verdict, run.is_final) == (Verdict.LOADING, False)
    assert [f.id for f in run.explanation.findings] == ["node-lost"]
    assert combine_nodes(nodes(lost, LOADING)).explanation.verdict is Verdict.LOST


def test_the_end_of_one_node_ends_the_run() -> None:
    stopped = at(Verdict.STOPPED, Stage.ARGS, state=State.EXITED, is_final=True)

    run = combine_nodes(nodes(READY, stopped))

    assert (run.explanation.verdict, run.is_final) == (Verdict.STOPPED, True)


def test_a_node_that_waits_for_a_slower_one_is_not_stalled() -> None:
    waiting = at(Verdict.STALLED, Stage.ARGS, Stage.LOAD_WEIGHTS, is_over=True)

    assert combine_nodes(nodes(waiting, LOADING)).explanation.verdict is Verdict.LOADING
    assert combine_nodes(nodes(LOADING, waiting)).explanation.verdict is Verdict.LOADING


def test_a_node_that_holds_up_the_others_is_stalled() -> None:
    stuck = at(Verdict.STALLED, Stage.ARGS, Stage.DIST_INIT)

    run = combine_nodes(nodes(LOADING, stuck))

    assert (run.explanation.verdict, run.explanation.stage) == (Verdict.STALLED, Stage.DIST_INIT)
    assert combine_nodes(nodes(stuck, stuck)).explanation.verdict is Verdict.STALLED


def test_hosts_with_several_nodes_are_told_apart_by_rank() -> None:
    assert label_hosts(("a", "b", "a")) == ("a#0", "b", "a#2")


SNAPSHOTS = st.one_of(
    st.sampled_from([LOADING, READY]),
    st.sampled_from(
        [at(verdict, Stage.ARGS) for verdict in Verdict if verdict is not Verdict.CRASHED]
    ),
    st.builds(
        lambda second, role: crashed(second, f"{role} {second}", role=role),
        st.floats(0, 10).map(lambda second: round(second, 3)),
        st.sampled_from(["cause", "unclassified", "victim", "wrapper"]),
    ),
)


@given(st.lists(SNAPSHOTS, min_size=1, max_size=5), st.randoms())
def test_the_order_of_the_nodes_changes_nothing(snapshots: list[Snapshot], dice: object) -> None:
    ranked = nodes(*snapshots)
    shuffled = list(ranked)
    dice.shuffle(shuffled)  # type: ignore[attr-defined]

    assert combine_nodes(shuffled) == combine_nodes(ranked)


@given(st.lists(SNAPSHOTS, min_size=1, max_size=5), st.data())
def test_the_boottimes_of_the_hosts_change_nothing(
    snapshots: list[Snapshot], data: st.DataObject
) -> None:
    def boot(snapshot: Snapshot, offset_s: int) -> Snapshot:
        cause = snapshot.explanation.cause
        if cause is None or cause.at_ns is None:
            return snapshot
        moved = replace(cause, at_ns=cause.at_ns + offset_s * NS)
        return replace(snapshot, explanation=replace(snapshot.explanation, cause=moved))

    offsets = [data.draw(st.integers(-(10**6), 10**6)) for _ in snapshots]
    moved = [boot(snapshot, offset) for snapshot, offset in zip(snapshots, offsets, strict=True)]
    clocks = tuple(clock(boot_s=offset) for offset in offsets)

    before = combine_nodes(nodes(*snapshots)).explanation
    after = combine_nodes(nodes(*moved, clocks=clocks)).explanation

    assert (before.verdict, before.followed, before.notes) == (
        after.verdict, after.followed, after.notes,
    )  # fmt: skip
    assert (before.cause and before.cause.line) == (after.cause and after.cause.line)


ROLES = st.sampled_from(["cause", "unclassified", "victim", "wrapper"])
FAILURES = st.lists(st.tuples(st.integers(0, 3), ROLES), min_size=1, max_size=5)


@given(FAILURES, st.data())
def test_a_skew_within_the_doubt_changes_nothing(
    found: list[tuple[int, str]], data: st.DataObject
) -> None:
    # Failures come together or far apart: nearer than the doubt, or beyond any doubt.
    doubt_ns = 1_000_000
    exact = [Failure(i, t * 10 * doubt_ns, doubt_ns, role) for i, (t, role) in enumerate(found)]
    skews = [data.draw(st.integers(-doubt_ns, doubt_ns)) for _ in exact]
    skewed = [replace(f, at_ns=(f.at_ns or 0) + s) for f, s in zip(exact, skews, strict=True)]

    chosen, again = choose_first(exact), choose_first(skewed)

    assert chosen is not None
    assert again is not None
    assert chosen.first.rank == again.first.rank
    assert [f.rank for f in chosen.rivals] == [f.rank for f in again.rivals]


def test_a_failure_at_an_unknown_time_may_have_been_the_first() -> None:
    unknown = Failure(1, None, 0, "cause")

    chosen = choose_first([Failure(0, 5, 0, "victim"), unknown])

    assert chosen is not None
    assert chosen.first is unknown
    assert choose_first([]) is None
