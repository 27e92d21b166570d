"""Appends what a session fed its pipeline to events.jsonl in the run folder."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from firedup.core.error import HostError
from firedup.core.event import Event, LogData
from firedup.core.model import Explanation, Severity, Snapshot, Stage, Verdict
from firedup.core.verdict.etatimes import ready_after_s, stage_times
from firedup.core.verdict.vital import find_vital
from firedup.host.base import OperationError
from firedup.host.file import append_file
from firedup.host.link import Agent
from firedup.store.event import LogRange, encode_event, encode_output, encode_range

FLUSH_S = 0.5
MAX_APPEND_BYTES = 48 * 1024


class Recorder:
    """Collects events and appends them in batches.

    What the link did not take is kept for the next one; what the disk refuses is lost, and the log
    and the keeper's files remain the truth.
    """

    def __init__(self, agent: Agent, path: str) -> None:
        self._agent = agent
        self._path = path
        self._lines: list[bytes] = []
        self._open: LogRange | None = None  # may still grow
        self._turn = asyncio.Lock()

    def use(self, agent: Agent) -> None:
        """Append through `agent` from now on (the link was renewed)."""
        self._agent = agent

    def add(self, event: Event | LogRange) -> None:
        """Remember one event; neighbouring ranges of the log become one line."""
        if isinstance(event, LogData):
            event = LogRange(event.at_ns, event.generation, event.offset, len(event.data))
        if isinstance(event, LogRange):
            self._add_range(event)
            return
        self._close_range()
        self._lines.append(encode_event(event))

    def end_torn_line(self) -> None:
        """The file's last line has no end: begin a new one, or the next event would be lost."""
        self._lines.append(b"\n")

    def add_output(self, kind: str, value: dict[str, object]) -> None:
        """Remember an output line (`verdict`, `diagnosis`), which a replay ignores."""
        self._close_range()
        self._lines.append(encode_output(kind, value))

    async def run(self) -> None:
        """Flush for ever."""
        while True:
            await asyncio.sleep(FLUSH_S)
            await self.flush()

    async def flush(self) -> None:
        """Append what was collected. A broken link is not told here: others see it too."""
        async with self._turn:
            self._close_range()
            while self._lines:
                batch, count = b"", 0
                for line in self._lines:
                    if batch and len(batch) + len(line) > MAX_APPEND_BYTES:
                        break
                    batch, count = batch + line, count + 1
                try:
                    await append_file(self._agent, self._path, batch)
                except OperationError:
                    pass
                except HostError:
                    return
                del self._lines[:count]  # not before: whoever is cancelled leaves them to the next

    def _add_range(self, event: LogRange) -> None:
        last = self._open
        if (
            last is not None
            and last.generation == event.generation
            and last.offset + last.length == event.offset
        ):
            self._open = replace(last, length=last.length + event.length)
            return
        self._close_range()
        self._open = event

    def _close_range(self) -> None:
        if self._open is not None:
            self._lines.append(encode_range(self._open))
            self._open = None


def has_come_up(explanation: Explanation) -> bool:
    """Whether the server was ready at any time."""
    is_ready = explanation.verdict is Verdict.READY
    return is_ready or any(span.stage is Stage.READY for span in explanation.stages)


def make_output(snapshot: Snapshot) -> dict[str, object]:
    """What `ps` shows of a run without reading its log again."""
    explanation = snapshot.explanation
    cause, vital = explanation.cause, snapshot.spec.vital
    return {
        "at_ns": snapshot.now_ns,
        "verdict": explanation.verdict,
        "stage": explanation.stage,
        "was_ready": has_come_up(explanation),
        "version": explanation.version,
        "cause": cause.failure if cause else None,
        "line": cause.line[:300] if cause else None,
        "odd": odd_members(explanation),
        "stall": stall_that_ended(explanation),
        "vital": [[p.pid, p.start_ticks] for p in find_vital(snapshot.processes, vital)],
        "acceptance_length": snapshot.acceptance.length if snapshot.acceptance else None,
        "ready_after_s": _round(ready_after_s(snapshot)),
        "served_s": _round(explanation.served_s),
        "stages": [
            [time.stage, round(time.began_s, 3), round(time.seconds, 3)]
            for time in stage_times(snapshot)
        ],
    }


def odd_members(explanation: Explanation) -> list[str]:
    """The processes whose stacks stand apart, by name."""
    odd = explanation.stacks.odd if explanation.stacks is not None else ()
    return [member.name for group in odd for member in group.members]


def stall_that_ended(explanation: Explanation) -> str | None:
    """The finding for which firedup stopped the server by itself; None where it did not."""
    if explanation.verdict is not Verdict.STALLED or not explanation.exited:
        return None
    return next((f.id for f in explanation.findings if f.severity is Severity.SEVERE), None)


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
