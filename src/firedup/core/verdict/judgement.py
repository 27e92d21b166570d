"""All that is known about a run → the explanation: verdict, cause, findings, confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from firedup.core.model import (
    Cause,
    Evidence,
    Explanation,
    Finding,
    Line,
    Ownership,
    Speculation,
    Stage,
    StageSpan,
    Verdict,
)
from firedup.core.verdict.aftermath import (
    find_loss,
    measure_service,
    tell_no_token,
    tell_speculation_off,
    tell_survivors,
)
from firedup.core.verdict.conclusion import (
    note_victim,
    tell_last_progress,
    tell_missing,
    tell_quiet,
    tell_stall,
)
from firedup.core.verdict.ending import cause_of_exit, cause_of_loss, cause_of_owner
from firedup.core.verdict.hold import Stall, tell_work
from firedup.core.verdict.lifecycle import Facts, judge
from firedup.core.verdict.limit import find_passed, own_limit
from firedup.core.verdict.liveness import Liveness
from firedup.core.verdict.mention import quote_settings
from firedup.core.verdict.outside import Outside
from firedup.core.verdict.reader import LogReader
from firedup.core.verdict.readiness import Readiness
from firedup.core.verdict.roster import Missing
from firedup.core.verdict.silence import INTERRUPT_PATIENCE_S, Silence, measure_silence
from firedup.core.verdict.startup import Moment
from firedup.core.verdict.suspect import Fatality
from firedup.core.verdict.vital import Loss

_NS = 1_000_000_000
# An exception that no rule knows is believed fatal once nothing went on for this long.
SETTLE_S = 5.0
# While its processes still work, they may be working on the start.
SETTLE_BUSY_S = 120.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """Looks at the parts of a pipeline at `now_ns` (host boottime) and changes none of them."""

    reader: LogReader
    readiness: Readiness
    liveness: Liveness
    outside: Outside
    now_ns: int
    last_line: Line | None = None  # of the log, whatever it says
    last_lines: Callable[[], Iterable[Line]] = tuple  # of the log, read only where they matter

    def explain(self, notes: Iterable[str]) -> Explanation:
        """The whole explanation."""
        out, reader = self.outside, self.reader
        facts = self.facts()
        verdict = judge(facts)
        cause = self._with_settings(self._cause(facts)) if verdict is Verdict.CRASHED else None
        return Explanation(
            engine=reader.engine,
            version=reader.version,
            verdict=verdict,
            stage=cause.stage if cause and cause.stage else reader.startup.stage,
            exited=True if out.exited else (False if facts.has_process else None),
            confidence=self._confidence(verdict, cause, facts),
            stages=self._stages(),
            starts=reader.startup.starts,
            served_s=self._served_s(),
            cause=cause,
            followed=reader.diagnosis.followed(cause),
            findings=(*self._findings(facts, verdict), *reader.findings),
            notes=(*notes, *note_victim(cause)),
            gauges=reader.readings.gauges(is_sampled=reader.sieve.has_sampled_gauges),
            stacks=out.stacks_for(verdict),
        )

    def _stages(self) -> tuple[StageSpan, ...]:
        """The stages passed; the host's boottime, by which they are told, as its wall time."""
        begun, startup = self.outside.begun, self.reader.startup
        if begun is None:
            return startup.spans(use_host=False)
        shift_ns = begun.wall_ns - begun.at_ns
        return tuple(
            replace(span, started_ns=span.started_ns + shift_ns)
            if span.clock == "host" and span.started_ns is not None
            else span
            for span in startup.spans(use_host=True)
        )

    def facts(self) -> Facts:
        """What decides the verdict."""
        out, reader = self.outside, self.reader
        log_ready = reader.startup.is_ready
        fatality, fatal_at = reader.diagnosis.fatality(), reader.diagnosis.fatal_at()
        owner = self.readiness.owner.owner if self.readiness.owner else None
        if owner is Ownership.NO and log_ready:
            # It says that it is up, but its port is somebody else's.
            fatality = Fatality.CERTAIN
        is_proven = self.readiness.is_proven(log_ready=log_ready)
        if self._loss() is not None:
            fatality = Fatality.CERTAIN
        stall = self._stall()
        has_process = out.begun is not None and (
            out.begun.pid is not None or bool(self.liveness.processes)
        )
        is_stuck = not has_process and bool(self._log_stall())
        last_word_at = reader.diagnosis.last_word_at()
        if last_word_at and not (fatality or has_process or is_stuck or log_ready):
            fatality, fatal_at = Fatality.LIKELY, last_word_at
        return Facts(
            fatality=fatality,
            is_fatality_settled=self._is_settled(fatal_at),
            log_ready=log_ready,
            is_proven_ready=is_proven,
            was_ready=log_ready or is_proven,
            owner=owner,
            stop_asked=out.stop is not None,
            log_stop=reader.diagnosis.stop_line is not None,
            is_abandoned=out.is_abandoned,
            has_exited=out.exited is not None,
            code=out.exited.code if out.exited else None,
            signal=out.exited.signal if out.exited else None,
            has_process=has_process,
            is_stalled=self.readiness.is_hung or self.readiness.has_ceased or stall is not None,
            is_held=stall is not None and stall.is_held,
            is_stuck=is_stuck,
            deadline_passed=out.deadline is not None,
            is_lost=out.is_lost,
            has_begun=reader.knows_anything or has_process or out.begun is not None,
        )

    def _stall(self) -> Stall | None:
        """Why nothing will come; a server that is up may be idle, but not held up."""
        startup, begun = self.reader.startup, self.outside.begun
        is_up = startup.is_ready or self.readiness.has_answered
        found = self.liveness.find_stall(
            self.now_ns,
            startup.stage,
            names=self.reader.roster.pids,
            is_up=is_up,
            own_s=own_limit(begun, startup),
        )
        return found if found or is_up else find_passed(begun, startup, self.now_ns)

    def _loss(self) -> Loss | None:
        """A process without which a server that was up serves nothing, and which has ended."""
        out, ready = self.outside, self.readiness
        return find_loss(self.liveness.vitals, self.reader, ready, out, self.now_ns)

    def _is_settled(self, fatal_at: Moment | None) -> bool:
        """Whether an unknown error has had the time to show itself harmless."""
        if self.outside.exited is not None or fatal_at is None or fatal_at.host_ns is None:
            return True
        age_s = (self.now_ns - fatal_at.host_ns) / _NS
        is_busy = self.liveness.pulse(self.now_ns).is_busy
        return age_s >= (SETTLE_BUSY_S if is_busy else SETTLE_S)

    def speculation(self) -> Speculation:
        """Whether the server speculates as its command asked."""
        asked = self.readiness.spec.asks_for_speculation
        if any(finding.id == "speculation-off" for finding in self.reader.findings):
            return Speculation.OFF
        accepted = self.outside.accepted
        if accepted is not None and accepted.acceptance.length is not None:
            return Speculation.ON
        if accepted is not None and accepted.acceptance.proposed is not None:
            if accepted.acceptance.proposed > 0:
                return Speculation.ON
            return Speculation.OFF if asked else Speculation.NOT_ASKED
        if any(gauge.name == "accept_length" for gauge in self.reader.readings.gauges()):
            return Speculation.ON
        return Speculation.UNKNOWN if asked else Speculation.NOT_ASKED

    def _cause(self, facts: Facts) -> Cause | None:
        exited, owner = self.outside.exited, self.readiness.owner
        stage = Stage.SERVING if facts.was_ready else (self.reader.startup.stage or Stage.ARGS)
        if exited is not None and exited.oom_killed:
            return cause_of_exit(exited, stage, was_ready=facts.was_ready)
        # A signal is better evidence than an error that was named in passing.
        loss = self._loss()
        has_signal = any(end is not None and end.signal is not None for end in (exited, loss))
        cause = self.reader.diagnosis.cause(
            allows_weak=not has_signal,
            version=self.reader.version,
            later=self.reader.startup.first_stage,
        )
        if cause is None and loss is not None:
            lives = exited is None and bool(self.liveness.processes)
            return cause_of_loss(loss, stage, self.liveness.processes[0] if lives else None)
        if cause is None and owner is not None and owner.owner is Ownership.NO:
            return cause_of_owner(owner, stage)
        if cause is None and exited is not None:
            was_ready, last_line = facts.was_ready, self.last_line
            return cause_of_exit(exited, stage, was_ready=was_ready, last_line=last_line)
        return cause

    def _with_settings(self, cause: Cause | None) -> Cause | None:
        """The cause with what this run's own command says of the things that the remedy names."""
        if cause is None or cause.remedy is None:
            return cause
        said = quote_settings(cause.mentions, self.readiness.spec)
        return replace(cause, remedy=f"{cause.remedy} {said}") if said else cause

    def _findings(self, facts: Facts, verdict: Verdict) -> Iterable[Finding]:
        """Findings that no single line makes."""
        known = {finding.id for finding in self.reader.findings}
        if self.speculation() is Speculation.OFF and "speculation-off" not in known:
            yield tell_speculation_off(self.outside.accepted)
        if (refusal := self.readiness.refusal) is not None and not facts.has_exited:
            yield tell_no_token(self.readiness, refusal)
        if not facts.stop_asked:  # what it leaves is ended by whoever stops it
            yield from tell_survivors(self.outside.exited, self.liveness.processes)
        if not facts.has_exited:
            yield from tell_stall(self._stall())
        if not facts.was_ready and not facts.has_exited:
            pulse, work = self.liveness.pulse(self.now_ns), tell_work(self.liveness.motions)
            yield from tell_quiet(pulse, self.reader.bar(self.now_ns), work)
        if (missing := self._missing(facts, verdict)) is not None:
            yield tell_missing(missing, verdict)
        silence = self._silence()
        is_told = verdict in (Verdict.LOADING, Verdict.STALLED) and not facts.has_process
        if is_told and silence is not None and not facts.was_ready:
            startup = self.reader.startup
            yield tell_last_progress(silence, startup.stage, startup.progress, verdict)

    def _missing(self, facts: Facts, verdict: Verdict) -> Missing | None:
        """The ranks that others wait for, where that matters: a healthy start has slower ones."""
        roster = self.reader.roster
        match verdict:
            case Verdict.CRASHED:
                is_asked = roster.has_complaints or not facts.fatality
            case Verdict.LOADING:
                is_asked = not facts.has_process and not facts.was_ready
            case _:
                is_asked = verdict in (Verdict.STALLED, Verdict.TIMED_OUT)
        return roster.missing() if is_asked else None

    def _silence(self) -> Silence | None:
        """How long the log's own time stamps show no progress of a start; None where none was."""
        reader = self.reader
        if reader.moved is None:
            return None
        bar = reader.startup.progress
        bar_s = bar.elapsed_s if bar is not None and reader.moved.stamp_ns is None else None
        return measure_silence(
            reader.moved, reader.moved_stamped, self.last_lines(), reader.startup.stage, bar_s or 0
        )

    def _log_stall(self) -> tuple[Evidence, ...]:
        """Evidence of a hang in the log alone: its engine says so, or the time stamps do."""
        reader = self.reader
        if reader.stuck is not None:
            return (reader.stuck,)
        if reader.startup.is_ready or reader.startup.stage is Stage.SERVING:
            return ()
        silence, stop = self._silence(), reader.diagnosis.stop_line
        if silence is None:
            return ()
        patience_s = silence.patience_s
        if stop is not None:  # whoever broke it off had waited
            patience_s = min(patience_s, INTERRUPT_PATIENCE_S)
        is_over = silence.seconds is not None and silence.seconds >= patience_s
        return silence.evidence if is_over else ()

    def _served_s(self) -> float | None:
        loss, exited = self._loss(), self.outside.exited
        end_ns = loss.gone_ns if loss else exited.at_ns if exited else self.now_ns
        return measure_service(self.reader.startup.ready_at, end_ns, self.reader.last_stamp_ns)

    def _confidence(self, verdict: Verdict, cause: Cause | None, facts: Facts) -> float:
        match verdict:
            case Verdict.CRASHED:
                if cause is not None and cause.offset is None:  # told from outside the log
                    return 0.9
                return self.reader.diagnosis.certainty(cause)
            case Verdict.READY:
                return 0.99 if facts.is_proven_ready and facts.has_process else 0.9
            case Verdict.STOPPED:
                return 0.95 if facts.has_exited else 0.85
            case Verdict.LOADING:
                return 0.9 if facts.has_process else 0.6
            case Verdict.STALLED if facts.is_stuck:
                return 0.8
            case _:
                return 0.5
