"""What firedup talks about: lines, causes, findings, stages and the snapshot of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from firedup.core.difference import Comparison
from firedup.core.forecast import Eta
from firedup.core.link import LinkState
from firedup.core.node import NodeState
from firedup.core.process import Process
from firedup.core.spec import ServerSpec
from firedup.core.stack import Stacks
from firedup.core.word import Ownership, Severity, Speculation, Stage, State, Verdict

__all__ = [
    "Acceptance",
    "Cause",
    "Checks",
    "Evidence",
    "Explanation",
    "Finding",
    "Followed",
    "Gauge",
    "Line",
    "Ownership",
    "Process",
    "Progress",
    "RankState",
    "RunLabel",
    "ServerSpec",
    "Severity",
    "Snapshot",
    "Source",
    "Speculation",
    "Stage",
    "StageSpan",
    "State",
    "Verdict",
]


@dataclass(frozen=True, slots=True)
class Source:
    """Who wrote a line: `rank` such as "TP3" or "DP0 TP3", the pid, the process title."""

    rank: str | None = None
    pid: int | None = None
    title: str | None = None

    def __str__(self) -> str:
        return self.rank or self.title or (f"pid {self.pid}" if self.pid else "main")


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a log, decoded for reading; `offset` and `end` are byte positions in the file.

    `number` counts LF from 1, as `sed -n` does, so that all carriage-return pieces of one physical
    line share a number. `text` is free of control sequences; a collector of logs wrote its first
    `collected` characters. `message` is `text` without all prefixes. `stamp_ns` is the line's own
    time (wall clock, nanoseconds since the epoch, read as UTC).
    """

    offset: int
    end: int
    number: int
    text: str
    message: str
    source: Source = Source()
    stamp_ns: int | None = None
    level: str | None = None  # DEBUG, INFO, WARNING, ERROR, CRITICAL where the prefix says so
    is_progress: bool = False  # ended by a carriage return: it will be overwritten on a terminal
    is_cut: bool = False  # longer than the limit; the rest was dropped
    collected: int = 0

    @property
    def written(self) -> str:
        """The text as the engine wrote it."""
        return self.text[self.collected :]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation behind a statement. `kind`: line, exit, port, http, sample, file, command."""

    kind: str
    text: str
    line_number: int | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """The first fault: `failure` is its class, `rule` the rule's id or None (structure alone)."""

    failure: str
    rule: str | None
    line: str
    line_number: int | None
    offset: int | None
    rank: str | None
    stage: Stage | None
    meaning: str
    remedy: str | None
    evidence: tuple[Evidence, ...] = ()
    at_ns: int | None = None  # host boottime
    role: str = "cause"  # or unclassified, victim, wrapper: what stands in for one
    mentions: tuple[str, ...] = ()  # flags and variables that its remedy is about
    before: tuple[str, ...] = ()  # lines of the log around it
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Followed:
    """A line that followed from the cause. `role`: wrapper, victim, teardown, cause."""

    line: str
    line_number: int | None
    role: str
    offset: int | None = None
    node: str | None = None  # where it stands, when that is not where the cause does


@dataclass(frozen=True, slots=True)
class Finding:
    """A conclusion with its evidence and what to do about it; `id` names the symptom."""

    id: str
    severity: Severity
    message: str
    evidence: tuple[Evidence, ...] = ()
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class StageSpan:
    """One stage as it was passed. `started_ns` is wall time of `clock` ("log" or "host")."""

    stage: Stage
    started_ns: int | None
    clock: str
    seconds: float | None
    rank: str | None = None
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a bar of `unit` ("shards") stands; `remaining_s` None: nothing honest can be said.

    `reported_ns` is the host boottime (in `explain` the log's time) at which it last moved.
    """

    stage: Stage
    done: int
    total: int
    elapsed_s: float | None
    remaining_s: float | None
    unit: str = ""
    rank: str | None = None
    reported_ns: int | None = None

    @property
    def fraction(self) -> float:
        """How full the bar is, in 0..1."""
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0


@dataclass(frozen=True, slots=True)
class RankState:
    """The stage one rank has reached; `has_finished` when it has left that stage's work behind."""

    rank: str
    stage: Stage
    has_finished: bool = False


@dataclass(frozen=True, slots=True)
class Gauge:
    """What the log says about a quantity over time: last, mean, least and greatest of `count`.

    `name`: accept_length, accept_rate, …  `is_sampled`: of a big file that was not read in full.
    """

    name: str
    last: float
    mean: float
    least: float
    greatest: float
    count: int
    is_sampled: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a log (with or without a living process) says: the object that `explain --json` prints.

    `exited` None: not known. `confidence` is in 0..1. `served_s`: how long it answered, if ever.
    """

    engine: str | None
    version: str | None
    verdict: Verdict
    stage: Stage | None
    exited: bool | None
    confidence: float
    stages: tuple[StageSpan, ...] = ()
    starts: int = 0
    served_s: float | None = None
    cause: Cause | None = None
    followed: tuple[Followed, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    gauges: tuple[Gauge, ...] = ()
    tail: tuple[str, ...] = ()  # the log's last lines, where they were asked for
    since_good: Comparison | None = None  # what is different since the last run that came up
    stacks: Stacks | None = None  # of its processes, taken when it stood still


@dataclass(frozen=True, slots=True)
class Checks:
    """The four things that make a server ready; None = not asked (yet), with `why_not` saying why.

    `log`: the engine's own statement was seen. `health`: HTTP status of the health route.
    `owner`: whose listening socket it is. `token`: one token was generated.
    """

    log: bool | None = None
    health: int | None = None
    owner: Ownership | None = None
    token: bool | None = None
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Acceptance from a server's own counters over a window (bonus token included in the length).

    `length` = 1 + accepted ÷ steps, `rate` = accepted ÷ proposed; None with `why_not` when the
    server cannot say, never 0. `source` names the surface that was read.
    """

    length: float | None
    rate: float | None
    accepted: int | None = None
    proposed: int | None = None
    steps: int | None = None
    source: str = ""
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class RunLabel:
    """How a run is called: `id` is unique, `name` a label, `host` a prefix such as "local"."""

    id: str
    name: str
    host: str = "local"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a view needs at one moment; `now_ns` is host boottime, `wall_ns` host wall time.

    `elapsed_s` counts from launch. `quiet_s` is how long the log has said nothing.
    """

    now_ns: int
    wall_ns: int | None
    explanation: Explanation
    run: RunLabel | None = None
    spec: ServerSpec = field(default_factory=ServerSpec)
    state: State = State.WAITING
    elapsed_s: float = 0.0
    stage_elapsed_s: float | None = None
    ready_after_s: float | None = None  # from the beginning to the proof, None when not known
    ended_after_s: float | None = None  # from the beginning to the end of its process
    quiet_s: float | None = None
    progress: Progress | None = None
    ranks: tuple[RankState, ...] = ()
    last_line: Line | None = None  # the last that any rule knows, else the last at all
    highlight: Line | None = None  # the last that the caller's own pattern met (classic format)
    tail: tuple[str, ...] = ()  # the last physical lines, newest last, as many as were asked for
    waiting_for: str = ""  # in the user's words, such as "the health route to answer 200"
    checks: Checks = Checks()
    is_refuted: bool = False  # asked since its log said that it is ready, it never showed it
    has_open_port: bool = False  # the server's processes listen on its port
    speculation: Speculation = Speculation.NOT_ASKED
    acceptance: Acceptance | None = None
    first_text: str | None = None  # what the server generated when first asked for tokens
    processes: tuple[Process, ...] = ()
    exit_code: int | None = None
    exit_signal: int | None = None
    log_path: str | None = None
    log_size: int = 0
    is_final: bool = False  # the verdict will not change any more
    link: LinkState | None = None  # of a link that is down
    nodes: tuple[NodeState, ...] = ()  # of a run on several hosts, the head first
    eta: Eta | None = None  # how long it still takes, while it starts
