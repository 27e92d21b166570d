"""One line per change, and a heartbeat: the view for pipes and files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

from firedup.core.model import Progress, Severity, Snapshot, Stage, State, Verdict
from firedup.view.answers import Answers
from firedup.view.eta import say_eta
from firedup.view.gap import Gap
from firedup.view.link import LinkNews
from firedup.view.nodes import NodeSteps, say_node, say_nodes
from firedup.view.pace import Pace
from firedup.view.paper import Paper
from firedup.view.phrase import (
    CAUSE_COLUMNS,
    find_behind,
    join_names,
    name_finding,
    name_server,
    say_cause,
    say_processes,
    say_progress,
    say_quiet,
    say_ranks,
    say_stage,
    say_state,
    say_wait,
)
from firedup.view.quantity import render_clock, render_duration, render_offset
from firedup.view.redact import clean
from firedup.view.stack import say_stacks
from firedup.view.statement import render_statement
from firedup.view.step import Step, Steps

_SECOND_NS = 1_000_000_000
_OVER = (Verdict.CRASHED, Verdict.STOPPED, Verdict.UNKNOWN)
_SHORT_S = 0.05  # what would be shown as 0 s is not worth its words
_STEP = 0.1  # a bar is worth a line again after so much of it …
_STEP_NS = 5 * _SECOND_NS  # … and no sooner than this


@dataclass(frozen=True, slots=True)
class _Said:
    """What a line says, and how long before the snapshot it happened."""

    text: str
    age_ns: int = 0
    is_passage: bool = False  # what the server is, and a stage that it passed


class Plain:
    """Turns snapshots into lines; sans-IO, so that time is only what the snapshots say.

    `every_s`: a heartbeat is due when nothing was said for so long.
    """

    def __init__(self, paper: Paper, *, every_s: float = 30.0, zone: tzinfo | None = None) -> None:
        self._paper = paper
        self._every_ns = int(every_s * _SECOND_NS)
        self._zone = zone
        self._said_ns: int | None = None
        self._pace = Pace()
        self._steps = Steps()
        self._took = ""  # what the stages before took, until a line has said it
        self._bar: tuple[Stage, float, int] | None = None
        self._gap = Gap()
        self._nodes = NodeSteps()
        self._link = LinkNews()
        self._answers = Answers()
        self._verdict = Verdict.LOADING
        self._state: State | None = None
        self._findings: set[tuple[str, str]] = set()
        self._stacks_ns: int | None = None
        self._is_past = False  # it was over before the first look
        self._dated_ns: int | None = None  # the host's boottime of the line before

    def feed(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The lines that `snapshot` adds to what was said before."""
        self._pace = self._pace.feed(snapshot)
        is_first = self._said_ns is None
        if is_first:
            self._is_past = _is_past(snapshot)
        said = [
            *self._greeting(snapshot),
            *self._stage_change(snapshot),
            *(_Said(text, _end_age_ns(snapshot)) for text in self._state_change(snapshot)),
            *(_Said(text) for text in self._link.say(snapshot)),
        ]
        if said or self._answers.is_due(snapshot):
            said = [*self._answered(snapshot), *said]
        proof_age_ns = _proof_age_ns(snapshot) if is_first else 0
        self._answers.feed(snapshot, snapshot.now_ns - proof_age_ns)
        news = [
            *(
                _Said(text)
                for text in (
                    *self._bar_change(snapshot),
                    *self._gap.feed(snapshot),
                    *(f"node {clean(n.label)}: {say_node(n)}" for n in self._nodes.feed(snapshot)),
                    *self._new_findings(snapshot),
                    *self._new_stacks(snapshot),
                )
            ),
            *(
                _Said(text, proof_age_ns or _end_age_ns(snapshot))
                for text in self._verdict_change(snapshot)
            ),
        ]
        if news or self._answers.is_due(snapshot):
            said += self._answered(snapshot)
            wait = self._answers.take_wait()
            news = [_Said(wait), *news] if wait else news
        said += news
        if self._is_past:  # the statement tells the rest
            said = [] if not is_first else [each for each in said if each.is_passage]
        elif not said and self._said_ns is not None:
            if snapshot.now_ns - self._said_ns < self._every_ns:
                return ()
            said = [_Said(self._heartbeat(snapshot))]
        if said or is_first:
            self._said_ns = snapshot.now_ns
        return tuple(self._date(each, snapshot) for each in said)

    def _answered(self, snapshot: Snapshot) -> list[_Said]:
        at_ns, text = self._answers.at_ns, self._answers.take()
        age_ns = 0 if at_ns is None else max(0, snapshot.now_ns - at_ns)
        return [_Said(text, age_ns)] if text else []

    def _date(self, said: _Said, snapshot: Snapshot) -> str:
        """The line with its time, which is never before that of the line above it."""
        at_ns = max(snapshot.now_ns - said.age_ns, self._dated_ns or 0)
        self._dated_ns = at_ns
        age_ns = snapshot.now_ns - at_ns
        wall_ns = None if snapshot.wall_ns is None else snapshot.wall_ns - age_ns
        offset = render_offset(snapshot.elapsed_s - age_ns / _SECOND_NS)
        return self._paper.spell(f"{render_clock(wall_ns, self._zone)} {offset} {said.text}")

    def close(self, snapshot: Snapshot) -> tuple[str, ...]:
        """What `snapshot` adds, and the final statement."""
        lines = self.feed(snapshot)
        if not self._is_past:
            lines += tuple(self._date(each, snapshot) for each in self._answered(snapshot))
        return (*lines, *render_statement(snapshot, self._paper).split("\n"))

    def _greeting(self, snapshot: Snapshot) -> list[_Said]:
        """What the server is, as of its beginning: what has passed since then follows."""
        if self._said_ns is not None:
            return []
        text = " · ".join(name_server(snapshot)) or "watching"
        return [_Said(text, int(snapshot.elapsed_s * _SECOND_NS), is_passage=True)]

    def _state_change(self, snapshot: Snapshot) -> list[str]:
        before, self._state = self._state, snapshot.state
        if before is snapshot.state or (before is None and snapshot.state is State.EXITED):
            return []
        if State.UNREACHED in (before, snapshot.state):
            return []  # the news of the link say it
        said = say_state(snapshot)
        return [said] if said else []

    def _stage_change(self, snapshot: Snapshot) -> list[_Said]:
        """A line for each stage that began; it tells how long those before took."""
        lines: list[_Said] = []
        for step in self._steps.feed(snapshot):
            if step.is_end:
                if step.seconds is not None and step.seconds >= _SHORT_S:
                    took = f"{step.stage} took {render_duration(step.seconds)}"
                    # Ranks that lag end a stage after the next one was told of: both are due.
                    self._took = f"{self._took}, {took}" if self._took else took
                continue
            took, self._took = self._took, ""
            self._bar = None
            if step.stage in (Stage.READY, Stage.SERVING):
                # The checks say so, and the verdict says it better.
                lines += [_passed(took, step, snapshot)] if took else []
                continue
            progress = snapshot.progress
            if progress is not None and progress.stage is step.stage:
                head = self._bar_text(snapshot, progress)
                lines.append(_Said(f"{head}  ({took})" if took else head))
            else:
                head = str(step.stage)
                lines.append(_passed(f"{head}  ({took})" if took else head, step, snapshot))
        return lines

    def _bar_change(self, snapshot: Snapshot) -> list[str]:
        progress = snapshot.progress
        if progress is None:
            return []
        if self._bar is not None and self._bar[0] is progress.stage:
            _, fraction, at_ns = self._bar
            is_full = progress.fraction >= 1 > fraction
            is_far = progress.fraction - fraction >= _STEP
            is_anew = progress.fraction < fraction / 2  # the next bar of the same stage
            is_late = snapshot.now_ns - at_ns >= _STEP_NS
            if not is_full and not ((is_far or is_anew) and is_late):
                return []
        elif progress.done == 0:
            self._bar = (progress.stage, 0.0, snapshot.now_ns)
            return []  # an empty bar says no more than the stage's name
        return [self._bar_text(snapshot, progress)]

    def _bar_text(self, snapshot: Snapshot, progress: Progress) -> str:
        self._bar = (progress.stage, progress.fraction, snapshot.now_ns)
        found = find_behind(snapshot)
        behind = f"  {join_names(found[1])} behind" if found else ""
        self._gap.mark_told(snapshot)
        return f"{progress.stage} {say_progress(progress)}{behind}"

    def _new_findings(self, snapshot: Snapshot) -> list[str]:
        new = [f for f in snapshot.explanation.findings if name_finding(f) not in self._findings]
        self._findings.update(name_finding(finding) for finding in new)
        return [
            f"! {clean(finding.id)}: {clean(finding.message)}"
            for finding in new
            if finding.severity is not Severity.NOTE  # the final statement has them all
        ]

    def _new_stacks(self, snapshot: Snapshot) -> list[str]:
        stacks = snapshot.explanation.stacks
        if stacks is None or stacks.at_ns == self._stacks_ns:
            return []
        self._stacks_ns = stacks.at_ns
        said = say_stacks(stacks)
        return [f"stacks: {said}"] if said else []

    def _verdict_change(self, snapshot: Snapshot) -> list[str]:
        verdict = snapshot.explanation.verdict
        before, self._verdict = self._verdict, verdict
        is_quiet = verdict in (Verdict.LOADING, Verdict.UNKNOWN) and before in (
            Verdict.LOADING,
            Verdict.UNKNOWN,
        )
        if verdict is before or is_quiet:
            return []
        if verdict is Verdict.LOADING:
            return ["it moves again"]
        cause = self._paper.cut_message(
            say_cause(snapshot), max(CAUSE_COLUMNS, self._paper.columns)
        )
        return [f"{verdict}: {cause}" if cause else str(verdict)]

    def _heartbeat(self, snapshot: Snapshot) -> str:
        progress = snapshot.progress
        head, waiting = say_stage(snapshot), ""
        if progress is not None:
            head = self._bar_text(snapshot, progress)
        elif say_wait(snapshot):
            waiting = f"waits for {say_wait(snapshot)}"
        ranks = "" if progress is not None else say_ranks(snapshot)  # the bar's text names them
        self._gap.mark_told(snapshot)
        quiet = say_quiet(snapshot)
        work = say_processes(snapshot, self._pace)
        nodes = say_nodes(snapshot)
        eta = say_eta(snapshot)
        ready = eta and f"ready {eta}"
        parts = (head, ready, ranks, waiting, quiet and f"log {quiet}", work, nodes)
        return "  ".join(part for part in parts if part)


def _passed(text: str, step: Step, snapshot: Snapshot) -> _Said:
    """A stage that was passed has its own time; where that is not known, the latest possible."""
    is_known = step.clock == "host" and step.began_ns is not None and snapshot.wall_ns is not None
    if not is_known:
        return _Said(text, _end_age_ns(snapshot) or _proof_age_ns(snapshot), is_passage=True)
    launched_ns = (snapshot.wall_ns or 0) - int(snapshot.elapsed_s * _SECOND_NS)
    age_ns = (snapshot.wall_ns or 0) - max(launched_ns, step.began_ns or 0)
    return _Said(text, max(0, age_ns), is_passage=True)


def _is_past(snapshot: Snapshot) -> bool:
    """Whether it was over before anybody looked, so that nothing happens any more."""
    is_over = snapshot.is_final and snapshot.explanation.verdict in _OVER
    return is_over or snapshot.state is State.EXITED


def _proof_age_ns(snapshot: Snapshot) -> int:
    """How long ago a server was proved ready that is so at the first look."""
    if snapshot.explanation.verdict is not Verdict.READY or snapshot.ready_after_s is None:
        return 0
    return max(0, int((snapshot.elapsed_s - snapshot.ready_after_s) * _SECOND_NS))


def _end_age_ns(snapshot: Snapshot) -> int:
    if snapshot.state is not State.EXITED or snapshot.ended_after_s is None:
        return 0
    return max(0, int((snapshot.elapsed_s - snapshot.ended_after_s) * _SECOND_NS))
