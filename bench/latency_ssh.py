"""Time from a crash line on a host behind SSH to the printed verdict, beside one round trip."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.latency import (
    CRASH,
    LIMIT_S,
    PAUSES_S,
    READER,
    START,
    START_LIMIT_S,
    Observer,
    Reaction,
    quantile,
)
from bench.sshhost import best_kind, ssh_host
from firedup.host.address import parse_host
from firedup.host.link import open_agent

if TYPE_CHECKING:
    from bench.result import Result

NAME = "fu-latency"


def main(argv: list[str]) -> Result:
    """Crash a watched log again and again, here and behind SSH, and time empty calls there."""
    parser = argparse.ArgumentParser(prog="./dev bench latency-ssh", description=__doc__)
    parser.add_argument("--lines", type=int, default=60, help="crash lines on each host")
    parser.add_argument("--calls", type=int, default=200, help="round trips through the agent")
    asked = parser.parse_args(argv)
    kind = best_kind()
    if kind is None:
        sys.exit("bench latency-ssh: the OpenSSH client is not installed")
    with tempfile.TemporaryDirectory() as name, ssh_host(Path(name), kind, NAME):
        folder = Path(name)
        env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        trips_ns = asyncio.run(_call(asked.calls // 2))
        # In turn, so that what disturbs one disturbs the other.
        series: dict[str, list[Reaction]] = {"local": [], "ssh": []}
        for number in range(2):
            for host, found in series.items():
                log = folder / f"{host}-{number}.log"
                words = ("--host", NAME) if host == "ssh" else ()
                found.extend(_crash(log, env, words, asked.lines // 2))
        trips_ns += asyncio.run(_call(asked.calls - asked.calls // 2))
    return _conclude(kind, trips_ns, series["local"], series["ssh"])


async def _call(count: int) -> list[int]:
    """Nanoseconds of calls that the agent answers at once."""
    found = []
    async with open_agent(parse_host(NAME)) as agent:
        for _ in range(count):
            begun_ns = time.monotonic_ns()
            await agent.call("clock")
            found.append(time.monotonic_ns() - begun_ns)
    return found


def _crash(log: Path, env: dict[str, str], where: tuple[str, ...], count: int) -> list[Reaction]:
    """One `watch` over a log in which a server starts and crashes again and again."""
    program = str(Path(sys.executable).with_name("firedup"))
    words = [program, "watch", "--json", "--until", "exit", *where, "--engine", "sglang", str(log)]
    found = []
    with log.open("ab", buffering=0) as file:
        file.write(START)
        with (
            # The process that a watch looks for: it only holds the log open.
            subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file) as holder,
            subprocess.Popen(
                [sys.executable, "-S", "-c", READER, str(log)], stdout=subprocess.PIPE
            ) as reader,
            subprocess.Popen(words, env=env, stdout=subprocess.PIPE) as client,
        ):
            try:
                observer = Observer(reader, client)
                observer.wait_for(observer.reader, b"here", START_LIMIT_S)
                observer.wait_for(observer.client, b'"stage"', START_LIMIT_S)
                for number in range(count):
                    time.sleep(PAUSES_S[number % len(PAUSES_S)])
                    begun_ns = time.monotonic_ns()
                    file.write(CRASH)
                    found.append(observer.react(begun_ns))
                    file.write(START)
                    observer.wait_for(observer.client, b'"verdict": "loading"', LIMIT_S)
            finally:
                for process in (client, reader, holder):
                    process.kill()
    return found


def _conclude(
    kind: str, trips_ns: list[int], local: list[Reaction], remote: list[Reaction]
) -> Result:
    series = {
        "round trip": [one / 1e6 for one in trips_ns],
        "local, added": [one.added_ms for one in local],
        "ssh, added": [one.added_ms for one in remote],
    }
    rows = [f"over {kind}", f"{'ms':24}{'p50':>8}{'p90':>8}{'p99':>8}{'most':>8}"]
    figures: dict[str, float | int | str | bool | None] = {"lines": len(remote)}
    for name, values in series.items():
        points = [quantile(values, share) for share in (0.5, 0.9, 0.99, 1.0)]
        rows.append(f"{name:24}" + "".join(f"{point:8.2f}" for point in points))
        key = name.replace(", ", "_").replace(" ", "_")
        for label, point in zip(("p50", "p90", "p99"), points, strict=False):
            figures[f"{key}_{label}_ms"] = round(point, 2)
    medians = [quantile(values, 0.5) for values in series.values()]
    bar_ms = medians[0] + medians[1]
    rows.append(f"{'round trip and local':24}{bar_ms:8.2f}")
    return {
        "figures": figures,
        "bars": {"ssh_added_p50_ms": round(bar_ms, 2)},
        "met": medians[2] <= bar_ms,
        "table": "\n".join(rows),
    }
