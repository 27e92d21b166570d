"""What the parts of a run show at one instant: the facts that decide its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from firedup.core.model import Evidence, Line, Ownership, Speculation, Stage
from firedup.core.verdict.aftermath import find_loss
from firedup.core.verdict.hold import Stall
from firedup.core.verdict.lifecycle import Facts
from firedup.core.verdict.limit import find_passed, own_limit
from firedup.core.verdict.liveness import Liveness
from firedup.core.verdict.outside import Outside
from firedup.core.verdict.reader import LogReader
from firedup.core.verdict.readiness import Readiness
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
class Ground:
    """Looks at the parts of a pipeline at `now_ns` (host boottime) and changes none of them."""

    reader: LogReader
    readiness: Readiness
    liveness: Liveness
    outside: Outside
    now_ns: int
    last_lines: Callable[[], Iterable[Line]] = tuple  # of the log, read only where they matter

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
        if self.loss() is not None:
            fatality = Fatality.CERTAIN
        stall = self.stall()
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
            is_stall_stopped=out.stop is not None and out.stop.stall is not None,
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

    def stall(self) -> Stall | None:
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

    def loss(self) -> Loss | None:
        """A process without which a server that was up serves nothing, and which has ended."""
        out, ready = self.outside, self.readiness
        return find_loss(self.liveness.vitals, self.reader, ready, out, self.now_ns)

    def silence(self) -> Silence | None:
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
        silence, stop = self.silence(), reader.diagnosis.stop_line
        if silence is None:
            return ()
        patience_s = silence.patience_s
        if stop is not None:  # whoever broke it off had waited
            patience_s = min(patience_s, INTERRUPT_PATIENCE_S)
        is_over = silence.seconds is not None and silence.seconds >= patience_s
        return silence.evidence if is_over else ()

    def _is_settled(self, fatal_at: Moment | None) -> bool:
        """Whether an unknown error has had the time to show itself harmless."""
        if self.outside.exited is not None or fatal_at is None or fatal_at.host_ns is None:
            return True
        age_s = (self.now_ns - fatal_at.host_ns) / _NS
        is_busy = self.liveness.pulse(self.now_ns).is_busy
        return age_s >= (SETTLE_BUSY_S if is_busy else SETTLE_S)
