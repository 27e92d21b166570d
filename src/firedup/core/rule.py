"""A rule of knowledge, what hitting it yields, and the protocol that a matcher fulfils."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from firedup.core.model import Line, Severity, Stage


class Role(StrEnum):
    """What a line with this message means for the diagnosis."""

    CAUSE = "cause"
    WRAPPER = "wrapper"  # reports that something else failed
    VICTIM = "victim"  # failed because another process failed first
    TEARDOWN = "teardown"  # belongs to an orderly or forced end
    BENIGN = "benign"  # looks alarming and is harmless
    GAUGE = "gauge"  # a reading, such as the acceptance length
    KIND = "kind"  # names the class of what is a failure by its form; makes no line one


class Edge(StrEnum):
    """Which part of a stage a line marks."""

    BEGIN = "begin"
    PROGRESS = "progress"
    END = "end"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a catalogue. Exactly what the TOML says, checked and typed.

    `engine` is None for shared rules. A rule says at least one of: `stage` (with `edge`), `failure`
    (TOML key `class`, with a role), `finding`, a role alone, `is_identity`.

    Captures that the core understands: done, total, percent, elapsed, left, seconds, version,
    rank, exit_code, signal, port, pid; for gauges the names listed in `gauges`.
    """

    id: str
    pattern: str
    engine: str | None = None
    stage: Stage | None = None
    edge: Edge | None = None
    role: Role | None = None
    failure: str | None = None
    finding: str | None = None
    severity: Severity = Severity.WARNING
    meaning: str = ""
    remedy: str | None = None
    remedies: Mapping[Stage, str] = field(default_factory=dict)  # by stage, before `remedy`
    mentions: tuple[str, ...] = ()  # flags and variables whose values the remedy may quote
    unit: str = ""  # what a progress rule counts
    is_identity: bool = False  # only this engine prints it
    is_start: bool = False  # a new start of a server begins here
    is_stop: bool = False  # the operator asked for the end
    is_final: bool = False  # fatal whatever the log says later (a foreign server may answer)
    awaits_ranks: bool = False  # its writer waited in vain for other ranks
    by_stage: bool = False  # the stage is part of the failure's name
    gauges: tuple[str, ...] = ()
    literal: str | None = None  # gauges: a fixed piece of text that every such line holds
    since: str | None = None
    until: str | None = None
    source: str = ""
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The id as shown to users: "sglang/load-weight-begin", "shared/cuda-out-of-memory"."""
        return f"{self.engine or 'shared'}/{self.id}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule met a line; `captures` are the pattern's named groups that took part."""

    rule: Rule
    line: Line
    captures: Mapping[str, str] = field(default_factory=dict)


class Matcher(Protocol):
    """A compiled catalogue."""

    @property
    def gauge_literals(self) -> tuple[bytes, ...]:
        """Texts of which every gauge line holds one; gauges are sampled instead of scanned."""

    def scan(self, block: bytes) -> list[int]:
        """Positions in `block`, ascending, of what matters.

        At least one lies inside each line that any rule except a gauge or a kind, or any opener
        of a multi-line message, matches. There may be more, never fewer.
        """

    def match(self, line: Line) -> tuple[Hit, ...]:
        """All rules, gauges included, that `line.written` meets, in catalogue order; kinds last.

        Kinds are looked for only where the line names an exception.
        """
