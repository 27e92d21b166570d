"""What was launched: the manifest of a run, its id, and its form in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from firedup.core.model import ServerSpec

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Launched:
    """The moment of the launch, by the host's clocks."""

    boottime_ns: int
    wall_ns: int


@dataclass(frozen=True, slots=True)
class Hook:
    """A command to run when something happens to the run, such as "ready"."""

    on: str
    command: str


@dataclass(frozen=True, slots=True)
class Sign:
    """A pattern of a log line; `fixed` are texts of which every match holds one, if there are."""

    pattern: str
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """Where a token is asked for, and with which JSON."""

    path: str
    body: str


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Which options and variables hold the API key of a server; names, never a key."""

    options: tuple[str, ...] = ()
    file_options: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    separator: str | None = None
    abbreviates: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """What counts as movement between two samples, and how long there may be none.

    The first three are of a whole tree, as are `patience_s` and `frozen_s`; those named after a
    rank are of one process over `window_s`. `hold_s`: how long what keeps one from going on may
    last, by the core's word for it. Without that only whole trees are judged.
    """

    cpu_share: float
    read_bytes: int
    growth_bytes: int
    patience_s: float
    frozen_s: float
    hold_s: Mapping[str, float] = field(default_factory=dict)
    odd_s: float = 0.0
    spin_s: float = 0.0
    window_s: float = 0.0
    rank_read_bytes: float = 0.0
    rank_growth_bytes: float = 0.0
    rank_minor_faults: float = 0.0
    rank_major_faults: float = 0.0
    spin_share: float = 0.0
    idle_share: float = 0.0
    gpu_growth_bytes: float = 0.0
    gpu_use_percent: float = 0.0
    matters_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class VitalParts:
    """Processes without which a server serves nothing: how their titles begin, and the times.

    One is missed after `patience_s`, if it had been there for `steady_s`.
    """

    names: tuple[str, ...]
    patience_s: float
    steady_s: float


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a keeper needs to conclude by itself how its server is, while no client does.

    `causes` name failures by the number of the signal that ended the server, "oom", "port" and
    "vital".
    `grace_s` is how long the keeper leaves the telling to a client that watches. Of the pauses
    between questions, before and after the health route first said yes, the first and the longest
    are given; `post_pauses_s` are those between the tries to reach an address.
    """

    ready: tuple[Sign, ...]
    stop: tuple[Sign, ...]
    bind: str | None
    address: str
    port: int | None
    health: str
    token: tuple[Route, ...]
    token_s: float
    limits: Limits
    causes: Mapping[str, str]
    grace_s: float
    health_pauses_s: tuple[float, float]
    token_pauses_s: tuple[float, float]
    post_pauses_s: tuple[float, ...]
    generates: bool = True
    hides_ready_line: bool = False
    tls: bool = False
    key: KeyPlace | None = None
    vital: VitalParts | None = None


@dataclass(frozen=True, slots=True)
class ContainerOrder:
    """The container that a command starts, for the carrier who follows it on the host.

    `client` runs the container engine's client and `compose` its compose part; options are put in
    at `at` of the argv. `verb` is "run" or "up". `hints` tell the engine's service among several.
    """

    program: str
    client: tuple[str, ...]
    verb: str
    at: int
    compose: tuple[str, ...] = ()
    name: str | None = None
    cidfile: str | None = None
    is_detached: bool = False
    is_on_host: bool = False
    services: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a server was launched with; `log`, `cwd`, `boot_id`, `launched`, `notes` are its host's.

    `env` holds only what was added; `env_files` are read on the host and their values stay there.
    `hooks` and `notify` (addresses) are told of what happens; `recipe` is for the keeper who tells.
    `setup` is shell text that runs before the command. None for `log` is server.log in the run
    folder, None for `cwd` the home on the host. `nodes` are the hosts of a run on several, the head
    first, as `--host` takes them, and `node` is which of them this is. `container` is set when the
    command starts one, which then is the server. `stage_limits` (seconds by stage) and `on_stall`
    are for whoever watches. With `arms_stacks` its Python processes tell their stacks on a signal.
    `facts` are versions and the like by name, as its host had them.
    """

    id: str
    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    log: str | None = None
    setup: str | None = None
    login: bool = False
    spec: ServerSpec = field(default_factory=ServerSpec)
    timeout_s: float | None = None
    firedup: str = ""
    restarted_from: str | None = None
    hooks: tuple[Hook, ...] = ()
    notify: tuple[str, ...] = ()
    env_files: tuple[str, ...] = ()
    recipe: Recipe | None = None
    nodes: tuple[str, ...] = ()
    node: int = 0
    container: ContainerOrder | None = None
    boot_id: str | None = None
    launched: Launched | None = None
    notes: tuple[str, ...] = ()
    stage_limits: Mapping[str, float] = field(default_factory=dict)
    on_stall: str = "report"
    arms_stacks: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    schema: int = SCHEMA


def new_run_id(wall_ns: int, name: str, token: str) -> str:
    """An id that sorts by time: "20261129-182259-kimi-4f2a"; `token` makes it unique (hex)."""
    stamp = datetime.fromtimestamp(wall_ns // 10**9, UTC).strftime("%Y%m%d-%H%M%S")
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
    slug = "-".join(part for part in slug.split("-") if part)[:40].strip("-")
    return "-".join(part for part in (stamp, slug, token) if part)


def encode_manifest(manifest: Manifest) -> dict[str, Any]:
    """As a JSON object."""
    return cast("dict[str, Any]", msgspec.to_builtins(manifest))


def decode_manifest(value: dict[str, Any]) -> Manifest:
    """From a JSON object. Raises msgspec.ValidationError when it is damaged."""
    return msgspec.convert(value, Manifest)
