"""Verdicts on drafters of known worth, on a simulated machine that is shared with others."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import TYPE_CHECKING

from bench.measure import own_cpu_s
from bench.shared_machine import Machine, World, wilder
from firedup.core.measure.measured import Cell, Load, Request
from firedup.core.measure.pairing import Design, compare_arms, decoding_of
from firedup.core.measure.sequential import FIRST_LOOK, Look, Outlook, Rules, Side, take_look
from firedup.core.measure.student import pooled_degrees, student_quantile

if TYPE_CHECKING:
    from bench.result import Result

TRUTHS = (0.7, 0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5)
PROMPTS = 160  # of the built-in set, which is the budget
STORED = 80  # of them, where drift between two visits is the larger part of what is unsure
BLOCK = 2  # requests of an arm in a row, interleaved
WELCH_RUNS = 3
WELCH_SIZES = (10, 20, 40, 80, 160, 320)  # requests in each of its runs
BAR = 0.05
RULES = Rules()


@dataclass(slots=True)
class Tally:
    """What came of many probes: verdicts by true speed-up, and requests of both arms together."""

    name: str
    sides: dict[float, list[Side]] = field(default_factory=dict)
    requests: list[int] = field(default_factory=list)

    def add(self, truth: float, side: Side, requests: int) -> None:
        """Count one probe."""
        self.sides.setdefault(truth, []).append(side)
        self.requests.append(requests)

    @property
    def wrong(self) -> float:
        """The share of wrong verdicts."""
        return fmean(is_wrong(side, truth) for truth, side in self._all())

    @property
    def worst(self) -> float:
        """The share of wrong verdicts at the true speed-up where it is largest."""
        return max(
            fmean(is_wrong(side, truth) for side in sides) for truth, sides in self.sides.items()
        )

    @property
    def undecided(self) -> float:
        """The share of probes without a verdict."""
        return fmean(side is Side.OPEN for _, side in self._all())

    @property
    def undecided_outside(self) -> float:
        """The same where the true speed-up is outside the zone of indifference."""
        return fmean(
            side is Side.OPEN for truth, side in self._all() if not RULES.low < truth < RULES.high
        )

    def _all(self) -> Iterable[tuple[float, Side]]:
        return ((truth, side) for truth, sides in self.sides.items() for side in sides)


def is_wrong(side: Side, truth: float) -> bool:
    """Whether what is said to be certain is not so. Stricter than a zone of indifference asks."""
    match side:
        case Side.FASTER:
            return truth <= RULES.high
        case Side.NO_GAIN:
            return truth >= RULES.high
        case Side.SLOWER:
            return truth >= RULES.low
        case Side.OPEN:
            return False


def probe_stored(machine: Machine, truth: float, seed: int) -> tuple[Side, int]:
    """A candidate against a baseline of another day, which is counted as if measured for it."""
    world = World(machine, truth, seed)
    prompts = [f"p{number}" for number in range(STORED)]
    baseline = Cell(Load(), tuple(world.ask(one, is_candidate=False) for one in prompts))
    world.visit(after_s=math.inf)
    asked: list[Request] = []
    look: Look | None = None
    for prompt in prompts:
        asked.append(world.ask(prompt, is_candidate=True))
        if len(asked) < (look.next_pairs if look else FIRST_LOOK) and len(asked) < STORED:
            continue
        candidate = Cell(Load(), tuple(asked))
        found = compare_arms(baseline, candidate, Design.SEQUENTIAL)
        assert found is not None
        look = take_look(found, look, share=len(asked) / STORED)
        if look.outlook is not Outlook.GO_ON:
            break
    assert look is not None
    return look.side, STORED + len(asked)


def probe_interleaved(machine: Machine, truth: float, seed: int) -> tuple[Side, int]:
    """Both arms in turn, A B B A; every block is a visit of its own."""
    world = World(machine, truth, seed)
    arms: tuple[list[Request], list[Request]] = ([], [])
    look: Look | None = None
    for block in range(PROMPTS // BLOCK):
        for which in (0, 1) if block % 2 == 0 else (1, 0):
            world.visit()
            for number in range(block * BLOCK, (block + 1) * BLOCK):
                arms[which].append(world.ask(f"p{number}", is_candidate=which == 1, block=block))
        pairs = len(arms[0])
        due = look.next_pairs if look else FIRST_LOOK
        if block % 2 == 0 or (pairs < due and pairs < PROMPTS):
            continue
        before, after = (Cell(Load(), tuple(arm)) for arm in arms)
        found = compare_arms(before, after, Design.INTERLEAVED)
        assert found is not None
        look = take_look(found, look, share=pairs / PROMPTS)
        if look.outlook is not Outlook.GO_ON:
            break
    assert look is not None
    return look.side, len(arms[0]) + len(arms[1])


def probe_welch(machine: Machine, truth: float, seed: int) -> dict[int, Side]:
    """Three runs of each arm on days of their own, by Welch's test, for each length of a run."""
    world = World(machine, truth, seed)
    speeds: dict[int, tuple[list[float], list[float]]] = {n: ([], []) for n in WELCH_SIZES}
    for run in range(2 * WELCH_RUNS):
        world.visit(after_s=math.inf)
        seconds = tokens = 0.0
        for number in range(1, WELCH_SIZES[-1] + 1):
            decoded = decoding_of(world.ask(f"{run}/{number}", is_candidate=run % 2 == 1))
            assert decoded is not None
            seconds, tokens = seconds + decoded[0], tokens + decoded[1]
            if number in speeds:
                speeds[number][run % 2].append(math.log(tokens / seconds))
    return {size: _test_welch(*both) for size, both in speeds.items()}


def _test_welch(before: list[float], after: list[float]) -> Side:
    parts = [(variance(runs) / len(runs), len(runs) - 1.0) for runs in (before, after)]
    degrees = pooled_degrees((parts[0], parts[1]))
    reach = student_quantile(RULES.error, degrees) * math.sqrt(parts[0][0] + parts[1][0])
    middle = fmean(after) - fmean(before)
    if middle - reach > math.log(RULES.high):
        return Side.FASTER
    if middle + reach < math.log(RULES.low):
        return Side.SLOWER
    return Side.NO_GAIN if middle + reach < math.log(RULES.high) else Side.OPEN


def main(argv: list[str]) -> Result:
    """Probe drafters of known speed-up, and count verdicts, right and wrong, and requests."""
    parser = argparse.ArgumentParser(prog="./dev bench decision", description=__doc__)
    parser.add_argument(
        "--probes", type=int, default=60, help="of each true speed-up (default %(default)s)"
    )
    parser.add_argument(
        "--wild", type=float, default=1.0, help="times the usual drift (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    machine = wilder(Machine(), options.wild)
    seeds = [options.seed + 1000 * number for number in range(options.probes)]
    begun_s = own_cpu_s()
    tallies = [
        _tally(name, ask, machine, seeds)
        for name, ask in (("stored", probe_stored), ("interleaved", probe_interleaved))
    ]
    welch = _tally_welch(machine, seeds)
    figures: dict[str, float | int | str | bool | None] = {"probes": len(TRUTHS) * len(seeds)}
    bars: dict[str, float | int | str | bool | None] = {}
    rows = [_TITLE]
    for tally in tallies:
        peer = _match(welch, tally)
        ratio = fmean(tally.requests) / fmean(peer.requests)
        figures |= {
            f"wrong_{tally.name}": round(tally.wrong, 4),
            f"worst_wrong_{tally.name}": round(tally.worst, 4),
            f"undecided_{tally.name}": round(tally.undecided, 3),
            f"requests_{tally.name}": round(fmean(tally.requests), 1),
            f"requests_{tally.name}_to_welch": round(ratio, 3),
            f"wrong_welch_for_{tally.name}": round(peer.wrong, 4),
        }
        bars |= {f"wrong_{tally.name}": BAR, f"requests_{tally.name}_to_welch": 1.0}
        rows += [_row(tally), _row(peer)]
    figures["cpu_s"] = round(own_cpu_s() - begun_s, 1)
    met = all(float(figures[name] or 0) <= float(bar or 0) for name, bar in bars.items())
    rows += ["", *(_detail(tally) for tally in tallies)]
    return {"figures": figures, "bars": bars, "met": met, "table": "\n".join(rows)}


def _tally(
    name: str,
    ask: Callable[[Machine, float, int], tuple[Side, int]],
    machine: Machine,
    seeds: list[int],
) -> Tally:
    tally = Tally(name)
    for truth in TRUTHS:
        for seed in seeds:
            tally.add(truth, *ask(machine, truth, seed))
    return tally


def _tally_welch(machine: Machine, seeds: list[int]) -> list[Tally]:
    tallies = {size: Tally(f"Welch, 2 x 3 runs of {size}") for size in WELCH_SIZES}
    for truth in TRUTHS:
        for seed in seeds[::2]:
            for size, side in probe_welch(machine, truth, seed).items():
                tallies[size].add(truth, side, 2 * WELCH_RUNS * size)
    return list(tallies.values())


def _match(welch: list[Tally], tally: Tally) -> Tally:
    """The shortest fixed test that leaves no more undecided outside the zone; else the longest."""
    for peer in welch:
        if peer.undecided_outside <= tally.undecided_outside:
            return peer
    return welch[-1]


_TITLE = f"{'':30}{'wrong':>8}{'worst':>8}{'undecided':>11}{'outside':>9}{'requests':>10}"


def _row(tally: Tally) -> str:
    return (
        f"{tally.name:30}{100 * tally.wrong:7.1f}%{100 * tally.worst:7.1f}%"
        f"{100 * tally.undecided:10.1f}%{100 * tally.undecided_outside:8.1f}%"
        f"{fmean(tally.requests):10.0f}"
    )


def _detail(tally: Tally) -> str:
    """Undecided by true speed-up."""
    shares = " ".join(
        f"{truth:g}: {100 * fmean(side is Side.OPEN for side in sides):.0f}"
        for truth, sides in tally.sides.items()
    )
    return f"{tally.name} undecided, % by true speed-up: {shares}"
