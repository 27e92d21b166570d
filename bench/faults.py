"""Kills, cut links, rotations, bursts and clock steps: no byte lost or doubled, same diagnosis."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.disturber import Disturber, make_parts
from bench.faulted import Beside, Place, Server
from bench.namespace import KIND as NAMESPACE
from bench.namespace import start_far_box, why_no_namespace
from bench.story import story
from bench.witness import (
    Gap,
    compare,
    differing,
    explain_record,
    explain_undisturbed,
    read_pieces,
    read_record,
)
from firedup.core.log.block import OPENERS
from firedup.core.model import Explanation
from firedup.core.rule import Matcher
from firedup.host.address import parse_host
from firedup.host.base import Host
from firedup.host.link import Agent, open_agent
from firedup.host.run import watch_run as watch_end
from firedup.profile.cache import Cache
from firedup.profile.load import load_catalogue
from firedup.profile.match import build_matcher
from firedup.profile.schema import Catalogue
from firedup.session.log import read_log
from firedup.session.registry import Run, find_run
from firedup.session.run import watch_run
from firedup.session.watch import Watching
from tests.port import free_port
from tests.ssh_server import KINDS, start_box, why_not

if TYPE_CHECKING:
    from bench.result import Result

SSH_EVERY = 4  # every so manieth run goes over SSH


@dataclass(slots=True)
class Outcome:
    """What one run came to: the differences found, and what was done to it."""

    seed: int
    kind: str
    differences: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    written_bytes: int = 0
    gaps: int = 0
    again_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Bench:
    """What all runs share."""

    folder: Path
    catalogue: Catalogue
    matcher: Matcher
    places: tuple[Place, ...]  # this machine, and those behind SSH
    hasty: float

    async def run(self, seed: int) -> Outcome:
        """One disturbed run, and what it came to."""
        choice = random.Random(seed)
        place = self.places[0]
        if seed % SSH_EVERY == SSH_EVERY - 1 and len(self.places) > 1:
            place = self.places[1 + seed // SSH_EVERY % (len(self.places) - 1)]
        if place.hop is not None:
            place.hop.skew.write_text("0")  # what an earlier run stepped, the keepers never saw
        outcome = Outcome(seed, place.kind)
        folder = self.folder / f"run-{seed}"
        folder.mkdir()
        parts = make_parts(choice)
        server = Server(place, folder, parts, self.catalogue, self.matcher, free_port())
        disturber = Disturber(server, choice, outcome.done, hasty=self.hasty)
        try:
            async with open_agent(place.host) as agent:
                await server.begin(agent)
            await disturber.play()
            await self._judge(server, disturber.generations, outcome)
        except TimeoutError:
            outcome.differences.append(f"not in time: {traceback.format_exc(limit=-6)[-900:]}")
        finally:
            for _, heal in disturber.undo:
                heal()
            server.close()
            if not outcome.differences:
                shutil.rmtree(folder, ignore_errors=True)
        return outcome

    async def _judge(self, server: Server, generations: list[bytes], outcome: Outcome) -> None:
        """Compare what clients, record and readers of the log saw with what was written."""
        written = b"".join(server.parts)
        outcome.written_bytes = len(written)
        told = outcome.differences
        await server.until_concluded()
        async with open_agent(server.place.host) as agent:
            async for _ in watch_end(agent, server.run.label.id):
                pass
            run = await find_run(agent, server.run.label.id)
            last = await self._attach(agent, run)
            read: list[bytes | Gap] = []
            log = read_log(agent, run, say_lost=lambda lost: read.append(Gap(lost)))
            async for data in log:
                read.append(data)  # noqa: PERF401 - gaps come in between
        record = read_record(Path(run.folder) / "events.jsonl")
        outcome.gaps = sum(isinstance(piece, Gap) for piece in record.pieces)
        outcome.again_bytes = record.again_bytes
        files = [data for data in generations if data]
        seen = read_pieces(record.pieces, files)
        expected = explain_undisturbed(record, written, self.matcher)
        for who, found in (("record", compare(seen, written)), ("logs", compare(read, written))):
            if found is not None:
                told.append(f"{who}: {found}")
        stories = {
            "attach": story(last),
            "replay": explain_record(record, files, self.matcher),
            "client": server.tell(),
        }
        for who, found_story in stories.items():
            told += [f"{who}: {text}" for text in differing(expected, found_story)]

    async def _attach(self, agent: Agent, run: Run) -> Explanation:
        watching = Watching(until="exit", timeout_s=60)
        snapshots = watch_run(agent, self.catalogue, self.matcher, run, watching)
        return [snapshot async for snapshot in snapshots][-1].explanation


@contextmanager
def _places(folder: Path) -> Iterator[tuple[Place, ...]]:
    """This machine with its own clock, and the SSH servers that can be had."""
    hop = Beside(folder)
    hop.skew.write_text("0")
    places = [Place(Host("beside", (hop,), sys.executable), hop=hop)]
    config = folder / "ssh_config"
    config.touch()
    sockets = tempfile.mkdtemp(prefix="fu-", dir="/tmp")
    os.environ["XDG_RUNTIME_DIR"] = sockets
    os.environ["FIREDUP_SSH"] = shlex.join(["ssh", "-F", str(config)])
    boxes = []
    try:
        for kind in (*KINDS, NAMESPACE):
            reason = why_no_namespace() if kind == NAMESPACE else why_not(kind)
            if reason is not None:
                print(f"no runs over {kind}: {reason}", file=sys.stderr)
            elif kind == NAMESPACE:
                boxes.append(start_far_box(f"fu-{kind}", folder / kind, config))
            else:
                boxes.append(start_box(kind, f"fu-{kind}", folder / kind, config))
            if reason is not None:
                continue
            places.append(Place(parse_host(boxes[-1].name), box=boxes[-1]))
        yield tuple(places)
    finally:
        for box in boxes:
            box.close()
        shutil.rmtree(sockets, ignore_errors=True)


def main(argv: list[str]) -> Result:
    """Disturb runs one after the other, and count what differs."""
    parser = argparse.ArgumentParser(prog="./dev bench faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; counts up")
    parser.add_argument(
        "--hasty",
        type=float,
        default=0.0,
        help="share of rotations before a sample of the keeper, and of files it cannot tell apart",
    )
    parser.add_argument("--keep", help="a folder that stays, with the runs that differed")
    parser.add_argument("--verbose", action="store_true", help="a line for each run")
    asked = parser.parse_args(argv)
    return asyncio.run(_measure(asked))


def _folder(keep: str | None) -> AbstractContextManager[str]:
    if keep is None:
        return tempfile.TemporaryDirectory()
    Path(keep).mkdir(parents=True)
    return nullcontext(str(Path(keep).resolve()))


async def _measure(asked: argparse.Namespace) -> Result:
    cache = Cache.of_user(os.environ)
    catalogue = load_catalogue(cache=cache)
    matcher = build_matcher(catalogue, openers=OPENERS, blobs=cache)
    begun_s = time.monotonic()
    outcomes = []
    with _folder(asked.keep) as name, _places(Path(name)) as places:
        bench = Bench(Path(name), catalogue, matcher, places, asked.hasty)
        for number in range(asked.runs):
            outcome = await bench.run(asked.seed + number)
            outcomes.append(outcome)
            if asked.verbose or outcome.differences:
                acts = ", ".join(f"{count} {act}" for act, count in outcome.done.items())
                print(f"seed {outcome.seed} ({outcome.kind}): {acts}", file=sys.stderr)
            for text in outcome.differences:
                print(f"    {text[:1000]}", file=sys.stderr)
    return _conclude(outcomes, time.monotonic() - begun_s)


def _conclude(outcomes: list[Outcome], seconds: float) -> Result:
    rows = [f"{'':12}{'runs':>6}{'MB':>8}{'gaps':>6}{'again':>10}{'differing':>11}"]
    for kind in sorted({one.kind for one in outcomes}):
        of_kind = [one for one in outcomes if one.kind == kind]
        rows.append(
            f"{kind:12}{len(of_kind):6}{sum(one.written_bytes for one in of_kind) / 1e6:8.1f}"
            f"{sum(one.gaps for one in of_kind):6}{sum(one.again_bytes for one in of_kind):10}"
            f"{sum(bool(one.differences) for one in of_kind):11}"
        )
    done = sum((one.done for one in outcomes), Counter[str]())
    rows.append(", ".join(f"{count} {act}" for act, count in sorted(done.items())))
    differing_seeds = [one.seed for one in outcomes if one.differences]
    if differing_seeds:
        rows.append(f"seeds that differ: {' '.join(map(str, differing_seeds))}")
    return {
        "figures": {
            "runs": len(outcomes),
            "runs_over_ssh": sum(one.kind != "local" for one in outcomes),
            "seconds": round(seconds, 1),
            "disturbances": done.total(),
            "written_bytes": sum(one.written_bytes for one in outcomes),
            "gaps": sum(one.gaps for one in outcomes),
            "recorded_again_bytes": sum(one.again_bytes for one in outcomes),
            "differences": len(differing_seeds),
        },
        "bars": {"differences": 0},
        "met": not differing_seeds,
        "table": "\n".join(rows),
    }
