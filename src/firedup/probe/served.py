"""Asks a running server what it is, and its counters of speculation before and after a load."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from firedup.core.acceptance import Counts, acceptance_of, count_metrics
from firedup.core.error import UsageError
from firedup.core.exposition import parse_exposition
from firedup.core.measured import Request
from firedup.core.model import Acceptance
from firedup.core.serverinfo import (
    ServerInfo,
    find_speculation,
    read_llama,
    read_models,
    read_sglang,
    read_vllm,
)
from firedup.probe.client import Client

_ROUTES = {"sglang": "/generate", "vllm": "/v1/completions", "llama-cpp": "/v1/completions"}


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers. `route` is the one to ask for completions.

    `has_counters`: its metrics count speculation, so that a difference of them can be had.
    """

    info: ServerInfo
    route: str
    has_counters: bool = False
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> str | None:
        """The name by which completions are asked for."""
        return self.info.model


async def ask_served(client: Client, *, engine: str | None = None) -> Served:
    """Who answers at the address of `client`; `engine` is believed where it does not say itself.

    UsageError when nobody does, or when it wants a key that it did not get.
    """
    paths = ("/v1/models", "/server_info", "/version", "/props", "/metrics")
    answers = dict(zip(paths, await asyncio.gather(*map(client.fetch, paths)), strict=True))
    models = answers["/v1/models"]
    if all(answer.status is None for answer in answers.values()):
        raise UsageError(f"nobody answers at {client.url}", evidence=models.error)
    if models.status in (401, 403):
        raise UsageError(
            f"{client.url} wants an API key",
            evidence=models.error,
            todo="Put it into an environment variable and name that: --api-key-env VARIABLE",
        )
    sglang = answers["/server_info"]
    if sglang.status != 200 and read_models(models.json).engine in ("sglang", None):
        sglang = await client.fetch("/get_server_info")
    named = read_models(models.json)
    own = (
        read_sglang(sglang.json)
        or read_llama(answers["/props"].json)
        or (read_vllm(answers["/version"].json) if named.engine in ("vllm", None) else None)
        or named
    )
    info = replace(own, engine=own.engine or named.engine or engine, model=named.model or own.model)
    samples = parse_exposition(answers["/metrics"].body.decode("utf-8", "replace"))
    has_metrics = answers["/metrics"].status == 200
    speculates, tokens = find_speculation(samples) if has_metrics else (None, None)
    if info.speculates is None:
        info = replace(info, speculates=speculates, draft_tokens=info.draft_tokens or tokens)
    route = _ROUTES.get(info.engine or "", "/v1/completions")
    has_counters = has_metrics and info.engine in ("vllm", "llama-cpp")
    return Served(info, route, has_counters)


async def read_counters(client: Client, served: Served) -> Counts | None:
    """The server's counters of speculation since its start; None where it has none."""
    if not served.has_counters:
        return None
    answer = await client.fetch("/metrics")
    if answer.status != 200:
        return None
    return count_metrics(parse_exposition(answer.body.decode("utf-8", "replace")))


def acceptance_of_cell(
    requests: Sequence[Request], counters: Counts | None, served: Served
) -> Acceptance:
    """Acceptance of what was measured, by the requests' own counters, else by the server's."""
    if (why := served.info.simulated) is not None:
        return Acceptance(None, None, why_not=f"the server's acceptance is simulated: {why}")
    if served.info.speculates is False:
        return Acceptance(None, None, why_not="the server does not speculate")
    own = [r.counts for r in requests if r.counts is not None and not r.is_warm_up]
    if own:
        proposed = [one.proposed for one in own if one.proposed is not None]
        whole = Counts(
            sum(one.steps for one in own),
            sum(proposed) if len(proposed) == len(own) else None,
            sum(one.accepted for one in own),
        )
        return acceptance_of(whole, "the requests' own counters")
    if counters is not None:
        return acceptance_of(counters, "the server's counters")
    return Acceptance(None, None, why_not="the server shows no counters of speculation")
