"""The closed sets of words that firedup speaks in: stages, verdicts, states and the like."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """A start-up milestone, in the order in which engines usually pass them."""

    ARGS = "args"
    DIST_INIT = "dist-init"
    LOAD_WEIGHTS = "load-weights"
    DRAFT_LOAD = "draft-load"
    KV_CACHE = "kv-cache"
    COMPILE = "compile"
    GRAPH_CAPTURE = "graph-capture"
    WARMUP = "warmup"
    READY = "ready"
    SERVING = "serving"
    OTHER = "other"


class Verdict(StrEnum):
    """What firedup says about a server."""

    READY = "ready"
    LOADING = "loading"
    CRASHED = "crashed"
    STALLED = "stalled"
    STOPPED = "stopped"
    TIMED_OUT = "timed-out"
    LOST = "lost"
    UNKNOWN = "unknown"


class State(StrEnum):
    """The life of the server's process as seen from outside."""

    WAITING = "waiting"  # nothing seen yet: no process, no log
    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    EXITED = "exited"
    UNKEPT = "unkept"  # the keeper is gone and the server lives: exit status will be unknown
    UNREACHED = "unreached"  # the link to the host is down


class Ownership(StrEnum):
    """Whether the listening socket belongs to this run; only `no` means a foreign server."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How much a finding matters."""

    SEVERE = "severe"
    WARNING = "warning"
    NOTE = "note"


class Speculation(StrEnum):
    """Whether the server speculates as its command asked."""

    NOT_ASKED = "not-asked"
    UNKNOWN = "unknown"
    ON = "on"
    OFF = "off"
