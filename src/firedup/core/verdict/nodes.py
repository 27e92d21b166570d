"""Snapshots of the nodes of one run → one snapshot of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from firedup.core.forecast import Eta
from firedup.core.model import (
    Evidence,
    Explanation,
    Finding,
    Followed,
    Progress,
    RankState,
    Severity,
    Snapshot,
    Stage,
    Verdict,
)
from firedup.core.node import ClockOffset, NodeState
from firedup.core.verdict.firstnode import Failure, FirstFault, choose_first
from firedup.core.verdict.nodespan import join_rank, join_stages
from firedup.core.verdict.stack import join_stacks

_NS = 1_000_000_000
_ORDER = {stage: place for place, stage in enumerate(Stage)}
_UP = (Stage.READY, Stage.SERVING)


@dataclass(frozen=True, slots=True)
class Node:
    """One node with its own snapshot. Rank 0 is the head.

    `blur_ns` is how inexactly the times of its events are known by its own clock.
    """

    label: str
    host: str
    rank: int
    snapshot: Snapshot
    clock: ClockOffset | None = None
    blur_ns: int = 0

    @property
    def verdict(self) -> Verdict:
        """What its own log and processes say."""
        return self.snapshot.explanation.verdict

    @property
    def has_ended(self) -> bool:
        """Whether its server is gone for good."""
        is_end = self.verdict in (Verdict.CRASHED, Verdict.STOPPED, Verdict.UNKNOWN)
        return self.snapshot.is_final and is_end


def combine_nodes(nodes: Sequence[Node]) -> Snapshot:
    """One snapshot of the whole run; the order of `nodes` does not matter.

    The head decides readiness and whether it is lost; the end of any node is the end of the run,
    with the cause that came first by the hosts' clocks. The stage is that of the slowest node.
    """
    ranked = sorted(nodes, key=lambda node: node.rank)
    head = ranked[0]
    fault = choose_first(_failures(ranked))
    verdict, base = _judge(ranked, fault)
    slowest = _slowest(ranked)
    is_moving = verdict in (Verdict.LOADING, Verdict.TIMED_OUT, Verdict.UNKNOWN)
    at = slowest if is_moving else base
    stage = at.snapshot
    return replace(
        head.snapshot,
        explanation=_explain(ranked, verdict, base, at, fault),
        nodes=tuple(_state(node, verdict) for node in ranked),
        state=base.snapshot.state,
        stage_elapsed_s=stage.stage_elapsed_s,
        ended_after_s=base.snapshot.ended_after_s,
        quiet_s=_quiet_s(ranked),
        progress=_progress(at, stage.progress),
        ranks=tuple(
            RankState(f"{node.label} {rank.rank}", rank.stage, rank.has_finished)
            for node in ranked
            for rank in node.snapshot.ranks
        ),
        last_line=stage.last_line,
        tail=base.snapshot.tail,
        waiting_for=stage.waiting_for,
        exit_code=base.snapshot.exit_code,
        exit_signal=base.snapshot.exit_signal,
        log_path=base.snapshot.log_path,
        log_size=base.snapshot.log_size,
        is_final=base.snapshot.is_final and verdict is base.verdict,
        eta=_eta(head, at) if verdict is Verdict.LOADING else None,
    )


def _eta(head: Node, at: Node) -> Eta | None:
    """The stage of the node that the others wait for; it is the head that becomes ready."""
    stage, ready = at.snapshot.eta, head.snapshot.eta
    eta = Eta(stage.stage if stage else None, ready.ready if ready else None)
    return eta if eta.stage or eta.ready else None


def _failures(nodes: Sequence[Node]) -> list[Failure]:
    found = []
    for node in nodes:
        cause = node.snapshot.explanation.cause
        if node.verdict is Verdict.CRASHED:
            at_ns, role = (cause.at_ns, cause.role) if cause else (None, "wrapper")
            doubt_ns = node.blur_ns + (node.clock.uncertainty_ns if node.clock else 0)
            if at_ns is not None:
                at_ns = at_ns - node.clock.boot_ns if node.clock else None
            found.append(Failure(node.rank, at_ns, doubt_ns, role))
    return found


def _judge(nodes: Sequence[Node], fault: FirstFault | None) -> tuple[Verdict, Node]:
    """The verdict on the run, and the node whose snapshot it rests on."""
    head = nodes[0]
    if fault is not None:
        return Verdict.CRASHED, next(n for n in nodes if n.rank == fault.first.rank)
    for verdict in (Verdict.STOPPED, Verdict.UNKNOWN):
        ended = [node for node in nodes if node.has_ended and node.verdict is verdict]
        if ended:
            return verdict, ended[0]
    if head.verdict in (Verdict.READY, Verdict.LOST, Verdict.TIMED_OUT):
        return head.verdict, head
    stalled = _stalled(nodes)
    if stalled is not None:
        return Verdict.STALLED, stalled
    is_waiting = head.verdict is Verdict.STALLED  # for a node that is behind it and moves
    return (Verdict.LOADING if is_waiting else head.verdict), head


def _stalled(nodes: Sequence[Node]) -> Node | None:
    """The node that holds up the others; None while those that stand still may wait for one."""
    stalled = [node for node in nodes if node.verdict is Verdict.STALLED]
    moving = [node for node in nodes if node.verdict in (Verdict.LOADING, Verdict.UNKNOWN)]
    if not stalled:
        return None
    last = min(stalled, key=_place)
    return last if all(_place(last) < _place(node) for node in moving) else None


def _place(node: Node) -> tuple[int, int, bool]:
    """How far its start has come: the furthest stage, how many were begun, is the last over.

    Some engines come back to an earlier stage, and some say less of the nodes above the head.
    """
    stage = node.snapshot.explanation.stage
    spans = [span for span in node.snapshot.explanation.stages if span.rank is None]
    if stage is None:
        return -1, 0, False
    furthest = max(
        (_ORDER[span.stage] for span in spans if span.stage is not Stage.OTHER), default=0
    )
    own = [span for span in spans if span.stage is stage]
    return furthest, len(spans), bool(own) and own[-1].is_over


def _slowest(nodes: Sequence[Node]) -> Node:
    """The node that is behind the others; the head when none is, or what is known is not enough.

    A node that is not the head may be done long before the run is ready, and says so nowhere.
    """
    head = nodes[0]
    behind = [
        node for node in nodes[1:] if node.verdict is Verdict.LOADING and _place(node)[0] >= 0
    ]
    if head.snapshot.explanation.stage in _UP:
        return head
    return min((head, *behind), key=lambda node: (_place(node), node.rank))


def _begun(at: Node, verdict: Verdict) -> frozenset[Stage] | None:
    """The stages that the node which the others wait for has begun; None once nobody waits."""
    if verdict not in (Verdict.LOADING, Verdict.STALLED, Verdict.TIMED_OUT):
        return None
    return frozenset(span.stage for span in at.snapshot.explanation.stages)


def _explain(
    nodes: Sequence[Node],
    verdict: Verdict,
    base: Node,
    at: Node,
    fault: FirstFault | None,
) -> Explanation:
    head, own = nodes[0].snapshot.explanation, base.snapshot.explanation
    cause = own.cause if verdict is Verdict.CRASHED else None
    confidence = own.confidence
    if fault is not None and fault.rivals:
        confidence = min(confidence, 0.6)
    return replace(
        head,
        engine=head.engine or own.engine,
        version=head.version or own.version,
        verdict=verdict,
        stage=at.snapshot.explanation.stage,
        exited=own.exited,
        confidence=confidence,
        stages=join_stages(
            [(n.label, n.clock, n.snapshot.explanation.stages) for n in nodes],
            begun=_begun(at, verdict),
        ),
        cause=replace(cause, rank=join_rank(base.label, cause.rank)) if cause else None,
        followed=(*own.followed, *_elsewhere(nodes, base)) if cause else (),
        findings=_findings(nodes, verdict),
        notes=(*_notes(nodes), *_rivalry(nodes, fault)),
        stacks=join_stacks([(n.label, n.snapshot.explanation.stacks) for n in nodes]),
    )


def _elsewhere(nodes: Sequence[Node], base: Node) -> list[Followed]:
    """What the other nodes say was the cause: it followed from this one."""
    causes = [(node, node.snapshot.explanation.cause) for node in nodes if node is not base]
    return [
        Followed(cause.line, cause.line_number, cause.role, cause.offset, node.label)
        for node, cause in causes
        if cause is not None and node.verdict is Verdict.CRASHED
    ]


def _findings(nodes: Sequence[Node], verdict: Verdict) -> tuple[Finding, ...]:
    found: dict[tuple[str, str], Finding] = {}
    for node in nodes:
        for finding in node.snapshot.explanation.findings:
            if finding.id == "no-progress" and verdict is not Verdict.STALLED:
                continue  # it may only wait for the others
            known = (finding.id, finding.message)  # what all nodes say is said once
            message = finding.message if node.rank == 0 else f"{node.label}: {finding.message}"
            found.setdefault(known, replace(finding, message=message))
        if node.verdict is Verdict.LOST and node.rank > 0:
            lost = _lost(node)
            found.setdefault((lost.id, lost.message), lost)
    return tuple(found.values())


def _lost(node: Node) -> Finding:
    last = node.snapshot.explanation.notes[-1:] or ("its agent answers no more",)
    return Finding(
        "node-lost",
        Severity.WARNING,
        f"{node.label}: contact is lost, and what its server does is not known.",
        (Evidence("link", last[0]),),
        "Look whether the host can be reached; the run goes by what the other nodes show.",
    )


def _notes(nodes: Sequence[Node]) -> list[str]:
    return [
        note if node.rank == 0 else f"{node.label}: {note}"
        for node in nodes
        for note in node.snapshot.explanation.notes
    ]


def _rivalry(nodes: Sequence[Node], fault: FirstFault | None) -> list[str]:
    """That another node's failure may have come first."""
    if fault is None or not fault.rivals:
        return []
    labels = {node.rank: node.label for node in nodes}
    others = ", ".join(labels[rival.rank] for rival in fault.rivals)
    doubt_s = max(f.uncertainty_ns for f in (fault.first, *fault.rivals)) / _NS
    which = f"whether {labels[fault.first.rank]} or {others} failed first cannot be told"
    return [f"{which}: their times are known to {doubt_s:.3f} s each"]


def _state(node: Node, verdict: Verdict) -> NodeState:
    at, clock = node.snapshot, node.clock
    own = node.verdict
    if verdict is Verdict.READY and own in (Verdict.STALLED, Verdict.TIMED_OUT, Verdict.UNKNOWN):
        own = Verdict.LOADING  # it has nothing to say of itself, and the head stands for it
    return NodeState(
        label=node.label,
        host=node.host,
        rank=node.rank,
        verdict=own,
        stage=at.explanation.stage,
        state=at.state,
        fraction=at.progress.fraction if at.progress else None,
        offset_s=clock.wall_ns / _NS if clock else None,
        uncertainty_s=clock.uncertainty_ns / _NS if clock else None,
        log=at.log_path,
    )


def _quiet_s(nodes: Sequence[Node]) -> float | None:
    known = [n.snapshot.quiet_s for n in nodes if n.snapshot.quiet_s is not None]
    return min(known, default=None)


def _progress(node: Node, progress: Progress | None) -> Progress | None:
    if progress is None:
        return None
    return replace(progress, rank=join_rank(node.label, progress.rank))
