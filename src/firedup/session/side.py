"""From the word for a server, an address or a run, to a side of a probe that can be asked."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from firedup.core.measure.completion import Generation
from firedup.core.measure.measured import Conditions
from firedup.core.measure.simulated import find_simulation
from firedup.host.address import parse_host
from firedup.probe.asker import Asker
from firedup.probe.client import Client
from firedup.probe.key import ApiKey
from firedup.probe.served import Served, ask_served
from firedup.probe.tls import Trust
from firedup.probe.url import parse_url
from firedup.session.asking import open_asker, open_far_asker
from firedup.session.open import open_host
from firedup.session.probing import Side
from firedup.session.registry import Run, find_run

_ADDRESS = re.compile(r"\w+://.*|[\w.\-]+:\d+(/.*)?|\[[0-9a-fA-F:]+\]:\d+(/.*)?")
# Environment that changes how fast the same server is.
_TUNING = re.compile(
    r"(NCCL|CUDA|TORCH|TRITON|SGLANG|SGL|VLLM|LLAMA|GGML|OMP|MKL|FLASHINFER|PYTORCH|UCX)_.*"
    r"|CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS"
)


@dataclass(frozen=True, slots=True)
class Opening:
    """How servers are reached: the `host` of a run, the key, and whose certificates are trusted."""

    host: str = "local"
    key: ApiKey | None = None
    trust: Trust | None = None
    engine: str | None = None
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class OpenedSide:
    """A side, with the run behind it where that is known."""

    side: Side
    url: str
    host: str = "local"
    run: Run | None = None


def is_address(text: str) -> bool:
    """Whether `text` is a server's address; else it names a run."""
    return _ADDRESS.fullmatch(text) is not None


@asynccontextmanager
async def open_side(
    text: str, name: str, opening: Opening, generation: Generation
) -> AsyncIterator[OpenedSide]:
    """The server that `text` names, asked what it is. UsageError when it cannot be asked.

    With another host it is asked by a client there, an address as that host understands it. Where
    none can run it is asked through a tunnel, which its times then include.
    """
    async with AsyncExitStack() as stack:
        reached = await _reach(stack, text, opening)
        run, client = reached.run, reached.client
        engine = opening.engine or (run.spec.engine if run else None)
        has_key = opening.key is not None
        served = _with_simulation(await ask_served(client, engine=engine, has_key=has_key), run)
        conditions = conditions_of(served, generation, run, host=reached.host, through=reached.by)
        yield OpenedSide(Side(name, client, served, conditions), str(client.url), reached.host, run)


@dataclass(frozen=True, slots=True)
class _Reached:
    """Who asks a server, by which way, and from which host."""

    client: Asker
    by: str = "direct"
    host: str = "local"
    run: Run | None = None


async def _reach(stack: AsyncExitStack, text: str, opening: Opening) -> _Reached:
    key, trust = opening.key, opening.trust
    if is_address(text) and parse_host(opening.host).is_local:
        near = Client(parse_url(text), key=key, trust=trust)
        return _Reached(await stack.enter_async_context(near))
    agent = await stack.enter_async_context(open_host(opening.host))
    host = agent.host.name
    run = None if is_address(text) else await find_run(agent, text)
    if run is None:
        asking = open_far_asker(agent, parse_url(text), key=key, trust=trust, say=opening.say)
    else:
        asking = open_asker(agent, run, key=key, trust=trust, say=opening.say)
    client, by = await stack.enter_async_context(asking)
    return _Reached(client, by, host, run)


def _with_simulation(served: Served, run: Run | None) -> Served:
    """What the server's command or environment says of made-up acceptance, where they are known."""
    if served.info.simulated is not None:
        return served
    environment = run.manifest.env if run else None
    why = find_simulation(run.manifest.argv if run else served.info.launch, environment)
    return replace(served, info=replace(served.info, simulated=why))


def conditions_of(
    served: Served, generation: Generation, run: Run | None, *, host: str, through: str
) -> Conditions:
    """What a measurement of this server will hold for. An address does not tell the `host`."""
    found = Conditions(
        engine=served.info.engine,
        version=served.info.version,
        model=served.model,
        flags=served.info.launch,
        drafter=served.info.drafter,
        draft_tokens=served.info.draft_tokens,
        speculates=served.info.speculates,
        adapts=served.info.adapts,
        max_tokens=generation.max_tokens,
        ignores_eos=generation.ignores_eos,
        seed=generation.seed or 0,
        client=through,
    )
    if run is None:
        return found
    manifest = run.manifest
    return replace(
        found,
        engine=run.spec.engine or found.engine,
        model=run.spec.model or found.model,
        host=host,
        flags=manifest.argv,
        environment={k: v for k, v in manifest.env.items() if _TUNING.fullmatch(k)},
        drafter=run.spec.draft or found.drafter,
    )
