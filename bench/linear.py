"""Whether the CPU time of `firedup explain` is linear in a log's length, over nasty logs."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import Cost, measure
from bench.nasty import NASTY, make_log

if TYPE_CHECKING:
    from bench.result import Result

MIB = 1 << 20
# Between the two larger sizes; what is left of noise and of bounds that fill up.
BAR_GROWTH, BAR_PEAK_MIB = 1.5, 200
# Less CPU than this above an empty log says nothing about growth.
LEAST_CPU_S = 0.1


@dataclass(frozen=True, slots=True)
class Curve:
    """The runs over one log: sizes ascending, CPU seconds without those of an empty log."""

    name: str
    sizes_bytes: tuple[int, ...]
    cpu_s: tuple[float, ...]
    peak_bytes: int

    @property
    def growth(self) -> float:
        """How much dearer a byte is in the largest log than in the one before; 1 is linear."""
        before, last = (max(cpu_s, LEAST_CPU_S) for cpu_s in self.cpu_s[-2:])
        return last / before / (self.sizes_bytes[-1] / self.sizes_bytes[-2])

    @property
    def per_mib(self) -> float:
        """CPU milliseconds for each MiB of the largest log."""
        return self.cpu_s[-1] * 1000 * MIB / self.sizes_bytes[-1]


def main(argv: list[str]) -> Result:
    """Write each log in each size and explain it."""
    parser = argparse.ArgumentParser(prog="./dev bench linear", description=__doc__)
    parser.add_argument("--sizes-mib", type=float, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rounds", type=int, default=1, help="runs of each (default %(default)s)")
    parser.add_argument("--only", choices=NASTY, nargs="+", default=list(NASTY), metavar="LOG")
    asked = parser.parse_args(argv)
    sizes = tuple(int(size * MIB) for size in sorted(asked.sizes_mib))
    if len(sizes) < 2:
        parser.error("two sizes are needed at least")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nasty.log"
        path.touch()
        _explain(path)  # what is compiled is kept
        empty_s = statistics.median(_explain(path).cpu_s for _ in range(3))
        curves = [_draw(path, name, sizes, asked.rounds, empty_s) for name in asked.only]
    return _conclude(curves)


def _draw(path: Path, name: str, sizes: tuple[int, ...], rounds: int, empty_s: float) -> Curve:
    times, peak = [], 0
    _write(path, name, sizes[0])
    _explain(path)  # what this log alone needs is compiled, and kept
    for size in sizes:
        _write(path, name, size)
        costs = [_explain(path) for _ in range(rounds)]
        times.append(max(0.0, statistics.median(cost.cpu_s for cost in costs) - empty_s))
        peak = max(peak, *(cost.peak_bytes for cost in costs))
    return Curve(name, sizes, tuple(times), peak)


def _write(path: Path, name: str, size: int) -> None:
    with path.open("wb") as file:
        file.writelines(make_log(name, size))


def _explain(path: Path) -> Cost:
    argv = [sys.executable, "-m", "firedup", "explain", "--json", str(path)]
    cost = measure(argv, env=dict(os.environ))
    if cost.status != 0:
        sys.exit(f"bench linear: explain ended with status {cost.status}")
    return cost


def _conclude(curves: list[Curve]) -> Result:
    sizes = "".join(f"{size / MIB:>9.4g}" for size in curves[0].sizes_bytes)
    rows = [f"{'CPU s, MiB:':18}{sizes}   ms/MiB  growth  peak MiB"]
    for curve in curves:
        times = "".join(f"{cpu_s:9.2f}" for cpu_s in curve.cpu_s)
        rows.append(
            f"{curve.name:18}{times}{curve.per_mib:9.1f}{curve.growth:8.2f}"
            f"{curve.peak_bytes / MIB:10.0f}"
        )
    worst = max(curves, key=lambda curve: curve.growth)
    slowest = max(curves, key=lambda curve: curve.per_mib)
    peak_mib = max(curve.peak_bytes for curve in curves) / MIB
    return {
        "figures": {
            "growth": round(worst.growth, 2),
            "slowest_ms_per_mib": round(slowest.per_mib, 1),
            "peak_mib": round(peak_mib, 1),
            **{f"growth_{c.name.replace('-', '_')}": round(c.growth, 2) for c in curves},
        },
        "bars": {"growth": BAR_GROWTH, "peak_mib": BAR_PEAK_MIB},
        "met": worst.growth <= BAR_GROWTH and peak_mib < BAR_PEAK_MIB,
        "table": "\n".join(rows),
    }
