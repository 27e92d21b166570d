"""Puts a measurement on one line with those of the same server that are kept."""

from __future__ import annotations

from pathlib import Path

from firedup.core.error import UsageError
from firedup.core.measure.measured import Arm
from firedup.core.measure.stepcost import StepCost, choose_alike, fit_step_cost
from firedup.store.probe import list_probes, load_probe


def read_step_costs(folder: Path, arm: Arm) -> tuple[StepCost, ...]:
    """The cost of a step by draft tokens under each load of `arm`, where a line can be had.

    Files in `folder` that hold no measurement are passed over.
    """
    kept: list[Arm] = []
    for path in list_probes(folder):
        try:
            past = load_probe(path).arm
        except UsageError:
            continue
        if past.wall_ns != arm.wall_ns:
            kept.append(past)
    alike = (arm, *choose_alike(arm, kept))
    costs = (fit_step_cost(alike, cell.load) for cell in arm.cells)
    return tuple(cost for cost in costs if cost is not None)
