"""CPU time of `firedup explain` on a log of 1 GB against grep with the shell loop's words."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import Cost, measure, median_cpu_s
from bench.serving import write_log

if TYPE_CHECKING:
    from bench.result import Result

# Ready, crash and progress, as the loop looks for them.
WORDS = (
    "fired up|RuntimeError|Traceback|CUDA error|killed|Segfault|Load weight|Memory pool|cuda graph"
    "|Capture|EAGLE|specul|draft"
)
BAR, STRETCH, BAR_PEAK_MIB, BAR_COLOUR = 0.75, 0.5, 200, 10.0
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Variant:
    """One kind of log. `share` is its part of the full size; `verdict` what `explain` must say."""

    name: str
    verdict: str
    share: float = 1.0
    crashes: bool = False
    colours: bool = False


VARIANTS = (
    Variant("healthy", "ready"),
    Variant("crashed", "crashed", crashes=True),
    Variant("coloured", "ready", share=1 / 8, colours=True),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs over one log."""

    size_bytes: int
    grep: list[Cost]
    firedup: list[Cost]

    @property
    def ratio(self) -> float:
        """CPU of firedup for each CPU second of grep."""
        return median_cpu_s(self.firedup) / median_cpu_s(self.grep)

    def per_gib(self, costs: list[Cost]) -> float:
        """Median CPU seconds for 1 GiB."""
        return median_cpu_s(costs) * 1024 * MIB / self.size_bytes


def main(argv: list[str]) -> Result:
    """Write each log, then run grep and firedup over it in turn."""
    parser = argparse.ArgumentParser(prog="./dev bench scan", description=__doc__)
    parser.add_argument("--size-mib", type=int, default=1000, help="default %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the logs are put for the time being")
    parser.add_argument("--keep", action="store_true", help="leave the logs there")
    asked = parser.parse_args(argv)
    measured: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for variant in VARIANTS:
            path = Path(asked.folder if asked.keep else folder) / f"{variant.name}.log"
            size_bytes = int(asked.size_mib * MIB * variant.share)
            write_log(path, size_bytes, crashes=variant.crashes, colours=variant.colours)
            measured[variant.name] = _measure(variant, path, asked.rounds)
            if not asked.keep:
                path.unlink()
    return _conclude(measured, asked.rounds)


def _measure(variant: Variant, path: Path, rounds: int) -> Measured:
    """A first round fills the caches and checks the answer; it does not count."""
    firedup = [str(Path(sys.executable).with_name("firedup")), "explain", "--json", str(path)]
    grep = ["grep", "-ciE", WORDS, str(path)]
    found: dict[str, list[Cost]] = {"grep": [], "firedup": []}
    for count in range(rounds + 1):
        for name, words in (("grep", grep), ("firedup", firedup)):
            # Into a file: grep stops at the first match when its output is the null device.
            with tempfile.TemporaryFile() as output:
                cost = measure(words, env={**os.environ, "LC_ALL": "C"}, stdout=output)
                output.seek(0)
                answer = output.read()
            if cost.status != 0:
                sys.exit(f"bench scan: {name} ended with status {cost.status} on {variant.name}")
            if count:
                found[name].append(cost)
            elif name == "firedup":
                _check(variant, path, json.loads(answer))
    return Measured(path.stat().st_size, found["grep"], found["firedup"])


def _check(variant: Variant, path: Path, answer: dict[str, object]) -> None:
    """The figures count only when the answer is right, the cause's line number included."""
    verdict, cause = answer["verdict"], answer["cause"]
    if verdict != variant.verdict:
        sys.exit(f"bench scan: the {variant.name} log was called {verdict}")
    if not variant.crashes:
        return
    assert isinstance(cause, dict)
    with path.open("rb") as file:
        file.seek(cause["offset"])
        line = file.readline().rstrip(b"\n").decode()
        file.seek(0)
        left, number = cause["offset"], 1
        while left > 0 and (block := file.read(min(left, MIB))):
            number += block.count(b"\n")
            left -= len(block)
    assert line == cause["line"], f"the cause is not at its offset: {line!r}"
    assert number == cause["line_number"], f"the cause is in line {number}"


def _conclude(measured: dict[str, Measured], rounds: int) -> Result:
    head = f"median of {rounds}"
    rows = [f"{head:12}{'MiB':>6}  {'CPU s/GiB: grep':>15}  firedup  ratio  peak MiB"]
    for name, one in measured.items():
        rows.append(
            f"{name:12}{one.size_bytes / MIB:6.0f}  {one.per_gib(one.grep):15.2f}"
            f"{one.per_gib(one.firedup):9.2f}{one.ratio:7.2f}{_peak_mib(one):10.0f}"
        )
    full = [one for name, one in measured.items() if name != "coloured"]
    ratio = max(one.ratio for one in full)
    peak_mib = max(_peak_mib(one) for one in measured.values())
    healthy = measured["healthy"]
    colour = measured["coloured"].per_gib(measured["coloured"].firedup)
    colour_ratio = colour / healthy.per_gib(healthy.firedup)
    rows.append(f"a coloured log costs {colour_ratio:.1f} times a plain one")
    return {
        "figures": {
            **{f"ratio_{name}": round(one.ratio, 3) for name, one in measured.items()},
            "firedup_cpu_s_per_gib": round(healthy.per_gib(healthy.firedup), 3),
            "grep_cpu_s_per_gib": round(healthy.per_gib(healthy.grep), 3),
            "ratio": round(ratio, 3),
            "is_stretch_met": ratio <= STRETCH,
            "colour_ratio": round(colour_ratio, 2),
            "peak_mib": round(peak_mib, 1),
        },
        "bars": {"ratio": BAR, "peak_mib": BAR_PEAK_MIB, "colour_ratio": BAR_COLOUR},
        "met": ratio <= BAR and peak_mib < BAR_PEAK_MIB and colour_ratio <= BAR_COLOUR,
        "table": "\n".join(rows),
    }


def _peak_mib(one: Measured) -> float:
    return max(cost.peak_bytes for cost in one.firedup) / MIB
