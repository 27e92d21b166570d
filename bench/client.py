"""CPU time per streamed event of the probe's client against a minimal one, and its exactness."""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import firedup.demo
from bench.measure import measure, own_cpu_s
from bench.minimal import MinimalClient
from bench.peers import PEERS, measure_peer, prepare_peer
from firedup.core.measure.completion import Generation, build_body
from firedup.core.measure.prompt import single
from firedup.probe.call import Call, make_head
from firedup.probe.client import Client
from firedup.probe.url import parse_url

if TYPE_CHECKING:
    from bench.result import Figure, Result

BAR_RATIO, BAR_START_S, BAR_TIME_MS = 1.15, 0.5, 2.0
ROUTE = "/v1/completions"
# Peers want one; any will do.
TOKENIZER = Path(firedup.demo.__file__).parent / "vllm_model/t8"
Run = Callable[[int, int, int, int], Coroutine[None, None, int]]
START = """
import asyncio
from firedup.probe.call import Call
from firedup.probe.client import Client
from firedup.probe.url import parse_url

async def main():
    async with Client(parse_url("http://127.0.0.1:%d")) as client:
        request = await client.complete(Call("/v1/completions", b'{"max_tokens": 1}'))
        assert request.error is None, request.error

asyncio.run(main())
"""


def main(argv: list[str]) -> Result:
    """Ask the same of both clients in turn, many short times, and compare the medians."""
    parser = argparse.ArgumentParser(prog="./dev bench client", description=__doc__)
    parser.add_argument("--streams", default="1,8,32,128", help="default %(default)s")
    parser.add_argument("--rounds", type=int, default=15, help="of each (default %(default)s)")
    parser.add_argument("--tokens", type=int, default=256, help="per answer (default %(default)s)")
    parser.add_argument("--events", type=int, default=4000, help="per round, at least")
    parser.add_argument(
        "--peer", action="append", default=[], choices=sorted(PEERS),
        help="measure this other client too, at each number of streams",
    )  # fmt: skip
    parser.add_argument(
        "--peer-home", type=Path, help="folder in which peers are, or will be, installed"
    )
    asked = parser.parse_args(argv)
    if asked.peer and asked.peer_home is None:
        parser.error("--peer needs --peer-home: an environment of a peer takes up to 6 GB")
    every = [int(word) for word in asked.streams.split(",")]
    figures: dict[str, Figure] = {}
    rows = [f"{'streams':>7}  {'CPU µs/event: minimal':>21}  firedup  ratio"]
    with serving() as port:
        for streams in every:
            rounds = max(1, asked.events // (streams * asked.tokens))
            costs = _in_turn(port, streams, rounds, asked.tokens, asked.rounds)
            figures |= _figures(costs, str(streams))
            rows.append(_row(costs, f"{streams:7}"))
        start = [sys.executable, "-c", START % port]
        start_s = statistics.median(measure(start).cpu_s for _ in range(min(5, asked.rounds)))
        for name in asked.peer:
            found = _peer(name, asked.peer_home, port, every)
            figures |= {f"{name}_us_{streams}": cost for streams, cost in found.items()}
            said = ", ".join(f"{cost or '-'} µs at {streams}" for streams, cost in found.items())
            rows.append(f"{name}: {said or 'could not be installed'}")
    ratio = max(float(figures[name] or 0) for name in figures if name.startswith("ratio_"))
    with serving("--events-per-write", "16") as port:
        rounds = max(1, asked.events // (8 * asked.tokens))
        costs = _in_turn(port, 8, rounds, asked.tokens, asked.rounds)
        figures |= {f"bursts_{name}": value for name, value in _figures(costs, "8").items()}
        rows.append(_row(costs, "      8") + "  (16 events in each write)")
    wrong, error_ms = _exactness(min(20, asked.rounds * 2))
    figures |= {
        "ratio": ratio,
        "start_cpu_s": round(start_s, 3),
        "wrong_counts": wrong,
        "time_error_ms": round(error_ms, 3),
    }
    rows.append(f"start-up with one request: {start_s:.2f} s CPU")
    rows.append(
        f"answers with a wrong count: {wrong}; median error of a duration: {error_ms:.2f} ms"
    )
    if not asked.peer:
        rows.append(f"not measured without --peer: {', '.join(sorted(PEERS))}")
    bars: dict[str, Figure] = {
        "ratio": BAR_RATIO,
        "start_cpu_s": BAR_START_S,
        "wrong_counts": 0,
        "time_error_ms": BAR_TIME_MS,
    }
    met = all(float(figures[name] or 0) <= float(bar or 0) for name, bar in bars.items())
    return {"figures": figures, "bars": bars, "met": met, "table": "\n".join(rows)}


def _peer(name: str, home: Path, port: int, every: Sequence[int]) -> dict[int, float | None]:
    """CPU µs per event of a peer by number of streams."""
    programs = prepare_peer(name, home.absolute())
    if programs is None:
        return {}
    return {streams: measure_peer(name, programs, port, TOKENIZER, streams) for streams in every}


def _figures(costs: dict[str, list[float]], name: str) -> dict[str, Figure]:
    middle = {client: statistics.median(found) for client, found in costs.items()}
    return {
        f"minimal_us_{name}": round(middle["minimal"], 2),
        f"firedup_us_{name}": round(middle["firedup"], 2),
        f"ratio_{name}": round(_ratio(costs), 3),
    }


def _row(costs: dict[str, list[float]], name: str) -> str:
    minimal, firedup = (statistics.median(costs[client]) for client in ("minimal", "firedup"))
    return f"{name}  {minimal:21.1f}  {firedup:7.1f}  {_ratio(costs):5.2f}"


def _ratio(costs: dict[str, list[float]]) -> float:
    """The median over the rounds, since what disturbs one client then disturbs the other too."""
    pairs = zip(costs["firedup"], costs["minimal"], strict=True)
    return statistics.median(firedup / minimal for firedup, minimal in pairs)


@contextmanager
def serving(*flags: str) -> Iterator[int]:
    """The port of a server in a process of its own."""
    argv = [sys.executable, "-m", "bench.sse_server", *flags]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _in_turn(
    port: int, streams: int, rounds: int, tokens: int, times: int
) -> dict[str, list[float]]:
    """CPU µs per event of each client; a round before the first counted one warms up."""
    runs: dict[str, Run] = {"minimal": _run_minimal, "firedup": _run_firedup}
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for count in range(times + 1):
        for name, run in runs.items():
            before_s = own_cpu_s()
            events = asyncio.run(run(port, streams, rounds, tokens))
            if count:
                costs[name].append((own_cpu_s() - before_s) / events * 1e6)
    return costs


def _body(tokens: int) -> bytes:
    prompt = single("bench", "bench", "The quick", "bench")
    how = Generation(tokens, streams=True)
    return build_body(ROUTE, "bench", prompt.messages, prompt.text, how).encode()


async def _run_minimal(port: int, streams: int, rounds: int, tokens: int) -> int:
    loop, body = asyncio.get_running_loop(), _body(tokens)
    request = make_head(parse_url(f"127.0.0.1:{port}"), "POST", ROUTE, len(body), None) + body
    made = [await loop.create_connection(MinimalClient, "127.0.0.1", port) for _ in range(streams)]

    async def ask(client: MinimalClient) -> int:
        events = 0
        for _ in range(rounds):
            came, counted = await client.ask(request)
            assert counted == tokens, counted
            events += len(came)
        return events

    events = await asyncio.gather(*(ask(client) for _, client in made))
    for transport, _ in made:
        transport.close()
    return sum(events)


async def _run_firedup(port: int, streams: int, rounds: int, tokens: int) -> int:
    call = Call(ROUTE, _body(tokens))
    async with Client(parse_url(f"127.0.0.1:{port}")) as client:
        await client.open(streams)

        async def ask() -> int:
            events = 0
            for _ in range(rounds):
                request = await client.complete(call)
                assert (request.error, request.tokens) == (None, tokens), request.error
                events += request.events
            return events

        return sum(await asyncio.gather(*(ask() for _ in range(streams))))


def _exactness(answers: int) -> tuple[int, float]:
    """Wrong counts, and the median error of the time from first to last piece, by the ledger."""
    with serving("--tokens-per-event", "3", "--pause-ms", "2") as port:
        return asyncio.run(_ask_exactly(port, answers))


async def _ask_exactly(port: int, answers: int) -> tuple[int, float]:
    tokens = 100
    async with Client(parse_url(f"127.0.0.1:{port}")) as client:
        found = [await client.complete(Call(ROUTE, _body(tokens))) for _ in range(answers)]
        ledger = json.loads((await client.fetch("/ledger")).body)
    errors, wrong = [], 0
    for request, (first_ns, last_ns, sent) in zip(found, ledger, strict=True):
        wrong += request.tokens != sent or request.events != -(-tokens // 3)
        errors.append(abs((request.last_ns or 0) - (request.first_ns or 0) - last_ns + first_ns))
    return wrong, statistics.median(errors) / 1e6
