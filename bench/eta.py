"""Forecasts of starts held against recorded ones: how often the interval holds what came."""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.eta_record import record_starts
from firedup.core.forecast import LEAST_STARTS, StageTime, StartTimes
from firedup.core.model import Stage
from firedup.core.verdict.etastart import Present, forecast_start
from firedup.session.past import MOST_STARTS

if TYPE_CHECKING:
    from bench.result import Result

RECORDED = Path(__file__).parent / "starts.jsonl"
LEAST, MOST = 0.70, 0.90  # the share that the 80 % interval may hold
ENOUGH = 60
SIMULATED_PAST = (5, 8, 12, 24)
SIMULATED = 60  # starts for each
SHARES = tuple(step / 10 for step in range(10))  # of a start, at which it is asked


@dataclass(slots=True)
class Tally:
    """What came of forecasts: inside their interval, below, above, or without one."""

    name: str
    starts: int = 0
    inside: int = 0
    below: int = 0
    above: int = 0
    silent: int = 0
    widths: list[float] | None = None

    def add(self, present: Present, past: Sequence[StartTimes], ready_s: float) -> None:
        """Ask for a forecast of ready and hold it against what came."""
        eta = forecast_start(present, past)
        if eta is None or eta.ready is None or eta.ready.low_s is None:
            self.silent += 1
            return
        low_s, high_s = eta.ready.low_s, eta.ready.high_s or 0.0
        left_s = ready_s - present.elapsed_s
        self.below += left_s < low_s
        self.above += left_s > high_s
        self.inside += low_s <= left_s <= high_s
        self.widths = [*(self.widths or []), (high_s - low_s) / ready_s]

    @property
    def asked(self) -> int:
        """Forecasts with an interval."""
        return self.inside + self.below + self.above

    @property
    def coverage(self) -> float:
        """The share of them that held what came."""
        return self.inside / self.asked if self.asked else math.nan

    def row(self) -> str:
        """A line of the table."""
        width = median(self.widths) if self.widths else math.nan
        return (
            f"{self.name:24} {self.starts:6} {self.asked:6} {self.coverage:8.1%}"
            f" {self.below:6} {self.above:6} {self.silent:6} {width:8.2f}"
        )


def main(argv: list[str]) -> Result:
    """Hold forecasts against recorded starts, each made from those before it alone."""
    parser = argparse.ArgumentParser(prog="./dev bench eta")
    parser.add_argument("--record", nargs="+", metavar="WORD", help="KIND COUNT COMMAND…, then end")
    parser.add_argument("--into", type=Path, default=RECORDED)
    parser.add_argument("--from", dest="source", type=Path, default=RECORDED)
    given = parser.parse_args(argv)
    if given.record:
        kind, count, *command = given.record
        record_starts(kind, command, int(count), given.into)
    recorded = [tally_recorded(kind, rows) for kind, rows in read_starts(given.source).items()]
    simulated = [tally_simulated(count) for count in SIMULATED_PAST]
    whole = join(recorded)
    head = "starts                    count  asked  covered  below  above silent    width"
    rows = [tally.row() for tally in (*recorded, whole, *simulated)]
    starts = sum(tally.starts for tally in recorded)
    checked = [whole.coverage, *(tally.coverage for tally in simulated)]
    return {
        "figures": {
            "recorded_starts": starts,
            "coverage": round(whole.coverage, 4),
            "forecasts": whole.asked,
            "without_interval": whole.silent,
            **{
                f"coverage_{t.name.replace('-', '_')}": round(t.coverage, 4)
                for t in (*recorded, *simulated)
            },
        },
        "bars": {"coverage_min": LEAST, "coverage_max": MOST, "recorded_starts": ENOUGH},
        "met": starts >= ENOUGH and all(LEAST <= one <= MOST for one in checked),
        "table": "\n".join([head, *rows, "width: of the interval, as a share of the whole start"]),
    }


def read_starts(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The recorded starts by their kind, each kind in the order of its starts."""
    kinds = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        kinds[row["kind"]].append(row)
    return dict(kinds)


def tally_recorded(kind: str, rows: Sequence[dict[str, Any]]) -> Tally:
    """Forecast each start that has enough before it, at every recorded moment."""
    tally = Tally(kind, len(rows))
    for number in range(LEAST_STARTS, len(rows)):
        past = [times_of(row) for row in reversed(rows[max(0, number - MOST_STARTS) : number])]
        ready_s = rows[number]["ready_s"]
        for elapsed_s, stage, stage_s, fraction, basis in rows[number]["moments"]:
            if elapsed_s < ready_s and stage not in ("ready", "serving"):
                here = Stage(stage) if stage else None
                tally.add(Present(elapsed_s, here, stage_s, fraction, None, basis), past, ready_s)
    return tally


def times_of(row: dict[str, Any]) -> StartTimes:
    """The times of a recorded start."""
    stages = (StageTime(Stage(stage), began, seconds) for stage, began, seconds in row["stages"])
    return StartTimes(row["ready_s"], tuple(stages))


def join(tallies: Iterable[Tally]) -> Tally:
    """All of them as one."""
    whole = Tally("recorded, all", widths=[])
    for one in tallies:
        whole.starts += one.starts
        whole.inside += one.inside
        whole.below += one.below
        whole.above += one.above
        whole.silent += one.silent
        whole.widths = [*(whole.widths or []), *(one.widths or [])]
    return whole


def tally_simulated(count: int) -> Tally:
    """Minutes of an invented big server, a quarter of whose starts read from a cold disk."""
    chance = random.Random(count)
    tally = Tally(f"simulated-{count}-before", SIMULATED)
    for _ in range(SIMULATED):
        past = [invent(chance)[0] for _ in range(count)]
        new, share = invent(chance)
        for part in SHARES:
            elapsed_s = part * new.ready_s
            stage = [time for time in new.stages if time.began_s <= elapsed_s][-1]
            stage_s = elapsed_s - stage.began_s
            fraction = None
            if stage.stage is Stage.LOAD_WEIGHTS:  # a bar, after which weights are repacked
                pace = math.exp(chance.gauss(0, 0.1))
                fraction = stage_s / (stage.seconds * share) * pace
            fraction = fraction if fraction is not None and fraction < 1 else None
            present = Present(elapsed_s, stage.stage, stage_s, fraction, None, "bar")
            tally.add(present, past, new.ready_s)
    return tally


def invent(chance: random.Random) -> tuple[StartTimes, float]:
    """A start, and the share of its load at whose end the bar is full."""
    host = chance.gauss(0, 0.1)  # how slow the host is today
    read_s = 300.0 if chance.random() < 0.25 else 60.0
    means = (
        (Stage.ARGS, 15.0, 0.1),
        (Stage.DIST_INIT, 8.0, 0.15),
        (Stage.LOAD_WEIGHTS, read_s, 0.2),
        (Stage.GRAPH_CAPTURE, 40.0, 0.1),
        (Stage.WARMUP, 3.0, 0.5),
    )
    times, at_s, share = [], 0.0, 1.0
    for stage, mean_s, spread in means:
        seconds = mean_s * math.exp(chance.gauss(0, spread) + host)
        if stage is Stage.LOAD_WEIGHTS:
            repack_s = 10 * math.exp(chance.gauss(0, 0.3))
            share, seconds = seconds / (seconds + repack_s), seconds + repack_s
        times.append(StageTime(stage, at_s, seconds))
        at_s += seconds
    return StartTimes(at_s, tuple(times)), share
