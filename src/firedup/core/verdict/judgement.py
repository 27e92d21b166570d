"""All that is known about a run → the explanation: verdict, cause, findings, confidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from firedup.core.model import (
    Cause,
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
    tell_stall_stop,
)
from firedup.core.verdict.ending import cause_of_exit, cause_of_loss, cause_of_owner
from firedup.core.verdict.ground import Ground
from firedup.core.verdict.hold import tell_work
from firedup.core.verdict.lifecycle import Facts, judge
from firedup.core.verdict.mention import quote_settings
from firedup.core.verdict.roster import Missing


@dataclass(frozen=True, slots=True)
class Judgement:
    """Says what `ground` adds up to; `last_line` is the log's, whatever it says."""

    ground: Ground
    last_line: Line | None = None

    def explain(self, notes: Iterable[str]) -> Explanation:
        """The whole explanation."""
        out, reader = self.ground.outside, self.ground.reader
        facts = self.ground.facts()
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
        begun, startup = self.ground.outside.begun, self.ground.reader.startup
        if begun is None:
            return startup.spans(use_host=False)
        shift_ns = begun.wall_ns - begun.at_ns
        return tuple(
            replace(span, started_ns=span.started_ns + shift_ns)
            if span.clock == "host" and span.started_ns is not None
            else span
            for span in startup.spans(use_host=True)
        )

    def _cause(self, facts: Facts) -> Cause | None:
        ground = self.ground
        exited, owner = ground.outside.exited, ground.readiness.owner
        stage = Stage.SERVING if facts.was_ready else (ground.reader.startup.stage or Stage.ARGS)
        if exited is not None and exited.oom_killed:
            return cause_of_exit(exited, stage, was_ready=facts.was_ready)
        # A signal is better evidence than an error that was named in passing.
        loss = ground.loss()
        has_signal = any(end is not None and end.signal is not None for end in (exited, loss))
        cause = ground.reader.diagnosis.cause(
            allows_weak=not has_signal,
            version=ground.reader.version,
            later=ground.reader.startup.first_stage,
        )
        if cause is None and loss is not None:
            lives = exited is None and bool(ground.liveness.processes)
            return cause_of_loss(loss, stage, ground.liveness.processes[0] if lives else None)
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
        said = quote_settings(cause.mentions, self.ground.readiness.spec)
        return replace(cause, remedy=f"{cause.remedy} {said}") if said else cause

    def _findings(self, facts: Facts, verdict: Verdict) -> Iterable[Finding]:
        """Findings that no single line makes."""
        ground = self.ground
        known = {finding.id for finding in ground.reader.findings}
        if ground.speculation() is Speculation.OFF and "speculation-off" not in known:
            yield tell_speculation_off(ground.outside.accepted)
        if (refusal := ground.readiness.refusal) is not None and not facts.has_exited:
            yield tell_no_token(ground.readiness, refusal)
        if not facts.stop_asked:  # what it leaves is ended by whoever stops it
            yield from tell_survivors(ground.outside.exited, ground.liveness.processes)
        if facts.is_stall_stopped:
            yield from tell_stall_stop(ground.outside.stop)
        elif not facts.has_exited:
            yield from tell_stall(ground.stall())
        if not facts.was_ready and not facts.has_exited:
            pulse = ground.liveness.pulse(ground.now_ns)
            work = tell_work(ground.liveness.motions)
            yield from tell_quiet(pulse, ground.reader.bar(ground.now_ns), work)
        if (missing := self._missing(facts, verdict)) is not None:
            yield tell_missing(missing, verdict)
        silence = ground.silence()
        is_told = verdict in (Verdict.LOADING, Verdict.STALLED) and not facts.has_process
        if is_told and silence is not None and not facts.was_ready:
            startup = ground.reader.startup
            yield tell_last_progress(silence, startup.stage, startup.progress, verdict)

    def _missing(self, facts: Facts, verdict: Verdict) -> Missing | None:
        """The ranks that others wait for, where that matters: a healthy start has slower ones."""
        roster = self.ground.reader.roster
        match verdict:
            case Verdict.CRASHED:
                is_asked = roster.has_complaints or not facts.fatality
            case Verdict.LOADING:
                is_asked = not facts.has_process and not facts.was_ready
            case _:
                is_asked = verdict in (Verdict.STALLED, Verdict.TIMED_OUT)
        return roster.missing() if is_asked else None

    def _served_s(self) -> float | None:
        ground = self.ground
        ready = ground.reader.startup.ready_at
        if ground.readiness.is_refuted(ready):
            return None
        loss, exited = ground.loss(), ground.outside.exited
        end_ns = loss.gone_ns if loss else exited.at_ns if exited else ground.now_ns
        return measure_service(ready, end_ns, ground.reader.last_stamp_ns)

    def _confidence(self, verdict: Verdict, cause: Cause | None, facts: Facts) -> float:
        match verdict:
            case Verdict.CRASHED:
                if cause is not None and cause.offset is None:  # told from outside the log
                    return 0.9
                return self.ground.reader.diagnosis.certainty(cause)
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
