"""Adds to the snapshots of a start how long it still takes, by what is known of earlier ones."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from firedup.core.error import HostError
from firedup.core.forecast import Eta, StartTimes
from firedup.core.model import ServerSpec, Snapshot, Stage, State, Verdict
from firedup.core.verdict.etastart import forecast_start
from firedup.core.verdict.etatimes import present_of
from firedup.host.file import stat_file
from firedup.host.link import Agent
from firedup.session.past import fetch_starts, fetch_starts_of
from firedup.session.registry import Run

EVERY_NS = 500_000_000  # no picture needs a new forecast sooner
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")


class Forecaster:
    """Give it the snapshots of one start in order.

    `starts` are earlier starts like it, `whole_bytes` the size of its target's weights, 0 if that
    is not known. `age_s` is how old the server was when the watch began.
    """

    def __init__(
        self, starts: tuple[StartTimes, ...] = (), whole_bytes: int = 0, age_s: float = 0.0
    ) -> None:
        self._starts = starts
        self._whole_bytes = whole_bytes
        self._age_s = age_s
        self._read_before: dict[int, int] | None = None  # what processes had read before the load
        self._made_ns: int | None = None
        self._stage: Stage | None = None
        self._eta: Eta | None = None

    def look(self, snapshot: Snapshot) -> Snapshot:
        """`snapshot` with its forecast, as long as the server starts."""
        explanation = snapshot.explanation
        is_starting = explanation.verdict in (Verdict.LOADING, Verdict.UNKNOWN)
        if not is_starting or snapshot.is_final or snapshot.state is State.EXITED:
            return snapshot
        is_fresh = self._made_ns is not None and snapshot.now_ns - self._made_ns < EVERY_NS
        if not is_fresh or explanation.stage is not self._stage:
            self._made_ns, self._stage = snapshot.now_ns, explanation.stage
            since_launch = replace(snapshot, elapsed_s=snapshot.elapsed_s + self._age_s)
            here = present_of(
                since_launch, read_bytes=self._read_bytes(snapshot), whole_bytes=self._whole_bytes
            )
            self._eta = forecast_start(here, self._starts)
        return snapshot if self._eta is None else replace(snapshot, eta=self._eta)

    def _read_bytes(self, snapshot: Snapshot) -> int:
        """What the server's processes have read since the load of the weights began."""
        read = {process.pid: process.read_bytes or 0 for process in snapshot.processes}
        if snapshot.explanation.stage is not Stage.LOAD_WEIGHTS:
            self._read_before = read
        known = self._read_before or {}
        return sum(max(0, amount - known.get(pid, 0)) for pid, amount in read.items())


async def make_forecaster(agent: Agent, run: Run) -> Forecaster:
    """With what the host knows of starts like `run`; one that is not reached knows nothing."""
    return Forecaster(await fetch_starts(agent, run), await weigh_target(agent, run))


async def make_forecaster_of(
    agent: Agent, spec: ServerSpec, cwd: str | None, age_s: float
) -> Forecaster:
    """The same for a server that somebody else started, in the folder `cwd` and `age_s` ago."""
    starts = await fetch_starts_of(agent, spec)
    return Forecaster(starts, await _weigh_model(agent, spec, cwd), age_s)


async def weigh_target(agent: Agent, run: Run) -> int:
    """The size of the target's weights where they lie as files at their path; 0 otherwise."""
    return await _weigh_model(agent, run.spec, run.manifest.cwd)


async def _weigh_model(agent: Agent, spec: ServerSpec, cwd: str | None) -> int:
    model = spec.model
    if model is None or "://" in model or (cwd is None and not model.startswith("/")):
        return 0
    return await weigh(agent, posixpath.normpath(posixpath.join(cwd or "/", model)))


async def weigh(agent: Agent, path: str) -> int:
    """The size of the weights at `path`, a file or a folder; 0 where there are none."""
    try:
        facts = await stat_file(agent, path)
        if facts is None:
            return 0
        if facts.kind != "folder":
            return int(facts.size)
        entries = (await agent.call("list", path=path))["entries"]
    except HostError:
        return 0
    sizes: dict[str, int] = {}
    for entry in entries:
        ending = posixpath.splitext(entry["name"])[1]
        if ending in _WEIGHTS:
            sizes[ending] = sizes.get(ending, 0) + entry["size"]
    # A folder may hold the same weights in two forms, of which one is read.
    return next((sizes[ending] for ending in _WEIGHTS if ending in sizes), 0)
