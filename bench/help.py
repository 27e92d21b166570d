"""CPU time of `firedup --help` against a bare Python interpreter."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import measure_in_turn, median_cpu_s

if TYPE_CHECKING:
    from bench.result import Result

BAR = 4.0


def main(argv: list[str]) -> Result:
    """Measure both in turn; the bar is the ratio of the medians."""
    parser = argparse.ArgumentParser(prog="./dev bench help", description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="runs of each (default %(default)s)")
    rounds: int = parser.parse_args(argv).rounds
    firedup = str(Path(sys.executable).with_name("firedup"))
    programs = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "firedup --help": [firedup, "--help"],
        "firedup --version": [firedup, "--version"],
        "import firedup.cli": [sys.executable, "-c", "import firedup.cli"],
    }
    costs = measure_in_turn(programs, rounds=rounds)
    failed = [name for name, runs in costs.items() if any(run.status for run in runs)]
    if failed:
        sys.exit(f"bench help: exit status other than 0 from: {', '.join(failed)}")
    cpu_s = {name: median_cpu_s(runs) for name, runs in costs.items()}
    bare = cpu_s["python -c pass"]
    ratio = cpu_s["firedup --help"] / bare
    rows = [f"{'median of ' + str(rounds) + ' runs':20}{'CPU ms':>8}{'ratio':>8}"]
    rows += [f"{name:20}{value * 1e3:8.1f}{value / bare:8.2f}" for name, value in cpu_s.items()]
    return {
        "figures": {
            "help_cpu_ms": round(cpu_s["firedup --help"] * 1e3, 2),
            "bare_cpu_ms": round(bare * 1e3, 2),
            "ratio": round(ratio, 2),
        },
        "bars": {"ratio": BAR},
        "met": ratio <= BAR,
        "table": "\n".join(rows),
    }
