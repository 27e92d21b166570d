"""Many logs watched by one client: what it costs, and the client itself as a program."""

from __future__ import annotations

import asyncio
import cProfile
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from firedup.core.log.block import OPENERS
from firedup.core.rule import Matcher
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent
from firedup.profile.cache import Cache
from firedup.profile.load import load_catalogue
from firedup.profile.match import build_matcher
from firedup.profile.schema import Catalogue
from firedup.session.attend import watch_log
from firedup.session.watch import Watching

# Holds all logs open and says a line in each of them every second.
SERVER = """
import json, sys, time
folder, count = json.loads(sys.argv[1])
files = [open("%s/%d.log" % (folder, number), "ab", buffering=0) for number in range(count)]
for file in files:
    file.write(b"[2026-11-29 18:00:00] server_args=ServerArgs(model_path='/srv/m', tp_size=1)\\n")
number = 0
while True:
    time.sleep(1)
    number += 1
    for file in files:
        file.write(b"[2026-11-29 18:00:%02d TP0] Load weight begin. avail mem=%d GB\\n"
                   % (number % 60, number))
"""
AT_ONCE = 8  # watches that may begin at the same time
UNTIL_KILLED = Watching(until="exit", timeout_s=None, lost_after_s=None)


async def watch_all(logs: list[str]) -> None:
    """Watch every log; one line on standard output when all of them are watched."""
    cache = Cache.of_user(os.environ)
    catalogue = load_catalogue(cache=cache)
    matcher = build_matcher(catalogue, "sglang", openers=OPENERS, blobs=cache)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, sys.exit)
    gate = asyncio.Semaphore(AT_ONCE)
    missing = set(logs)

    async def watch(agent: Agent, log: str, catalogue: Catalogue, matcher: Matcher) -> None:
        await gate.acquire()
        async for _ in watch_log(agent, catalogue, matcher, log, UNTIL_KILLED, engine="sglang"):
            if log in missing:
                missing.remove(log)
                gate.release()
                if not missing:
                    print("all", flush=True)

    async with open_agent(local_host()) as agent, asyncio.TaskGroup() as group:
        for log in logs:
            group.create_task(watch(agent, log, catalogue, matcher))


def measure_many(count: int, seconds: float) -> tuple[float, float]:
    """Shares of a core of the client and of its agent while each log gets a line a second."""
    with tempfile.TemporaryDirectory() as name:
        logs = [f"{name}/{number}.log" for number in range(count)]
        # The server; its logs are its arguments' business, since a command line can be too long.
        words = [sys.executable, "-c", SERVER, json.dumps([name, count])]
        with (
            subprocess.Popen(words, stdout=subprocess.PIPE) as server,
            subprocess.Popen(
                [sys.executable, "-m", "bench.many", *logs], stdout=subprocess.PIPE
            ) as client,
        ):
            try:
                assert client.stdout is not None
                if not client.stdout.readline():
                    sys.exit("bench agent: the client of many logs ended")
                children = Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text()
                pids = (client.pid, int(children.split()[0]))
                begun, begun_s = [cpu_s(pid) for pid in pids], time.monotonic()
                time.sleep(seconds)
                ended, ended_s = [cpu_s(pid) for pid in pids], time.monotonic()
            finally:
                client.terminate()
                server.kill()
    first, second = (
        (after - before) / (ended_s - begun_s) for before, after in zip(begun, ended, strict=True)
    )
    return first, second


def cpu_s(pid: int) -> float:
    """CPU time of a process's first thread, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    if profile := os.environ.get("BENCH_PROFILE"):
        cProfile.run("asyncio.run(watch_all(sys.argv[1:]))", profile)
    else:
        asyncio.run(watch_all(sys.argv[1:]))
