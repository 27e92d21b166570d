"""What `check` of a checkpoint like Kimi-K2.5 takes, here and over SSH, held against its bars."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.kimi import LAYERS, Made, make_pair
from bench.measure import Cost, measure
from bench.sshhost import best_kind, ssh_host

if TYPE_CHECKING:
    from bench.result import Figure, Result

NAME = "fu-checkpoint"
QUESTION = ("--engine", "sglang", "--engine-version", "0.5.11", "--tp", "8", "--json")


def main(argv: list[str]) -> Result:
    """Check the pair here a few times, then through an agent behind SSH."""
    parser = argparse.ArgumentParser(prog="./dev bench checkpoint", description=__doc__)
    parser.add_argument("--experts", type=int, default=384, help="experts of each layer")
    parser.add_argument("--layers", type=int, default=LAYERS, help="layers of the target")
    parser.add_argument("--rounds", type=int, default=3, help="checks of each kind")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = make_pair(folder, asked.experts, asked.layers)
        words = [str(Path(sys.executable).with_name("firedup")), "check"]
        env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        paths = [str(made.target), str(made.draft)]
        out = folder / "checked.json"
        here = [_cost([*words, *paths, *QUESTION], env, out) for _ in range(asked.rounds)]
        first = json.loads(out.read_bytes())
        there, link_bytes = _over_ssh(words, paths, asked.rounds, folder)
    return _conclude(made, first, here, there, link_bytes)


def _cost(words: list[str], env: dict[str, str], out: Path) -> Cost:
    with out.open("wb") as file:
        cost = measure(words, env=env, stdout=file)
    if cost.status not in {0, 1}:
        sys.exit(f"bench checkpoint: firedup check ended with {cost.status}")
    return cost


def _over_ssh(
    words: list[str], paths: list[str], rounds: int, folder: Path
) -> tuple[list[Cost], int | None]:
    """The costs of the client, and the bytes of one check on the link, both ways."""
    kind = best_kind()
    if kind is None:
        return [], None
    with ssh_host(folder, kind, NAME) as box:
        env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        far = [f"{NAME}:{path}" for path in paths]
        out = folder / "far.json"
        costs = [_cost([*words, *far, *QUESTION], env, out) for _ in range(rounds)]
        return costs, box.proxy.bytes // rounds


def _conclude(
    made: Made,
    first: dict[str, Any],
    here: list[Cost],
    there: list[Cost],
    link_bytes: int | None,
) -> Result:
    figures: dict[str, Figure] = {
        "apparent_gb": round(made.apparent_bytes / 1e9, 1),
        "tensors": made.tensors,
        "findings": len(first["findings"]),
        "tensor_data_bytes": first["read_bytes"],
        "cpu_s": round(statistics.median(cost.cpu_s for cost in here), 2),
        "wall_s": round(statistics.median(cost.wall_s for cost in here), 2),
        "peak_mib": round(max(cost.peak_bytes for cost in here) / 2**20, 1),
        "link_bytes": link_bytes,
        "ssh_wall_s": round(statistics.median(c.wall_s for c in there), 2) if there else None,
    }
    bars: dict[str, Figure] = {
        "tensor_data_bytes": 4_000_000,
        "cpu_s": 2.5,
        "peak_mib": 400,
        "link_bytes": 1_000_000,
        "ssh_wall_s": 5.0,
    }
    met = all(_is_within(figures[name], bar) for name, bar in bars.items())
    rows = [f"{name:20}{figures[name]!s:>14}  bar {bars.get(name, '-')}" for name in figures]
    return {"figures": figures, "bars": bars, "met": met, "table": "\n".join(rows)}


def _is_within(figure: Figure, bar: Figure) -> bool:
    """Whether a figure keeps to its bar; what could not be measured breaks none."""
    if figure is None:
        return True
    assert isinstance(figure, int | float)
    assert isinstance(bar, int | float)
    return figure <= bar
