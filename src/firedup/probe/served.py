"""Asks a running server what it is, and its counters before and after a load."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from firedup.core.error import HostError, UsageError
from firedup.core.measure.acceptance import Source, acceptance_of, sum_counts
from firedup.core.measure.counter import Look, Rise, read_look, rise_between
from firedup.core.measure.exposition import parse_exposition
from firedup.core.measure.measured import Request
from firedup.core.measure.serverinfo import (
    ServerInfo,
    find_speculation,
    read_llama,
    read_models,
    read_sglang,
    read_slots,
    read_vllm,
)
from firedup.core.measure.simulated import SIMULATED
from firedup.core.model import Acceptance
from firedup.probe.asker import Asker
from firedup.probe.client import Fetched

_OK, _FORBIDDEN = 200, (401, 403)
_ROUTES = {"sglang": "/generate", "vllm": "/v1/completions", "llama-cpp": "/v1/completions"}
_METRICS = "/metrics"
_PATHS = ("/v1/models", "/server_info", "/version", "/props", "/slots", _METRICS)
# Why an engine shows no counters, and what would make it.
_HIDDEN = {
    "sglang": "its answers have no counters of speculation",
    "vllm": "its metrics route does not hold counters of speculation",
    "llama-cpp": "its metrics route is off; start it with --metrics",
}


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers. `route` is the one to ask for completions.

    `has_counters`: its metrics can be looked at. `counts_requests`: its answers have the counters
    of each request, so that its metrics need not be looked at between two of them.
    """

    info: ServerInfo
    route: str
    has_counters: bool = False
    counts_requests: bool = False

    @property
    def model(self) -> str | None:
        """The name by which completions are asked for."""
        return self.info.model


async def ask_served(client: Asker, *, engine: str | None = None, has_key: bool = False) -> Served:
    """Who answers at the address of `client`; `engine` is believed where it does not say itself.

    HostError when nobody does, UsageError when it wants a key that it did not get; `has_key` is
    whether it got one.
    """
    answers = dict(zip(_PATHS, await asyncio.gather(*map(client.fetch, _PATHS)), strict=True))
    models = answers["/v1/models"]
    if all(answer.status is None for answer in answers.values()):
        raise HostError(f"nobody answers at {client.url}", evidence=models.error)
    # llama.cpp lists its model to anybody, and keeps the rest to itself.
    _refuse_without_key(client, (models, answers["/props"]), has_key=has_key)
    named = read_models(models.json)
    sglang = answers["/server_info"]
    if sglang.status != _OK and named.engine in ("sglang", None):
        sglang = await client.fetch("/get_server_info")
    own = (
        read_sglang(sglang.json)
        or read_llama(answers["/props"].json)
        or (read_vllm(answers["/version"].json) if named.engine in ("vllm", None) else None)
        or named
    )
    info = replace(own, engine=own.engine or named.engine or engine, model=named.model or own.model)
    metrics = answers[_METRICS]
    has_metrics = metrics.status == _OK
    if has_metrics and info.speculates is None:
        samples = parse_exposition(metrics.body.decode("utf-8", "replace"))
        speculates, tokens = find_speculation(samples)
        info = replace(info, speculates=speculates, draft_tokens=info.draft_tokens or tokens)
    if info.engine == "llama-cpp" and info.speculates is None:
        info = replace(info, speculates=read_slots(answers["/slots"].json))
    route = _ROUTES.get(info.engine or "", "/v1/completions")
    return Served(info, route, has_metrics, counts_requests=route.endswith("/generate"))


def _refuse_without_key(client: Asker, answers: Iterable[Fetched], *, has_key: bool) -> None:
    """UsageError when one of these was refused for want of the right key."""
    refused = next((one for one in answers if one.status in _FORBIDDEN), None)
    if refused is not None and has_key:
        raise UsageError(
            f"{client.url} refused the API key that it was given",
            evidence=refused.error,
            todo="Look at the variable that --api-key-env names: is it this server's key?",
        )
    if refused is not None:
        raise UsageError(
            f"{client.url} wants an API key",
            evidence=refused.error,
            todo="Put it into an environment variable and name that: --api-key-env VARIABLE",
        )


async def take_look(client: Asker, served: Served) -> Look | None:
    """The server's counters since its start; None where they cannot be looked at."""
    if not served.has_counters:
        return None
    answer = await client.fetch(_METRICS)
    if answer.status != _OK:
        return None
    return read_look(parse_exposition(answer.body.decode("utf-8", "replace")))


def rise_of(
    before: Look | None, after: Look | None, served: Served, asked: Sequence[Request] = ()
) -> Rise | None:
    """By how much the counters rose while `asked` were answered; None for a server without any."""
    if not served.has_counters:
        return None
    if before is None or after is None:
        return Rise(why_not=f"the server's {_METRICS} did not answer each time")
    tokens = [request.tokens for request in asked]
    is_known = not any(request.error or request.tokens is None for request in asked)
    own = sum(one or 0 for one in tokens) if is_known else None
    return replace(rise_between(before, after), own=own)


def acceptance_of_cell(
    requests: Sequence[Request], counters: Rise | None, served: Served
) -> Acceptance:
    """Acceptance of what was measured, by the requests' own counters, else by the server's.

    None with the reason where the server cannot say, or where what it says is made up.
    """
    if (why := served.info.simulated) is not None:
        return Acceptance(None, None, why_not=f"{SIMULATED}: {why}")
    if served.info.speculates is False:
        return Acceptance(None, None, why_not="the server does not speculate")
    kept = [one for one in requests if one.error is None and not one.is_warm_up]
    own = [one.counts for one in kept if one.counts is not None]
    whole = sum_counts(own)
    if whole is not None and (served.counts_requests or len(own) == len(kept)):
        return acceptance_of(whole, Source.REQUESTS if served.counts_requests else Source.BETWEEN)
    if counters is not None and counters.why_not is not None:
        return Acceptance(None, None, why_not=counters.why_not)
    if counters is not None and counters.counts is not None:
        return acceptance_of(counters.counts, Source.SERVER)
    if counters is not None and served.info.engine == "llama-cpp":
        # Some versions have counters of speculation from the first draft on only.
        return Acceptance(None, None, why_not="not one draft was verified")
    why_not = _HIDDEN.get(served.info.engine or "", "the server shows no counters of speculation")
    return Acceptance(None, None, why_not=why_not)
