"""Is a load taken for a hang, or a hang for a load? Real processes, and times a tenth as long."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.stall_vllm import Stopped, play_vllm, tell
from firedup.core.event import Begun, LogData, Sample
from firedup.core.model import Explanation, ServerSpec, Stage, Verdict
from firedup.core.verdict.patience import STOPPED_PATIENCE_S, Patience
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent
from firedup.host.process import watch_tree
from firedup.profile.pipeline import Pipeline
from firedup.session.explain import load_matcher

if TYPE_CHECKING:
    from bench.result import Result
    from firedup.core.process import Process
    from firedup.core.rule import Matcher

_NS = 1_000_000_000
SCALE = 0.1
# Beyond the patience: movement is seen over 5 s, samples come once a second, machines are busy.
SLACK_S = 12.0
WARM_S = 8.0  # of a server that works before something is done to it
FILE_BYTES = 64 << 20
LINES = {
    "load-weights": "[2026-11-29 18:00:00 TP0] Load weight begin. avail mem=90.00 GB\n",
    "serving": "[2026-11-29 18:00:00] The server is fired up and ready to roll!\n",
}
PATIENCE = Patience(SCALE)
_LOADING = Stage.LOAD_WEIGHTS


@dataclass(frozen=True, slots=True)
class Scene:
    """What the ranks do, what is done to them once they have worked, and what is right to say.

    `finding` None: it is no stall. `guilty` are the ranks to be named. `within_s` is the patience.
    """

    name: str
    ranks: tuple[str, ...]
    finding: str | None = None
    guilty: tuple[int, ...] = ()
    within_s: float = 0.0
    stop: tuple[int, ...] = ()
    fake: Callable[[Process], Process] | None = None
    line: str = "load-weights"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said: after how long since it began, by which finding, in which words."""

    seconds: float | None
    finding: str
    words: str


def in_kernel(process: Process) -> Process:
    """The rank as it looks in an uninterruptible sleep."""
    if not (process.title or process.name).endswith("TP2"):
        return process
    return replace(process, state="D", wait_channel="rpc_wait_bit_killable", cpu_s=1.0)


SCENES = (
    Scene("silent load, disk reads", ("disk",) * 2),
    Scene("silent load, page cache", ("cache",) * 2),
    Scene("one loads, three wait asleep", ("cache", "asleep", "asleep", "asleep")),
    Scene("repacking: all burn CPU", ("spin",) * 2),
    Scene("idle and ready", ("asleep",) * 4, line="serving"),
    Scene("all ranks asleep", ("asleep",) * 4, "no-progress", (), PATIENCE.idle_s(_LOADING)),
    Scene(
        "one of four asleep, three spin",
        ("spin", "spin", "asleep", "spin"),
        "rank-idle",
        (2,),
        PATIENCE.odd_s(_LOADING, is_even=False),
    ),
    Scene("SIGSTOP of one", ("cache",) * 3, "rank-stopped", (1,), PATIENCE.stopped_s, stop=(1,)),
    Scene(
        "SIGSTOP of one, ready", ("asleep",) * 3, "rank-stopped", (1,), PATIENCE.stopped_s,
        stop=(1,), line="serving",
    ),
    Scene("SIGSTOP of all", ("cache",) * 2, "no-progress", (), PATIENCE.stopped_s, stop=(-1, 0, 1)),
    Scene("a full pipe", ("speak", "asleep"), "output-blocked", (0,), PATIENCE.pipe_s),
    Scene(
        "uninterruptible sleep (made up)",
        ("asleep", "asleep", "asleep", "asleep"),
        "waits-in-kernel",
        (2,),
        PATIENCE.kernel_s,
        fake=in_kernel,
    ),
)  # fmt: skip


def main(argv: list[str]) -> Result:
    """Play the scenes, a few at a time, and count what was said wrongly."""
    parser = argparse.ArgumentParser(prog="./dev bench stall", description=__doc__)
    parser.add_argument("--seconds", type=float, default=45.0, help="of what is no stall")
    parser.add_argument("--at-once", type=int, default=4, help="scenes at a time")
    parser.add_argument(
        "--only", metavar="WORD", default="", help="scenes that have it in the name"
    )
    parser.add_argument("--no-vllm", action="store_true", help="leave out the real vLLM")
    asked = parser.parse_args(argv)
    scenes = [scene for scene in SCENES if asked.only in scene.name]
    outcomes = asyncio.run(_play_all(scenes, asked.seconds, asked.at_once))
    stopped = () if asked.only or asked.no_vllm else tuple(play_vllm())
    return _conclude(scenes, outcomes, asked.seconds, stopped)


async def _play_all(scenes: list[Scene], seconds: float, at_once: int) -> list[Outcome]:
    matcher, turn = load_matcher(), asyncio.Semaphore(at_once)

    async def play_in_turn(agent: Agent, scene: Scene) -> Outcome:
        async with turn:
            return await _play(agent, matcher, scene, seconds)

    async with open_agent(local_host()) as agent, asyncio.TaskGroup() as group:
        tasks = [group.create_task(play_in_turn(agent, scene)) for scene in scenes]
    return [task.result() for task in tasks]


async def _play(agent: Agent, matcher: Matcher, scene: Scene, seconds: float) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shard, log = folder / "model-1-of-2.safetensors", folder / "server.log"
        shard.write_bytes(os.urandom(_MIB) * (FILE_BYTES // _MIB))
        log.write_text(LINES[scene.line])
        root = _start(scene, shard)
        try:
            assert root.stdout is not None
            pids = [int(word) for word in root.stdout.readline().split()]
            return await _watch(agent, matcher, scene, seconds, log, root.pid, pids)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(root.pid, signal.SIGKILL)
            root.communicate()


_MIB = 1 << 20
# The launcher: starts the ranks, tells their pids, and waits. A rank that speaks has a pipe that
# nobody reads as its output.
_ROOT = """\
import os, subprocess, sys, time
module, shard, *ranks = sys.argv[1:]
null = open(os.devnull, "wb")
found = []
for n, doing in enumerate(ranks):
    title = f"sglang::scheduler_TP{n}"
    out = subprocess.PIPE if doing == "speak" else null
    words = [title, module, title, doing, shard]
    found.append(subprocess.Popen(words, executable=sys.executable, stdout=out))
print(*(rank.pid for rank in found), flush=True)
while True:
    time.sleep(3600)
"""


def _start(scene: Scene, shard: Path) -> subprocess.Popen[bytes]:
    module = Path(__file__).with_name("stall_rank.py")
    words = [sys.executable, "-c", _ROOT, str(module), str(shard), *scene.ranks]
    return subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)


async def _watch(
    agent: Agent,
    matcher: Matcher,
    scene: Scene,
    seconds: float,
    log: Path,
    root: int,
    pids: list[int],
) -> Outcome:
    """Sample the processes as a watch does until there is something to say, or time is over."""
    pipeline = Pipeline(matcher, year=2026, engine="sglang", patience=PATIENCE)
    begun_s: float | None = None
    limit_s = scene.within_s + SLACK_S if scene.finding else seconds
    said_first = log.read_bytes()  # noqa: ASYNC240 - a small local file
    async with aclosing(watch_tree(agent, root, log=str(log))) as samples:
        first_s = time.monotonic()
        async for sample in samples:
            if pipeline.log_position == (0, 0):
                begun = Begun(sample.at_ns, sample.wall_ns, ServerSpec(engine="sglang"), root)
                pipeline.feed(begun)
                pipeline.feed(LogData(sample.at_ns, 0, 0, said_first))
            now_s = time.monotonic()
            if begun_s is None and (not scene.stop or now_s - first_s >= WARM_S):
                begun_s = now_s
                for rank in scene.stop:
                    os.kill(pids[rank] if rank >= 0 else root, signal.SIGSTOP)
            pipeline.feed(_fake(scene, sample))
            said = pipeline.snapshot(sample.at_ns).explanation
            if said.verdict is Verdict.STALLED:
                return _outcome(said, now_s - (begun_s if begun_s is not None else now_s))
            if begun_s is not None and now_s - begun_s > limit_s:
                break
    return Outcome(None, "", "")


def _fake(scene: Scene, sample: Sample) -> Sample:
    if scene.fake is None:
        return sample
    return replace(sample, processes=tuple(map(scene.fake, sample.processes)))


def _outcome(said: Explanation, seconds: float) -> Outcome:
    finding = said.findings[0]
    return Outcome(seconds, finding.id, finding.message)


def _is_right(scene: Scene, outcome: Outcome) -> bool:
    if scene.finding is None or outcome.finding != scene.finding:
        return scene.finding is None and outcome.seconds is None
    named = {n for n in range(len(scene.ranks)) if f"TP{n} (" in outcome.words}
    return named == set(scene.guilty)


def _conclude(
    scenes: list[Scene], outcomes: list[Outcome], seconds: float, stopped: tuple[Stopped, ...]
) -> Result:
    rows = [f"times {SCALE:g} as long as in earnest; what is no stall is watched for {seconds:g} s"]
    rows.append(f"{'':34}{'patience':>9}{'said after':>11}  said")
    wrong = false = late = 0
    for scene, outcome in zip(scenes, outcomes, strict=True):
        is_right = _is_right(scene, outcome)
        wrong += not is_right and scene.finding is not None
        false += scene.finding is None and outcome.seconds is not None
        after = "" if outcome.seconds is None else f"{outcome.seconds:.1f} s"
        within = f"{scene.within_s:g} s" if scene.finding else ""
        is_late = scene.finding is not None and (outcome.seconds or 1e9) > scene.within_s + SLACK_S
        late += is_late
        words = outcome.words or "nothing: it loads, or serves"
        mark = "" if is_right else "WRONG: "
        rows.append(f"{scene.name:34}{within:>9}{after:>11}  {mark}{words[:90]}")
    for worker in stopped:
        rows.append(tell(worker))
        wrong += not worker.is_right
        late += (worker.seconds or 1e9) > STOPPED_PATIENCE_S + SLACK_S
    if not stopped:
        rows.append("no vLLM was asked: not installed (see ./dev e2e), or left out")
    real = sum(scene.finding is not None for scene in scenes)
    return {
        "figures": {
            "scale": SCALE,
            "loads": len(scenes) - real,
            "false_stalls": false,
            "stalls": real + len(stopped),
            "vllm_workers_stopped": len(stopped),
            "missed_or_misnamed": wrong,
            "late": late,
        },
        "bars": {"false_stalls": 0, "missed_or_misnamed": 0, "late": 0},
        "met": not (false or wrong or late),
        "table": "\n".join(rows),
    }
