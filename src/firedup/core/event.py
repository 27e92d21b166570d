"""Everything that can happen to a run, one frozen class each: the core's only inputs."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.machine import Disk, Gpu, GroupMemory, OpenFile
from firedup.core.model import Acceptance, Finding, Ownership, Process, ServerSpec
from firedup.core.stack import Stacks


@dataclass(frozen=True, slots=True)
class Begun:
    """A run begins to be watched. `pid` is None until the server's process is known.

    `is_launched` says that firedup started the server (so that its exit will be seen).
    `stage_limits` are the user's own limits, in seconds by the name of a stage.
    """

    at_ns: int
    wall_ns: int
    spec: ServerSpec
    pid: int | None = None
    start_ticks: int | None = None
    is_launched: bool = False
    log: str | None = None
    starts_anew: bool = False  # what the log told so far is about an earlier start
    stage_limits: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LogData:
    """Bytes of the log: `data` starts at `offset` of `generation` (0 for the first file seen)."""

    at_ns: int
    generation: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LogChanged:
    """The log was replaced, shrunk, lost or is not there yet.

    `state`: "missing", "appeared", "rotated", "truncated", "gap". After "rotated" and "truncated"
    `generation` counts up and offsets start again. `lost_bytes` are what nobody could read (gap),
    as far as anybody saw them. `dev` and `ino` name the file that the log is now; `end` is how far
    the generation before was read, and `tail` the CRC-32 of the last 256 bytes up to there.
    "opened" is no change: it says which file a session found as the log.
    """

    at_ns: int
    state: str
    generation: int
    lost_bytes: int | None = None
    dev: int | None = None
    ino: int | None = None
    end: int | None = None
    tail: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """Physical facts of the server's process tree, once a second.

    `oom_kills` is the cgroup's oom_kill counter, None where there is none. `ports` are the TCP
    ports on which a process of the tree listens. `log_dev` and `log_ino` name the file that the log
    is, `log_head` and `log_tail` are the CRC-32 of its first and its last 256 bytes. `log_turn`
    counts up when the log does not hold any more what it held at the sample before.

    `disks`, `group`, `gpus` and `files` are there only when they have changed since they were told
    last. `files` are those of a checkpoint that silent processes read. `kernel` are the kernel's
    own words about processes that are gone.
    """

    at_ns: int
    wall_ns: int
    log_size: int
    processes: tuple[Process, ...] = ()
    ports: tuple[int, ...] = ()
    memory_available_bytes: int | None = None
    oom_kills: int | None = None
    log_dev: int | None = None
    log_ino: int | None = None
    log_head: int | None = None
    log_tail: int | None = None
    log_turn: int | None = None
    disks: tuple[Disk, ...] = ()
    group: GroupMemory | None = None
    gpus: tuple[Gpu, ...] = ()
    files: tuple[OpenFile, ...] = ()
    kernel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exited:
    """The server's main process ended. `code` and `signal` are None when nobody reaped it.

    `oom_killed`: True or False when the cgroup's counter says so, else None. `survivors` are pids
    of the server's tree that live on. `error` says why nobody saw how it ended. `kernel` are the
    kernel's own words about processes of the tree.
    """

    at_ns: int
    wall_ns: int
    pid: int
    code: int | None = None
    signal: int | None = None
    oom_killed: bool | None = None
    survivors: tuple[int, ...] = ()
    error: str | None = None
    kernel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeeperGone:
    """The keeper died while the server lives on: its exit status will never be known."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class PortOwner:
    """Whose listening socket is on the server's port; `owner` None = nobody listens."""

    at_ns: int
    port: int
    owner: Ownership | None
    pid: int | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """An answer of the health route; `status` None when there was none, then `error` says why."""

    at_ns: int
    status: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """The one generation that proves readiness. `is_skipped` when it cannot be asked for.

    `has_timed_out`: the request was taken and no answer came within its time.
    """

    at_ns: int
    has_answered: bool
    route: str | None = None
    text: str | None = None
    tokens: int | None = None
    seconds: float | None = None
    error: str | None = None
    is_skipped: bool = False
    has_timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the server's own counters say about speculation after the first tokens."""

    at_ns: int
    acceptance: Acceptance


@dataclass(frozen=True, slots=True)
class StacksTaken:
    """The stacks of the server's processes were taken, because it stood still or somebody asked."""

    at_ns: int
    stacks: Stacks


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The operator asked for the end of the server; `by` says who: "firedup stop" and the like.

    `stall` is why firedup did so by itself, as `--on-stall stop` bids it: what was found to stand.
    """

    at_ns: int
    by: str
    stall: Finding | None = None


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """The link to the host went down or came back; `at_ns` is the host's last known time.

    `trouble` is one word of those that tell link trouble apart, `detail` what was seen.
    """

    at_ns: int
    is_up: bool
    detail: str | None = None
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The user's time limit is over. `limit_s` is what was allowed."""

    at_ns: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class Noted:
    """Something about the watch itself that its reader has to know."""

    at_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """No more input will come: the log was read to its end (`explain`) or the contact is lost."""

    at_ns: int
    is_lost: bool = False
    reason: str | None = None
    is_abandoned: bool = False  # it is certain that no process writes the log any more


Event = (
    Begun
    | LogData
    | LogChanged
    | Sample
    | Exited
    | KeeperGone
    | PortOwner
    | Health
    | Token
    | Accepted
    | StacksTaken
    | StopAsked
    | LinkChanged
    | DeadlinePassed
    | Noted
    | Ended
)
