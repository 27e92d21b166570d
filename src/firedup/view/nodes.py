"""The nodes of a run on several hosts, in words and as JSON."""

from __future__ import annotations

from firedup.core.model import Snapshot, Stage, State, Verdict
from firedup.core.node import NodeState
from firedup.view.quantity import render_percent
from firedup.view.redact import clean

_UP = (Stage.READY, Stage.SERVING)


def say_node(node: NodeState) -> str:
    """Where one node is: "load-weights 41 %", "crashed in kv-cache", "link down"."""
    if node.verdict in (Verdict.READY, Verdict.STOPPED):
        return str(node.verdict)
    if node.verdict is Verdict.LOST:
        return "contact lost"
    if node.state is State.UNREACHED:
        return "link down"
    stage = "waiting" if node.stage is None else "up" if node.stage in _UP else str(node.stage)
    if node.verdict in (Verdict.CRASHED, Verdict.STALLED):
        return f"{node.verdict} in {stage}" if node.stage else str(node.verdict)
    return stage if node.fraction is None else f"{stage} {render_percent(node.fraction)}"


def say_nodes(snapshot: Snapshot) -> str:
    """All nodes in one phrase; "" for a run on one host."""
    return " · ".join(f"{clean(node.label)} {say_node(node)}" for node in snapshot.nodes)


def find_log_host(snapshot: Snapshot) -> str:
    """The host of the log that the snapshot names, which may be another node's than the head's."""
    found = [node for node in snapshot.nodes if node.log == snapshot.log_path]
    wanted = [node for node in found if node.verdict is snapshot.explanation.verdict] or found
    if wanted:
        return wanted[0].host
    return snapshot.run.host if snapshot.run else "local"


def record_nodes(snapshot: Snapshot) -> dict[str, object]:
    """The member `nodes` of a JSON object; nothing for a run on one host."""
    if not snapshot.nodes:
        return {}
    return {"nodes": [record_node(node) for node in snapshot.nodes]}


def record_node(node: NodeState) -> dict[str, object]:
    """One node of a run on several hosts."""
    return {
        "host": node.host,
        "rank": node.rank,
        "verdict": str(node.verdict),
        "stage": None if node.stage is None else str(node.stage),
        "state": str(node.state),
        "progress": None if node.fraction is None else round(node.fraction, 4),
        "offset_s": None if node.offset_s is None else round(node.offset_s, 6),
        "uncertainty_s": None if node.uncertainty_s is None else round(node.uncertainty_s, 6),
        "log": node.log,
    }


class NodeSteps:
    """Tells of each node when it comes to another stage, or is in trouble; sans-IO."""

    def __init__(self) -> None:
        self._said: dict[int, tuple[Verdict, Stage | None, bool]] = {}

    def feed(self, snapshot: Snapshot) -> tuple[NodeState, ...]:
        """The nodes of which there is something new to say, those above the head alone.

        What the head does is what the run is said to do.
        """
        changed = []
        for node in snapshot.nodes[1:]:
            now = (node.verdict, node.stage, node.state is State.UNREACHED)
            if self._said.get(node.rank) != now:
                self._said[node.rank] = now
                changed.append(node)
        return tuple(changed)
