"""Snapshots as a stream of JSON events: what changed, a heartbeat, verdict, diagnosis, result."""

from __future__ import annotations

from firedup.core.model import Snapshot, Stage, Verdict
from firedup.view.eta import record_eta
from firedup.view.link import LinkNews
from firedup.view.nodes import NodeSteps, record_node, record_nodes
from firedup.view.phrase import name_finding
from firedup.view.quantity import render_rfc3339
from firedup.view.record import (
    SCHEMA,
    record_cause,
    record_finding,
    record_progress,
    render_json,
    round_s,
)
from firedup.view.result import record_acceptance, record_checks, record_result
from firedup.view.stack import record_stacks
from firedup.view.step import Step, Steps

DECISIVE = frozenset(Verdict) - {Verdict.LOADING, Verdict.UNKNOWN}
_SECOND_NS = 1_000_000_000


class JsonLines:
    """Turns snapshots into lines of JSON; sans-IO, so that time is only what the snapshots say.

    `heartbeat_s`: a `heartbeat` is due when nothing else was said for so long. `thin_s`: the least
    time between two `progress` events, except for the last of a bar.
    """

    def __init__(self, *, heartbeat_s: float = 15.0, thin_s: float = 1.0) -> None:
        self._heartbeat_ns = int(heartbeat_s * _SECOND_NS)
        self._thin_ns = int(thin_s * _SECOND_NS)
        self._said_ns: int | None = None
        self._progress_ns: int | None = None
        self._progress: tuple[Stage, int, int] | None = None
        self._steps = Steps()
        self._nodes = NodeSteps()
        self._link = LinkNews()
        self._eta: tuple[object, ...] | None = None
        self._ranks: dict[str, tuple[Stage, bool]] = {}
        self._checks: dict[str, object] = {}
        self._findings: set[tuple[str, str]] = set()
        self._stacks_ns: int | None = None
        self._verdict: Verdict | None = None
        self._is_diagnosed = False

    def feed(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The lines that `snapshot` adds to what was said before."""
        events = [
            *self._link.record(snapshot),
            *self._stage_events(snapshot),
            *self._progress_events(snapshot),
            *self._eta_events(snapshot),
            *self._rank_events(snapshot),
            *(("node", record_node(node)) for node in self._nodes.feed(snapshot)),
            *self._check_events(snapshot),
            *self._finding_events(snapshot),
            *self._stacks_events(snapshot),
            *self._verdict_events(snapshot),
        ]
        if events or self._said_ns is None:
            self._said_ns = snapshot.now_ns
        elif snapshot.now_ns - self._said_ns >= self._heartbeat_ns:
            self._said_ns = snapshot.now_ns
            events.append(("heartbeat", _heartbeat(snapshot)))
        return tuple(_render(kind, body, snapshot) for kind, body in events)

    def close(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The last lines: what `snapshot` adds, and the result object."""
        lines = self.feed(snapshot)
        if not self._is_diagnosed and snapshot.explanation.verdict in DECISIVE:
            lines += (_render("diagnosis", _diagnosis(snapshot), snapshot),)
        return (*lines, render_json({"event": "result"} | record_result(snapshot)))

    def _stage_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        return [_step(step) for step in self._steps.feed(snapshot)]

    def _progress_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        progress = snapshot.progress
        if progress is None:
            return []
        place = (progress.stage, progress.done, progress.total)
        is_early = (
            self._progress_ns is not None
            and snapshot.now_ns - self._progress_ns < self._thin_ns
            and progress.done < progress.total
        )
        if place == self._progress or is_early:
            return []
        self._progress, self._progress_ns = place, snapshot.now_ns
        return [("progress", record_progress(progress))]

    def _eta_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        """A forecast when there is the first, at each new stage, and when it turns out too short.

        In between the heartbeats carry it.
        """
        if snapshot.eta is None:
            return []
        late = [
            part is not None and part.is_overdue
            for part in (snapshot.eta.stage, snapshot.eta.ready)
        ]
        state = (snapshot.explanation.stage, *late)
        if state == self._eta:
            return []
        self._eta = state
        return [("eta", record_eta(snapshot.eta) or {})]

    def _rank_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        events: list[tuple[str, dict[str, object]]] = []
        for rank in snapshot.ranks:
            if self._ranks.get(rank.rank) != (rank.stage, rank.has_finished):
                self._ranks[rank.rank] = (rank.stage, rank.has_finished)
                body = {
                    "rank": rank.rank,
                    "stage": str(rank.stage),
                    "finished": rank.has_finished,
                }
                events.append(("rank", body))
        return events

    def _check_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        checks = record_checks(snapshot.checks)
        why_not = checks.pop("why_not")
        changed = {k: v for k, v in checks.items() if v is not None and v != self._checks.get(k)}
        self._checks |= changed
        return [
            ("check", {"check": name, "answer": answer, "why_not": why_not})
            for name, answer in changed.items()
        ]

    def _finding_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        new = [f for f in snapshot.explanation.findings if name_finding(f) not in self._findings]
        self._findings.update(name_finding(finding) for finding in new)
        return [("finding", record_finding(finding)) for finding in new]

    def _stacks_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        stacks = snapshot.explanation.stacks
        if stacks is None or stacks.at_ns == self._stacks_ns:
            return []
        self._stacks_ns = stacks.at_ns
        return [("stacks", {"stacks": record_stacks(stacks)})]

    def _verdict_events(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        events: list[tuple[str, dict[str, object]]] = []
        verdict = snapshot.explanation.verdict
        if verdict is not self._verdict:
            if verdict in DECISIVE or self._verdict in DECISIVE:
                events.append(("verdict", _verdict(snapshot)))
            self._verdict = verdict
            self._is_diagnosed = False
        if snapshot.is_final and not self._is_diagnosed and verdict in DECISIVE:
            self._is_diagnosed = True
            events.append(("diagnosis", _diagnosis(snapshot)))
        return events


def _render(kind: str, body: dict[str, object], snapshot: Snapshot) -> str:
    head = {
        "schema": SCHEMA,
        "event": kind,
        "time": render_rfc3339(snapshot.wall_ns),
        "clock": "host",
        "elapsed_s": round_s(snapshot.elapsed_s),
    }
    return render_json(head | body)


def _step(step: Step) -> tuple[str, dict[str, object]]:
    if step.is_end:
        return "stage-end", {"stage": str(step.stage), "seconds": round_s(step.seconds)}
    return "stage", {
        "stage": str(step.stage),
        "started": render_rfc3339(step.began_ns),
        "started_clock": step.clock,
    }


def _heartbeat(snapshot: Snapshot) -> dict[str, object]:
    stage = snapshot.explanation.stage
    return {
        "stage": None if stage is None else str(stage),
        "state": str(snapshot.state),
        "waiting_for": snapshot.waiting_for,
        "quiet_s": round_s(snapshot.quiet_s),
        "log_size_bytes": snapshot.log_size,
        "processes": len(snapshot.processes),
        "eta": record_eta(snapshot.eta),
    } | record_nodes(snapshot)


def _verdict(snapshot: Snapshot) -> dict[str, object]:
    stage = snapshot.explanation.stage
    return {
        "verdict": str(snapshot.explanation.verdict),
        "stage": None if stage is None else str(stage),
        "confidence": round(snapshot.explanation.confidence, 3),
        "is_final": snapshot.is_final,
    }


def _diagnosis(snapshot: Snapshot) -> dict[str, object]:
    explanation = snapshot.explanation
    return _verdict(snapshot) | {
        "exited": explanation.exited,
        "cause": record_cause(explanation.cause) if explanation.cause else None,
        "acceptance": record_acceptance(snapshot.acceptance) if snapshot.acceptance else None,
    }
