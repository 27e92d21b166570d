"""Events in, snapshot out: the one path that explain, session and replay share."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firedup.core.diagnosis import Fatality
from firedup.core.event import (
    Accepted,
    Begun,
    DeadlinePassed,
    Ended,
    Event,
    Exited,
    Health,
    KeeperGone,
    LinkChanged,
    LogChanged,
    LogData,
    PortOwner,
    Sample,
    StopAsked,
    Token,
)
from firedup.core.lifecycle import Facts, Lifecycle, Trigger, judge
from firedup.core.liveness import Liveness
from firedup.core.model import (
    Cause,
    Evidence,
    Explanation,
    Finding,
    Ownership,
    RunLabel,
    ServerSpec,
    Severity,
    Snapshot,
    Speculation,
    Stage,
    Verdict,
)
from firedup.core.outside import cause_of_exit, cause_of_owner, describe_exit
from firedup.core.readiness import Readiness
from firedup.core.reader import LogReader
from firedup.core.rule import Matcher
from firedup.core.tail import Tail

_NS = 1_000_000_000
# An exception that no rule knows is believed fatal once nothing went on for this long.
SETTLE_S = 5.0


@dataclass(slots=True)
class _Outside:
    """What is known from outside the log."""

    begun: Begun | None = None
    exited: Exited | None = None
    stop: StopAsked | None = None
    accepted: Accepted | None = None
    deadline: DeadlinePassed | None = None
    is_lost: bool = False
    is_log_over: bool = False
    generation: int = 0
    log_bytes: int = 0
    lost_bytes: int = 0
    last_ns: int = 0
    stale: str | None = None


class Pipeline:
    """Feed it the events of one run in order; ask for a snapshot at any time.

    What it says depends on the events and on the `now_ns` it is asked with, on nothing else.
    `year` completes time stamps without one. `tail_lines` and `highlight` are for callers that
    show raw lines.
    """

    def __init__(
        self,
        matcher: Matcher,
        *,
        year: int,
        engine: str | None = None,
        run: RunLabel | None = None,
        tail_lines: int = 0,
        highlight: re.Pattern[str] | None = None,
    ) -> None:
        self._run = run
        self._reader = LogReader(matcher, engine, year)
        self._tail = Tail(tail_lines, highlight, year)
        self._liveness = Liveness()
        self._lifecycle = Lifecycle()
        self._readiness = Readiness(ServerSpec())
        self._outside = _Outside()
        self._notes: dict[str, None] = {}

    def feed(self, event: Event) -> None:
        """Take the next event. Log bytes that were fed before are recognised by their offset."""
        out = self._outside
        out.last_ns = max(out.last_ns, event.at_ns)
        match event:
            case Begun():
                out.begun = event
                self._readiness.spec = event.spec
                if event.pid is not None:
                    self._lifecycle.feed(Trigger.SEEN)
            case LogData():
                self._take_log(event)
            case LogChanged():
                self._change_log(event)
            case Sample():
                self._liveness.feed(event)
                if event.processes:
                    self._lifecycle.feed(Trigger.SEEN)
            case Exited():
                out.exited = event
                self._lifecycle.feed(Trigger.EXITED)
            case KeeperGone():
                self._lifecycle.feed(Trigger.KEEPER_GONE)
                self._note("the keeper is gone: the server's exit status will not be known")
            case Health() | PortOwner() | Token():
                self._readiness.feed(event)
            case Accepted():
                out.accepted = event
            case StopAsked():
                out.stop = event
                self._lifecycle.feed(Trigger.STOP_ASKED)
            case LinkChanged():
                self._lifecycle.feed(Trigger.LINK_UP if event.is_up else Trigger.LINK_DOWN)
            case DeadlinePassed():
                out.deadline = event
            case Ended():
                out.is_lost = event.is_lost
                out.is_log_over = not event.is_lost
                self._reader.close(self._host_time(event.at_ns))

    @property
    def log_position(self) -> tuple[int, int]:
        """Generation and offset of the next log byte that is wanted."""
        return self._outside.generation, self._outside.log_bytes

    def snapshot(self, now_ns: int | None = None, wall_ns: int | None = None) -> Snapshot:
        """Everything at `now_ns` (host boottime; None: the time of the last event)."""
        out, reader = self._outside, self._reader
        now_ns = out.last_ns if now_ns is None else now_ns
        explanation = self._explain(now_ns)
        if explanation.verdict is Verdict.READY:
            self._lifecycle.feed(Trigger.READY)
        begun, sample = out.begun, self._liveness.sample
        stage_begun = reader.startup.stage_begun()
        has_log = out.log_bytes > 0 or out.generation > 0
        exited = out.exited
        return Snapshot(
            now_ns=now_ns,
            wall_ns=wall_ns,
            explanation=explanation,
            run=self._run,
            spec=self._readiness.spec,
            state=self._lifecycle.state,
            elapsed_s=(now_ns - begun.at_ns) / _NS if begun else 0.0,
            stage_elapsed_s=(
                (now_ns - stage_begun.host_ns) / _NS
                if stage_begun and stage_begun.host_ns is not None
                else None
            ),
            quiet_s=self._liveness.pulse(now_ns).quiet_s,
            progress=reader.bar(now_ns),
            ranks=reader.startup.ranks(),
            last_line=reader.last_known or self._tail.last(),
            highlight=self._tail.highlight,
            tail=self._tail.lines(),
            waiting_for=self._readiness.waiting_for(
                reader.startup.stage, reader.startup.is_ready, has_log
            ),
            checks=self._readiness.checks(reader.startup.is_ready),
            speculation=self._speculation(),
            acceptance=out.accepted.acceptance if out.accepted else None,
            first_text=self._readiness.token.text if self._readiness.token else None,
            processes=self._liveness.processes if exited is None else (),
            exit_code=exited.code if exited else None,
            exit_signal=exited.signal if exited else None,
            log_path=begun.log if begun else None,
            log_size=max(out.log_bytes, sample.log_size if sample else 0),
            is_final=exited is not None or out.is_log_over or out.is_lost,
        )

    def _take_log(self, event: LogData) -> None:
        out = self._outside
        if event.generation < out.generation or event.offset > out.log_bytes:
            if event.generation == out.generation:
                self._note(f"{event.offset - out.log_bytes} bytes of the log were not seen")
                out.log_bytes = event.offset
            else:
                return
        data = event.data[out.log_bytes - event.offset :]
        if not data:
            return
        out.log_bytes += len(data)
        self._lifecycle.feed(Trigger.SEEN)
        self._liveness.log_grew(event.at_ns)
        self._tail.feed(data)
        self._reader.feed(data, self._host_time(event.at_ns))

    def _change_log(self, event: LogChanged) -> None:
        out = self._outside
        if event.generation > out.generation:
            out.generation, out.log_bytes = event.generation, 0
            self._reader.next_generation(self._host_time(event.at_ns))
            self._note(f"the log was {event.state}: what follows is its generation {event.generation}")
        if event.state == "gap":
            lost = f"{event.lost_bytes} bytes" if event.lost_bytes else "an unknown part"
            self._note(f"{lost} of the log were destroyed before they could be read")

    def _host_time(self, at_ns: int) -> int | None:
        """Host time of an event; None where only the log's own clock exists (`explain`)."""
        return at_ns if self._outside.begun is not None else None

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)

    def _explain(self, now_ns: int) -> Explanation:
        out, reader = self._outside, self._reader
        startup, diagnosis = reader.startup, reader.diagnosis
        facts = self._facts(now_ns)
        verdict = judge(facts)
        cause = self._cause(verdict, facts)
        findings = (*self._own_findings(facts, now_ns), *reader.findings)
        return Explanation(
            engine=reader.engine,
            version=reader.version,
            verdict=verdict,
            stage=cause.stage if cause and cause.stage else startup.stage,
            exited=True if out.exited else (False if facts.has_process else None),
            confidence=self._confidence(verdict, cause, facts),
            stages=startup.spans(use_host=out.begun is not None),
            starts=startup.starts,
            served_s=self._served_s(now_ns),
            cause=cause,
            followed=diagnosis.followed(cause),
            findings=findings,
            notes=tuple(self._notes),
            gauges=reader.readings.gauges(reader.sieve.has_sampled_gauges),
        )

    def _facts(self, now_ns: int) -> Facts:
        out, reader = self._outside, self._reader
        startup, diagnosis = reader.startup, reader.diagnosis
        fatality = diagnosis.fatality()
        fatal_at = diagnosis.fatal_at()
        has_process = out.begun is not None and (
            out.begun.pid is not None or bool(self._liveness.processes)
        )
        is_settled = out.exited is not None or fatal_at is None or fatal_at.host_ns is None
        if fatal_at is not None and fatal_at.host_ns is not None:
            is_settled = is_settled or (now_ns - fatal_at.host_ns) / _NS >= SETTLE_S
        owner = self._readiness.owner.owner if self._readiness.owner else None
        if owner is Ownership.NO and startup.is_ready:
            fatality = Fatality.CERTAIN
        is_proven = self._readiness.is_proven(startup.is_ready)
        return Facts(
            fatality=fatality,
            is_fatality_settled=is_settled,
            log_ready=startup.is_ready,
            is_proven_ready=is_proven,
            was_ready=startup.is_ready or is_proven,
            owner=owner,
            stop_asked=out.stop is not None or diagnosis.stop_line is not None,
            has_exited=out.exited is not None,
            code=out.exited.code if out.exited else None,
            signal=out.exited.signal if out.exited else None,
            has_process=has_process,
            is_stalled=bool(self._liveness.stall(now_ns, startup.stage)),
            deadline_passed=out.deadline is not None,
            is_lost=out.is_lost,
            has_begun=startup.starts > 0 or has_process or out.log_bytes > 0,
        )

    def _cause(self, verdict: Verdict, facts: Facts) -> Cause | None:
        out, reader = self._outside, self._reader
        if verdict is not Verdict.CRASHED:
            return None
        stage = Stage.SERVING if facts.was_ready else (reader.startup.stage or Stage.ARGS)
        if out.exited is not None and out.exited.oom_killed:
            return cause_of_exit(out.exited, stage, facts.was_ready)
        cause = reader.diagnosis.cause(is_dead=True)
        if cause is None and facts.owner is Ownership.NO and self._readiness.owner is not None:
            cause = cause_of_owner(self._readiness.owner, stage)
        if cause is None and out.exited is not None:
            cause = cause_of_exit(out.exited, stage, facts.was_ready)
        return cause

    def _own_findings(self, facts: Facts, now_ns: int) -> tuple[Finding, ...]:
        """Findings that no single line makes."""
        found: list[Finding] = []
        if self._speculation() is Speculation.OFF and not any(
            f.id == "speculation-off" for f in self._reader.findings
        ):
            why = self._outside.accepted.acceptance.why_not if self._outside.accepted else None
            text = why or "tokens were generated and not one draft was proposed"
            found.append(
                Finding(
                    "speculation-off",
                    Severity.SEVERE,
                    "The server runs without the speculative decoding that was asked for.",
                    (Evidence("http", text),),
                    "Check that the drafter fits the target and read the lines about it.",
                )
            )
        stalled = self._liveness.stall(now_ns, self._reader.startup.stage)
        if stalled and not facts.has_exited:
            found.append(
                Finding(
                    "no-progress",
                    Severity.SEVERE,
                    "Nothing moves: no log line, no CPU time, no reads, no memory growth.",
                    stalled,
                )
            )
        pulse = self._liveness.pulse(now_ns)
        if pulse.is_busy and (pulse.quiet_s or 0) >= 60 and not facts.was_ready:
            found.append(
                Finding(
                    "log-quiet-process-busy",
                    Severity.NOTE,
                    "The process is busy and the log is quiet: its output is perhaps buffered.",
                    (Evidence("sample", f"the log has been silent for {pulse.quiet_s:.0f} s"),),
                    "Set PYTHONUNBUFFERED=1, and do not pipe the server through a buffering program.",
                )
            )
        return tuple(found)

    def _speculation(self) -> Speculation:
        spec = self._readiness.spec
        if any(f.id == "speculation-off" for f in self._reader.findings):
            return Speculation.OFF
        accepted = self._outside.accepted
        if accepted is not None and accepted.acceptance.proposed is not None:
            if accepted.acceptance.proposed > 0:
                return Speculation.ON
            return Speculation.OFF if spec.asks_for_speculation else Speculation.NOT_ASKED
        if any(g.name == "accept_length" for g in self._reader.readings.gauges(False)):
            return Speculation.ON
        return Speculation.UNKNOWN if spec.asks_for_speculation else Speculation.NOT_ASKED

    def _served_s(self, now_ns: int) -> float | None:
        ready = self._reader.startup.ready_at
        if ready is None:
            return None
        if ready.host_ns is not None:
            end = self._outside.exited.at_ns if self._outside.exited else now_ns
            return max(0.0, (end - ready.host_ns) / _NS)
        last = self._reader.last_stamp_ns
        if ready.log_ns is None or last is None:
            return None
        return max(0.0, (last - ready.log_ns) / _NS)

    def _confidence(self, verdict: Verdict, cause: Cause | None, facts: Facts) -> float:
        match verdict:
            case Verdict.CRASHED:
                if facts.has_exited and cause is not None and cause.line_number is None:
                    return 0.9
                return self._reader.diagnosis.certainty(cause)
            case Verdict.READY:
                return 0.99 if facts.is_proven_ready and facts.has_process else 0.9
            case Verdict.STOPPED:
                return 0.95 if facts.has_exited else 0.85
            case Verdict.LOADING:
                return 0.9 if facts.has_process else 0.6
            case _:
                return 0.5

    def describe_end(self) -> str | None:
        """How the process ended, None while it lives."""
        return describe_exit(self._outside.exited) if self._outside.exited else None
