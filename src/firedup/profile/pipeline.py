"""Events in, snapshot out: the one path that explain, session and replay share."""

from __future__ import annotations

import re

from firedup.core.event import (
    Begun,
    Ended,
    Event,
    Exited,
    Health,
    KeeperGone,
    LinkChanged,
    LogChanged,
    LogData,
    Noted,
    PortOwner,
    Sample,
    StopAsked,
    Token,
)
from firedup.core.log.tail import Tail
from firedup.core.model import RunLabel, ServerSpec, Snapshot, State, Verdict
from firedup.core.rule import Matcher
from firedup.core.verdict.crew import Member, find_members
from firedup.core.verdict.ground import Ground
from firedup.core.verdict.judgement import Judgement
from firedup.core.verdict.lifecycle import Lifecycle, Trigger
from firedup.core.verdict.liveness import Liveness
from firedup.core.verdict.outside import Outside
from firedup.core.verdict.patience import Patience
from firedup.core.verdict.reader import LogReader
from firedup.core.verdict.readiness import Readiness
from firedup.core.verdict.vital import Vitals

_NS = 1_000_000_000


class Pipeline:
    """Feed it the events of one run in order; ask for a snapshot at any time.

    What it says depends on the events and on the `now_ns` it is asked with, on nothing else.
    `engine` None lets the command or the log decide. `year` completes time stamps without one.
    `tail_lines` and `highlight` are for callers that show raw lines. Without `counts_lines` line
    numbers stay None (core/log/numbering.py fills them in from a log that can be read again).
    `log_start`: where the run begins in a log that was there before, and the lines before it.
    `patience` is another than usual, for times that are made shorter.
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
        counts_lines: bool = True,
        log_start: tuple[int, int] = (0, 0),
        patience: Patience | None = None,
    ) -> None:
        self._run = run
        self._reader = LogReader(matcher, engine, year, counts_lines=counts_lines, start=log_start)
        self._tail = Tail(tail_lines, highlight, year)
        self._liveness = Liveness(patience)
        self._lifecycle = Lifecycle()
        self._readiness = Readiness(ServerSpec())
        self._outside = Outside()
        self._notes: dict[str, None] = {}
        self._generation = 0
        self._is_missing = False
        self._proved_ns: int | None = None
        self._offset = log_start[0]  # of the next log byte that is wanted

    @property
    def log_position(self) -> tuple[int, int]:
        """Generation and offset of the next log byte that is wanted."""
        return self._generation, self._offset

    @property
    def is_log_ready(self) -> bool:
        """Whether the log says that the server is ready."""
        return self._reader.startup.is_ready

    @property
    def has_open_port(self) -> bool:
        """Whether the server's processes listened on its port at the newest sample."""
        sample = self._liveness.sample
        return sample is not None and self._readiness.spec.port in sample.ports

    @property
    def is_in_doubt(self) -> bool:
        """Whether a process is gone without which the server may serve nothing."""
        return self._liveness.vitals.is_suspicious

    @property
    def pids(self) -> frozenset[int]:
        """The server's processes at the newest sample."""
        return frozenset(process.pid for process in self._liveness.processes)

    @property
    def crew(self) -> tuple[Member, ...]:
        """The processes that matter at the newest sample, the ranks first."""
        motions, processes = self._liveness.motions, self._liveness.processes
        if not processes:
            return ()
        return find_members(motions, processes[0].pid, self._reader.roster.pids)

    def feed(self, event: Event) -> None:
        """Take the next event. Log bytes that were fed before are recognised by their offset."""
        self._outside.feed(event)
        match event:
            case Begun():
                self._begin(event)
            case LogData():
                self._take_log(event)
            case LogChanged():
                self._change_log(event)
            case Sample():
                self._liveness.feed(event)
                if event.processes:
                    self._lifecycle.feed(Trigger.SEEN)
            case Health() | PortOwner() | Token():
                self._readiness.feed(event)
                self._heed_proof()
            case Noted():
                self._note(event.text)
            case Ended():
                self._reader.close(self._host_time(event.at_ns))
                if event.reason is not None:
                    self._note(event.reason)
            case _:
                self._move(event)

    def snapshot(self, now_ns: int | None = None, wall_ns: int | None = None) -> Snapshot:
        """Everything at `now_ns` (host boottime; None: the time of the last event)."""
        out, startup = self._outside, self._reader.startup
        now_ns = out.last_ns if now_ns is None else now_ns
        last_line = self._tail.last()
        ground = Ground(
            self._reader, self._readiness, self._liveness, out, now_ns, self._tail.newest
        )
        explanation = Judgement(ground, last_line).explain(self._notes)
        begun, sample, exited = out.begun, self._liveness.sample, out.exited
        stage_begun = startup.stage_begun()
        is_over = exited is not None or explanation.verdict is Verdict.CRASHED
        has_log = self._offset > 0 or self._generation > 0
        return Snapshot(
            now_ns=now_ns,
            wall_ns=wall_ns,
            explanation=explanation,
            run=self._run,
            spec=self._readiness.spec,
            state=self._state(explanation.verdict),
            elapsed_s=(now_ns - begun.at_ns) / _NS if begun else 0.0,
            stage_elapsed_s=(
                (now_ns - stage_begun.host_ns) / _NS
                if stage_begun and stage_begun.host_ns is not None
                else None
            ),
            ready_after_s=self._ready_after_s(),
            ended_after_s=(exited.at_ns - begun.at_ns) / _NS if exited and begun else None,
            quiet_s=self._liveness.pulse(now_ns).quiet_s,
            progress=None if is_over else self._reader.bar(now_ns),
            ranks=startup.ranks(),
            last_line=self._reader.last_known or last_line,
            highlight=self._tail.highlight,
            tail=self._tail.lines(),
            waiting_for=self._readiness.waiting_for(
                startup.stage,
                log_ready=startup.is_ready,
                has_log=has_log,
                is_missing=self._is_missing,
                is_over=is_over,
            ),
            checks=self._readiness.checks(log_ready=startup.is_ready),
            is_refuted=self._readiness.is_refuted(startup.ready_at),
            has_open_port=self.has_open_port,
            speculation=ground.speculation(),
            acceptance=out.accepted.acceptance if out.accepted else None,
            first_text=self._readiness.token.text if self._readiness.token else None,
            processes=self._liveness.processes if exited is None else (),
            exit_code=exited.code if exited else None,
            exit_signal=exited.signal if exited else None,
            log_path=begun.log if begun else None,
            log_size=max(self._offset, sample.log_size if sample else 0),
            is_final=exited is not None or out.ended is not None,
        )

    def _begin(self, event: Begun) -> None:
        """What is known of the server from here on; a later start begins without a past."""
        if event.starts_anew or event.spec.vital != self._readiness.spec.vital:
            self._liveness.vitals = Vitals(event.spec.vital)
        self._readiness.spec = event.spec
        if event.starts_anew:
            self._reader.start_anew()
        if event.pid is not None:
            self._lifecycle.feed(Trigger.SEEN)

    def _heed_proof(self) -> None:
        """Once the answers prove it ready, the server is serving, whatever it complained about."""
        if self._readiness.is_proven(log_ready=self._reader.startup.is_ready):
            self._proved_ns = self._proved_ns or self._outside.last_ns
            self._lifecycle.feed(Trigger.READY)
            self._reader.proved()

    def _ready_after_s(self) -> float | None:
        """How long the start took; not known of a server that was up before it was watched."""
        begun, ready_at = self._outside.begun, self._reader.startup.ready_at
        was_up = ready_at is not None and ready_at.host_ns is None
        if begun is None or self._proved_ns is None or was_up:
            return None
        return (self._proved_ns - begun.at_ns) / _NS

    def _state(self, verdict: Verdict) -> State:
        """The state of the process; a log alone is believed when it says that it is up."""
        state = self._lifecycle.state
        is_starting = state in (State.WAITING, State.STARTING)
        return State.SERVING if is_starting and verdict is Verdict.READY else state

    def _move(self, event: Event) -> None:
        """Events that only change the state of the server's life."""
        match event:
            case Exited():
                self._lifecycle.feed(Trigger.EXITED)
            case KeeperGone():
                self._lifecycle.feed(Trigger.KEEPER_GONE)
                self._note("the keeper is gone: the server's exit status will not be known")
            case StopAsked():
                self._lifecycle.feed(Trigger.STOP_ASKED)
                self._reader.stop_asked(event.at_ns)
            case LinkChanged():
                self._lifecycle.feed(Trigger.LINK_UP if event.is_up else Trigger.LINK_DOWN)
            case _:
                pass

    def _take_log(self, event: LogData) -> None:
        if event.generation != self._generation:
            return
        if event.offset > self._offset:
            self._note(f"the log has no bytes from {self._offset} to {event.offset}")
            self._offset = event.offset
            self._reader.jump(event.offset, self._host_time(event.at_ns))
        data = event.data[self._offset - event.offset :]
        if not data:
            return
        self._offset += len(data)
        self._lifecycle.feed(Trigger.SEEN)
        if self._outside.begun is not None:
            self._liveness.log_grew(event.at_ns)
        self._tail.feed(data)
        self._reader.feed(data, self._host_time(event.at_ns))

    def _change_log(self, event: LogChanged) -> None:
        self._is_missing = event.state == "missing"
        if event.generation > self._generation:
            self._generation, self._offset = event.generation, 0
            self._reader.next_generation(self._host_time(event.at_ns))
            self._note(f"the log was {event.state}: generation {event.generation} follows")
        if event.state == "gap":
            lost = f"{event.lost_bytes} bytes" if event.lost_bytes else "an unknown part"
            self._note(f"{lost} of the log were destroyed before they could be read")

    def _host_time(self, at_ns: int) -> int | None:
        """Host time of an event; None where only the log's own clock exists (`explain`)."""
        return at_ns if self._outside.begun is not None else None

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)
