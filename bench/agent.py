"""What agent, keeper and an idle link cost, and one client that watches many logs."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.many import measure_many
from bench.sshhost import best_kind, ssh_host
from firedup.testing.program import make_program
from firedup.testing.script import Http, Script, line

if TYPE_CHECKING:
    from bench.result import Result

BAR_SHARE, BAR_MIB, BAR_CORES = 0.5, 30.0, 0.5
LIMIT_S = 60.0
MIB = 1 << 20
# A server that loads for ever: it talks now and then, and its health route says "not yet".
SPEECH = tuple(
    line(at, f"[2026-11-29 18:00:{at % 60:02d} TP0] Load weight begin. avail mem={at} GB")
    for at in range(0, 600, 10)
)

LOADING = Http(health=((0.0, 503),))
LINK_HOST = "fu-link"


@dataclass(frozen=True, slots=True)
class Reading:
    """What one process has used so far, and holds now."""

    cpu_s: float
    rss_bytes: int
    pss_bytes: int | None  # each page divided by those who share it; None where it may not be read


def main(argv: list[str]) -> Result:
    """Launch a server of many processes, then measure keeper and agent while it is watched."""
    parser = argparse.ArgumentParser(prog="./dev bench agent", description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0, help="default %(default)s")
    parser.add_argument("--tree", type=int, default=20, help="processes of the server")
    parser.add_argument("--others", type=int, default=3000, help="other processes on the host")
    parser.add_argument("--link-seconds", type=float, default=20.0, help="0: no link measured")
    parser.add_argument("--watched", type=int, default=200, help="logs of one client; 0: none")
    asked = parser.parse_args(argv)
    more: dict[str, float | None] = {"link_bytes_per_hour": None}
    if asked.link_seconds and (kind := best_kind()) is not None:
        more["link_bytes_per_hour"] = _measure_link(kind, asked.link_seconds)
    if asked.watched:
        client, agent_share = measure_many(asked.watched, min(asked.seconds, 10.0))
        more |= {"watched_logs": asked.watched, "watched_client_cores": client}
        more["watched_agent_cores"] = agent_share
    with tempfile.TemporaryDirectory() as name, _crowd(asked.others):
        folder = Path(name)
        env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        with _server(folder, env, asked.tree) as keeper, _client(env) as agent:
            _wait_until(lambda: len(_tree(keeper)) >= asked.tree, "the server's processes")
            pids = {"keeper": keeper, "agent": agent}
            begun = {name: read_process(pid) for name, pid in pids.items()}
            begun_s = time.monotonic()
            time.sleep(asked.seconds)
            ended = {name: read_process(pid) for name, pid in pids.items()}
            seconds = time.monotonic() - begun_s
    return _conclude(begun, ended, seconds, asked.tree, asked.others, more)


def read_process(pid: int) -> Reading:
    """CPU time to the nanosecond, and resident memory."""
    ran_ns = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    rows = dict(row.split(":", 1) for row in Path(f"/proc/{pid}/status").read_text().splitlines())
    return Reading(ran_ns / 1e9, int(rows["VmRSS"].split()[0]) * 1024, _read_pss(pid))


def _read_pss(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return None
    row = next(row for row in text.splitlines() if row.startswith("Pss:"))
    return int(row.split()[1]) * 1024


def _measure_link(kind: str, seconds: float) -> float:
    """Bytes an hour over an SSH connection on which a loading server is watched."""
    with tempfile.TemporaryDirectory() as name, ssh_host(Path(name), kind, LINK_HOST) as box:
        folder = Path(name)
        env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        program = make_program(folder, "sglang", Script(pieces=SPEECH, http=LOADING))
        host = ("--host", LINK_HOST)
        _firedup(env, "run", *host, "--no-wait", "--name", "b", "--", str(program), "serve")
        words = [_program(), "attach", *host, "--json", "b"]
        with subprocess.Popen(words, env=env, stdout=subprocess.PIPE) as client:
            assert client.stdout is not None
            client.stdout.readline()
            begun, begun_s = box.proxy.bytes, time.monotonic()
            time.sleep(seconds)
            crossed, lasted_s = box.proxy.bytes - begun, time.monotonic() - begun_s
            client.kill()
        _firedup(env, "stop", *host, "b")
    return crossed / lasted_s * 3600


@contextmanager
def _crowd(count: int) -> Iterator[None]:
    """`count` sleeping processes in a session of their own, which ends with this block."""
    script = f"i=0; while [ $i -lt {count} ]; do sleep 900 & i=$((i+1)); done; echo; wait"
    shell = subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert shell.stdout is not None
        shell.stdout.readline()
        yield
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()


@contextmanager
def _server(folder: Path, env: dict[str, str], size: int) -> Iterator[int]:
    """A launched server of `size` processes; gives its keeper's pid."""
    children = tuple(f"scheduler_TP{number}" for number in range(size - 1))
    script = Script(pieces=SPEECH, http=LOADING, children=children)
    program = make_program(folder, "sglang", script)
    _firedup(env, "run", "--no-wait", "--name", "bench", "--", str(program), "serve")
    (path,) = folder.glob("state/firedup/runs/*/keeper.json")
    keeper = json.loads(path.read_text())
    try:
        yield keeper["pid"]
    finally:
        _firedup(env, "stop", "bench")


@contextmanager
def _client(env: dict[str, str]) -> Iterator[int]:
    """A client that watches the run; gives the pid of its agent."""
    words = [_program(), "attach", "--json", "bench"]
    client = subprocess.Popen(words, env=env, stdout=subprocess.PIPE)
    try:
        assert client.stdout is not None
        client.stdout.readline()
        (agent,) = _children(client.pid)
        yield agent
    finally:
        client.kill()
        client.communicate()


def _firedup(env: dict[str, str], *words: str) -> None:
    done = subprocess.run(
        [_program(), *words], env=env, capture_output=True, check=False, timeout=LIMIT_S
    )
    if done.returncode:
        sys.exit(f"bench agent: firedup {words[0]}: {done.stderr.decode()}")


def _program() -> str:
    return str(Path(sys.executable).with_name("firedup"))


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _tree(pid: int) -> list[int]:
    below = _children(pid)
    return below + [one for child in below for one in _tree(child)]


def _wait_until(is_so: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > until_s:
            sys.exit(f"bench agent: {what} did not come within {LIMIT_S:g} s")
        time.sleep(0.1)


def _conclude(
    begun: dict[str, Reading],
    ended: dict[str, Reading],
    seconds: float,
    tree: int,
    others: int,
    more: dict[str, float | None],
) -> Result:
    rows = [
        f"{seconds:.0f} s, a tree of {tree} among {others}",
        f"{'':8}{'CPU %':>8}{'RSS MiB':>9}{'PSS MiB':>9}",
    ]
    figures: dict[str, float | int | str | bool | None] = {"seconds": round(seconds, 1)}
    shares = {k: (ended[k].cpu_s - begun[k].cpu_s) / seconds * 100 for k in ended}
    sizes = {k: ended[k].rss_bytes / MIB for k in ended}
    shared = {k: (ended[k].pss_bytes or 0) / MIB for k in ended}
    for column in (shares, sizes, shared):
        column["both"] = sum(column.values())
    for name, share in shares.items():
        rows.append(f"{name:8}{share:8.3f}{sizes[name]:9.1f}{shared[name]:9.1f}")
        figures[f"{name}_cpu_percent"] = round(share, 3)
        figures[f"{name}_rss_mib"] = round(sizes[name], 1)
        figures[f"{name}_pss_mib"] = round(shared[name], 1)
    for name, value in more.items():
        figures[name] = round(value, 3) if value is not None else None
        rows.append(f"{name.replace('_', ' ')}: {figures[name]}")
    bars: dict[str, float | int | str | bool | None] = {
        "both_cpu_percent": BAR_SHARE,
        "both_rss_mib": BAR_MIB,
    }
    met = shares["both"] <= BAR_SHARE and sizes["both"] <= BAR_MIB
    if (cores := more.get("watched_client_cores")) is not None:
        bars["watched_client_cores"] = BAR_CORES
        met = met and cores <= BAR_CORES
    return {
        "figures": figures,
        "bars": bars,
        "met": met,
        "table": "\n".join(rows),
    }
