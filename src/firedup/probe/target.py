"""Where and how one server is asked over HTTP, from the host that it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.measure.exposition import MetricSample, parse_exposition
from firedup.core.model import ServerSpec
from firedup.host.base import OperationError
from firedup.host.http import HttpAnswer, KeySource, fetch_http
from firedup.host.link import Agent
from firedup.profile.schema import EngineProfile, Http

_OK = 200
_UNKNOWN = Http(
    health="/health",
    completions=("/v1/completions", "/v1/chat/completions", "/generate"),
    metrics="/metrics",
)


@dataclass(frozen=True, slots=True)
class Target:
    """A server's address and routes. `key` tells the host where to find the API key, if any."""

    agent: Agent
    spec: ServerSpec
    http: Http
    key: KeySource | None = None

    @property
    def address(self) -> str:
        """The address to connect to."""
        return address_of(self.spec)

    async def get(self, path: str, *, timeout_s: float = 5.0) -> HttpAnswer:
        """GET `path`; OperationError when nothing answers."""
        return await self._fetch(path, "GET", None, timeout_s)

    async def post(self, path: str, body: str, *, timeout_s: float) -> HttpAnswer:
        """POST a JSON `body` to `path`; OperationError when nothing answers."""
        return await self._fetch(path, "POST", body, timeout_s)

    async def read_metrics(self) -> tuple[MetricSample, ...] | None:
        """What its metrics route tells now; None where it has none or does not answer."""
        if self.http.metrics is None:
            return None
        try:
            answer = await self.get(self.http.metrics)
        except OperationError:
            return None
        if answer.status != _OK:
            return None
        return parse_exposition(answer.body.decode("utf-8", "replace"))

    async def _fetch(
        self, path: str, method: str, body: str | None, timeout_s: float
    ) -> HttpAnswer:
        return await fetch_http(
            self.agent,
            self.spec.port or 0,
            path,
            address=self.address,
            method=method,
            headers={"Content-Type": "application/json"} if body is not None else None,
            body=body,
            timeout_s=timeout_s,
            has_tls=self.spec.has_tls,
            key_from=self.key,
        )


def address_of(spec: ServerSpec) -> str:
    """Where a server is connected to on its host: a wildcard is reached over loopback."""
    bind = spec.bind
    if bind in (None, "", "0.0.0.0", "localhost"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return "::1" if bind == "::" else bind or "127.0.0.1"


def make_target(
    agent: Agent,
    spec: ServerSpec,
    profile: EngineProfile | None,
    *,
    run_folder: str | None = None,
    process: tuple[int, int | None] | None = None,
    container: tuple[str, ...] = (),
) -> Target:
    """The target of a run (`run_folder`) or of a process (`process`: pid and start ticks).

    `container`: the words that run a container engine's client, and the container with the server.
    """
    http = profile.http if profile and profile.http.health else _UNKNOWN
    pid, start_ticks = process or (None, None)
    key = None
    if profile is not None and (run_folder is not None or pid is not None or container):
        command = profile.command
        key = KeySource(
            run=run_folder,
            pid=pid,
            start_ticks=start_ticks,
            container=container,
            options=command.api_key,
            file_options=command.api_key_file,
            env=command.api_key_env,
            separator=command.api_key_separator,
            abbreviates=command.abbreviates,
        )
    return Target(agent, spec, http, key)
