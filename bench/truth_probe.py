"""What the probe says of a server that wrote down what it did; a part of the bench `truth`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.completion import Generation
from firedup.core.measure.latency import time_pieces, token_gaps_ns
from firedup.core.measure.measured import Cell, Load, Request
from firedup.core.measure.prompt import single
from firedup.core.measure.truth import check_truth
from firedup.probe.call import make_call
from firedup.probe.client import Client
from firedup.probe.url import parse_url
from firedup.session.probe import Probed, probe
from firedup.session.probeplan import ProbeOrder
from firedup.session.probing import WARM_UP_EACH
from firedup.session.side import Opening

if TYPE_CHECKING:
    from bench.result import Figure

MS = 1_000_000
SHARE, LEAST_NS = 0.01, 2 * MS  # of a time, or so much, may a measured one be wrong
BARS: dict[str, Figure] = {
    "tokens_wrong": 0,
    "acceptance_wrong": 0,
    "replayed_times_wrong": 0,
    "unsaid": 0,
    "time_error_p95": 1.0,
}


@dataclass(slots=True)
class Tally:
    """Answers that were compared with the ledger, and what was wrong.

    `errors` are errors of times, each as a share of what is allowed. `unsaid`: things that the
    probe had to say and did not.
    """

    requests: int = 0
    tokens_wrong: int = 0
    acceptance_wrong: int = 0
    errors: list[float] = field(default_factory=list)
    unsaid: int = 0
    rows: list[str] = field(default_factory=list)

    def expect(self, *, is_so: bool, what: str) -> None:
        """Note what was not said."""
        if not is_so:
            self.unsaid += 1
            self.rows.append(f"not said: {what}")


def measure_probe(requests: int) -> tuple[dict[str, Figure], list[str]]:
    """The figures of DESIGN's bar for the client, and a table of them."""
    tally = Tally()
    for engine in ("vllm", "sglang"):
        asyncio.run(_with_books(engine, requests, tally))
    asyncio.run(_with_restart(tally))
    asyncio.run(_with_others(tally))
    errors = sorted(tally.errors)
    figures: dict[str, Figure] = {
        "probe_requests": tally.requests,
        "tokens_wrong": tally.tokens_wrong,
        "acceptance_wrong": tally.acceptance_wrong,
        "replayed_times_wrong": _replay(),
        "unsaid": tally.unsaid,
        "time_error_p50": round(errors[len(errors) // 2], 3),
        "time_error_p95": round(errors[int(0.95 * len(errors))], 3),
        "time_error_max": round(errors[-1], 3),
    }
    tally.rows += [f"{name.replace('_', ' '):24}{value}" for name, value in figures.items()]
    return figures, tally.rows


async def _with_books(engine: str, requests: int, tally: Tally) -> None:
    """One stream and eight, after others had warmed the server up; everything must agree."""
    with serving("--engine", engine) as port:
        await _ask_as_others(port, 5)
        order = ProbeOrder(
            f"127.0.0.1:{port}", None, (Load(1), Load(8)), requests=requests, max_tokens=96
        )
        found = await _probe(order)
        books = {entry["number"]: entry for entry in await _read_ledger(port)}
    for cell in found.candidate.cells:
        given = [books[number_of(request)] for request in cell.requests]
        for request, entry in zip(cell.requests, given, strict=True):
            _compare(request, entry, tally)
        kept = [number_of(request) for request in cell.kept]
        if engine == "vllm" and cell.load.concurrency > 1:
            # Counters of all streams also rise for what is taken for warm-up afterwards.
            asked = sorted(number_of(request) for request in cell.requests)
            kept = asked[WARM_UP_EACH * cell.load.concurrency :]
        expected = _sum([books[number] for number in kept])
        _compare_acceptance(cell, expected, tally)


def _compare(request: Request, entry: dict[str, Any], tally: Tally) -> None:
    tally.requests += 1
    is_right = request.error is None and request.events == entry["events"]
    tally.tokens_wrong += not (is_right and request.tokens == entry["tokens"])
    if request.first_ns is None or request.last_ns is None:
        return
    lasted_ns = entry["last_ns"] - entry["first_ns"]
    error_ns = abs(request.last_ns - request.first_ns - lasted_ns)
    tally.errors.append(error_ns / max(SHARE * lasted_ns, LEAST_NS))
    began_ns = request.begun_ns
    error_ns = abs(request.first_ns - entry["first_ns"])
    tally.errors.append(error_ns / max(SHARE * (entry["first_ns"] - began_ns), LEAST_NS))


def _compare_acceptance(cell: Cell, expected: Counts, tally: Tally) -> None:
    found = cell.acceptance
    is_right = found is not None and (
        (found.steps, found.accepted, found.proposed)
        == (expected.steps, expected.accepted, expected.proposed)
    )
    if not is_right:
        tally.acceptance_wrong += 1
        tally.rows.append(f"load {cell.load.word}: {found}, not {expected}")


async def _with_restart(tally: Tally) -> None:
    """One of two ranks begins anew in the middle: no acceptance, and why."""
    with serving("--restart-after", "30", "--pause-ms", "1") as port:
        order = ProbeOrder(f"127.0.0.1:{port}", None, (Load(8),), requests=32, max_tokens=32)
        found = await _probe(order)
    acceptance = found.candidate.cells[0].acceptance
    is_none = acceptance is not None and acceptance.length is None
    why_not = acceptance.why_not if acceptance else None
    tally.expect(is_so=is_none and "began anew" in str(why_not), what="the counters began anew")
    ids = {finding.id for finding in check_truth(found.candidate)}
    tally.expect(is_so="server-restarted" in ids, what="the server restarted")


async def _with_others(tally: Tally) -> None:
    """Somebody else asks at the same time."""
    with serving("--pause-ms", "1") as port:
        order = ProbeOrder(f"127.0.0.1:{port}", None, (Load(4),), requests=24, max_tokens=32)
        async with asyncio.TaskGroup() as group:
            probing = group.create_task(_probe(order))
            others = group.create_task(_ask_as_others(port, 400))
            await asyncio.wait((probing,))
            others.cancel()
    ids = {finding.id for finding in check_truth(probing.result().candidate)}
    tally.expect(is_so="other-load" in ids, what="others were answered too")
    tally.expect(is_so="several-tokens-an-event" in ids, what="several tokens an event")


def _replay() -> int:
    """Times of a stream whose every stamp is given; how many figures of it are wrong."""
    pieces = [(1, 0), (3, 30), (1, 42), (6, 90), (2, 101)]
    at_ns = [ms * MS for _, ms in pieces]
    totals = [sum(tokens for tokens, _ in pieces[: n + 1]) for n in range(len(pieces))]
    timing = time_pieces(at_ns, totals)
    assert timing is not None
    wrong = int((timing.first_ns, timing.last_ns, timing.events) != (0, 101 * MS, 5))
    wrong += (timing.first_tokens, timing.most_tokens, timing.longest_gap_ns) != (1, 6, 48 * MS)
    gaps = [10 * MS] * 3 + [12 * MS] + [8 * MS] * 6 + [5_500_000] * 2
    wrong += list(token_gaps_ns(at_ns, totals) or ()) != gaps
    request = Request("a", "chat", -5 * MS, timing.first_ns, timing.last_ns, 1, 13, 5, 1)
    wrong += request.tpot_s != 0.101 / 12
    return wrong + (request.ttft_s != 0.005)


def number_of(request: Request) -> int:
    """The number of its answer in the ledger."""
    return int(request.text.partition(":")[0])


def _sum(entries: list[dict[str, Any]]) -> Counts:
    steps = sum(entry["steps"] for entry in entries)
    return Counts(steps, 5 * steps, sum(entry["accepted"] for entry in entries))


async def _probe(order: ProbeOrder) -> Probed:
    with tempfile.TemporaryDirectory() as folder:
        return await probe(order, Opening(), Path(folder), tell=lambda _: None)


async def _ask_as_others(port: int, count: int) -> None:
    async with Client(parse_url(f"http://127.0.0.1:{port}")) as client:
        generation = Generation(48, streams=True)
        for number in range(count):
            asked = make_call(
                "/v1/completions",
                "ledger",
                single(f"o-{number}", "chat", "Hello", ""),
                generation,
            )
            await client.complete(asked)


async def _read_ledger(port: int) -> list[dict[str, Any]]:
    async with Client(parse_url(f"http://127.0.0.1:{port}")) as client:
        answer = (await client.fetch("/ledger")).json
    assert isinstance(answer, list)
    return answer


@contextmanager
def serving(*words: str) -> Iterator[int]:
    """A ledger in a process of its own; its port."""
    command = [sys.executable, "-m", "bench.ledger", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()
