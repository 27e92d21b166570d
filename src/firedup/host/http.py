"""HTTP requests that the agent makes on the host, typed; API keys stay there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firedup.host.link import Agent

_MARGIN_S = 10.0  # the agent's own time-out comes first


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where on the host the API key is found; it is used there and never sent over the link.

    One of `run` (a run folder), `pid` or `file` (its first line); `container` are the words of a
    container engine's client and a name, also beside a `pid`. In a command line the options
    named in `options` and `file_options` (which name a file) are looked at, then the variables
    named in `env`. `abbreviates`: beginnings of long options count. `separator` ends the first of
    several keys.
    """

    run: str | None = None
    pid: int | None = None
    start_ticks: int | None = None
    file: str | None = None
    container: tuple[str, ...] = ()
    options: tuple[str, ...] = ("--api-key",)
    file_options: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    separator: str | None = None
    abbreviates: bool = False


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server answered. `body` is cut at the limit when `is_cut`.

    `has_key` says whether a key was found and sent along.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    seconds: float
    first_byte_s: float
    is_cut: bool
    has_key: bool
    at_ns: int


async def fetch_http(
    agent: Agent,
    port: int,
    path: str,
    *,
    address: str = "127.0.0.1",
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
    timeout_s: float = 5.0,
    max_bytes: int = 1024 * 1024,
    has_tls: bool = False,
    key_from: KeySource | None = None,
) -> HttpAnswer:
    """One request from the host itself: no redirects, no proxies.

    Raises OperationError: "refused" when nothing listens, "timeout", or "http".
    """
    args: dict[str, Any] = {
        "host": address,
        "port": port,
        "path": path,
        "method": method,
        "headers": dict(headers or {}),
        "body": body,
        "max_bytes": max_bytes,
        "tls": has_tls,
        "key_from": encode_source(key_from) if key_from else None,
    }
    stream_timeout_s = timeout_s + _MARGIN_S
    args["limit_s"] = timeout_s
    result, data = await agent.fetch("http", timeout_s=stream_timeout_s, **args)
    return HttpAnswer(body=data, **result)


def encode_source(source: KeySource) -> dict[str, Any]:
    """The places as the agent takes them."""
    return {
        "run": source.run,
        "pid": source.pid,
        "start_ticks": source.start_ticks,
        "file": source.file,
        "container": list(source.container),
        "options": list(source.options),
        "file_options": list(source.file_options),
        "env": list(source.env),
        "separator": source.separator,
        "abbreviates": source.abbreviates,
    }
