"""The log of a container of Docker or Podman, and what its engine says about it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from firedup.core.error import UsageError
from firedup.host.agent.engine import read_events
from firedup.host.base import LinkError, Trouble
from firedup.host.container import Container
from firedup.host.link import Agent
from firedup.host.pour import ask_client, run_short
from firedup.host.stamp import Cursor, Decoder, StampedLines, read_stamp
from firedup.host.standing import Standing, read_object, split_status

# Only what is needed: the whole answer would hold the container's environment, and with that keys.
_PARTS = {
    "id": ".Id",
    "status": ".State.Status",
    "pid": ".State.Pid",
    "code": ".State.ExitCode",
    "oom": ".State.OOMKilled",
    "error": ".State.Error",
    "started": ".State.StartedAt",
    "finished": ".State.FinishedAt",
    "restarts": ".RestartCount",
    "path": ".Path",
    "args": ".Args",
    "image": ".Config.Image",
    "mode": ".HostConfig.NetworkMode",
    "ports": ".NetworkSettings.Ports",
    "address": ".NetworkSettings.IPAddress",
    "networks": ".NetworkSettings.Networks",
}
FORMAT = "{" + ",".join(f'"{name}":{{{{json {part}}}}}' for name, part in _PARTS.items()) + "}"
_RUNS = ("running", "paused")
_WAITS = ("created", "configured", "initialized", "restarting")


@dataclass(frozen=True, slots=True)
class ContainerLog:
    """The container `name`; `program` is docker or podman."""

    name: str
    program: str = "docker"

    merges = True  # the client tells the container's standard error as its own

    @property
    def waiter(self) -> tuple[str, ...]:
        """What ends with the container and prints its status, also where it is removed then."""
        return (self.program, "wait", "--", self.name)

    @property
    def word(self) -> str:
        """As a user writes it."""
        return f"{self.program}:{self.name}"

    def argv(self, standing: Standing, cursor: Cursor, *, follows: bool) -> tuple[str, ...]:
        """What prints the log of the container's present start, from `cursor` on."""
        since_ns = cursor.since_ns or standing.started_wall_ns
        since = ("--since", write_time(since_ns)) if since_ns is not None else ()
        follow = ("--follow",) if follows else ()
        return (self.program, "logs", *follow, "--timestamps", *since, "--", self.name)

    def decoder(self) -> Decoder:
        """For what `argv` prints."""
        return StampedLines()

    def events(self, standing: Standing, until_wall_ns: int) -> tuple[str, ...]:
        """What prints the past events of the start that stood so, of its end and of memory."""
        begun = write_time(standing.started_wall_ns or 0)
        span = ("--since", begun, "--until", write_time(until_wall_ns))
        wanted = (f"container={standing.start.partition(' ')[0]}", "event=oom", "event=die")
        filters = tuple(word for one in wanted for word in ("--filter", one))
        return (self.program, "events", *span, *filters, "--format", "{{json .}}")

    async def recall_memory(self, agent: Agent, standing: Standing, wall_ns: int) -> bool | None:
        """Whether the start that stood so lacked memory, by the events until `wall_ns`.

        For a container that was removed at its end. None when the engine tells nothing of its end,
        as Podman does not.
        """
        output = await run_short(agent, self.events(standing, wall_ns))
        return read_events(output.out.decode("utf-8", "replace")) if output.code == 0 else None

    async def look(self, agent: Agent) -> Standing:
        """What the container engine says.

        UsageError when there is no such container, LinkError when the engine cannot be asked
        or its answer cannot be read.
        """
        inspect = (self.program, "container", "inspect", "--format", FORMAT, "--", self.name)
        todo = f"Name the host where the container runs: --host box {self.word}"
        output = await ask_client(agent, inspect, todo=todo)
        if output.code != 0:
            raise explain_refusal(self, output.words, agent.host.name)
        return read_container(read_object(output.out.decode("utf-8", "replace"), self.word))


def explain_refusal(log: ContainerLog, words: str, host: str) -> UsageError | LinkError:
    """The error for what the client said instead of an answer."""
    found = Container(log.name, log.program).explain(1, words)
    trouble, todo = found or (Trouble.OTHER, f"Try: {log.program} ps --all")
    if trouble is Trouble.NO_PLACE:
        what = f"there is no container {shlex.quote(log.name)} on {host}"
        return UsageError(what, evidence=words, todo=todo)
    what = f"{log.program} on {host} does not tell about {shlex.quote(log.name)}"
    return LinkError(trouble, what, evidence=words, todo=todo)


def read_container(told: Mapping[str, Any]) -> Standing:
    """What `inspect` told in `FORMAT`."""
    status = str(told.get("status") or "")
    is_running = status in _RUNS
    number = int(told.get("code") or 0)
    # One that could not be started stays "created", with the reason as its exit code.
    has_ended = not is_running and (number != 0 or status not in _WAITS[:-1])
    code, signal = split_status(number) if has_ended else (None, None)
    started = str(told.get("started") or "")
    words = status + (f": {told['error']}" if told.get("error") else "")
    path = told.get("path")
    return Standing(
        start=f"{told.get('id')} {started}",
        is_running=is_running,
        is_waiting=status in _WAITS and not (has_ended and status != "restarting"),
        words=words,
        pid=int(told.get("pid") or 0) or None if is_running else None,
        code=code,
        signal=signal,
        oom_killed=bool(told.get("oom")) if has_ended else None,
        started_wall_ns=read_stamp(started),
        finished_wall_ns=read_stamp(str(told.get("finished") or "")) if has_ended else None,
        argv=(str(path), *(str(word) for word in told.get("args") or ())) if path else (),
        image=str(told.get("image") or ""),
        restarts=int(told.get("restarts") or 0),
        address=_read_address(told),
        published=_read_ports(told.get("ports")),
        is_on_host=told.get("mode") == "host",
    )


def _read_address(told: Mapping[str, Any]) -> str | None:
    networks = told.get("networks") or {}
    found = [n.get("IPAddress") for n in networks.values() if isinstance(n, dict)]
    return next((str(a) for a in [told.get("address"), *found] if a), None)


def _read_ports(told: Mapping[str, Any] | None) -> dict[int, tuple[str, int]]:
    """Published TCP ports: the container's → (address, port) on the host, IPv4 first."""
    found = {}
    for inside, bindings in (told or {}).items():
        number, _, protocol = inside.partition("/")
        if not bindings or protocol not in ("", "tcp") or not number.isdigit():
            continue
        first = min(bindings, key=lambda binding: ":" in str(binding.get("HostIp")))
        if str(first.get("HostPort")).isdigit():
            found[int(number)] = (str(first.get("HostIp") or "0.0.0.0"), int(first["HostPort"]))  # noqa: S104 - read, not bound
    return found


def write_time(wall_ns: int) -> str:
    """An instant as the tools take it: RFC 3339 with nanoseconds, in UTC."""
    second, rest = divmod(wall_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"
