"""All that is said of one measurement, in text and as JSON: figures, verdict, and doubts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firedup.core.measure.figures import CellFigures, figures_of
from firedup.core.measure.judged import Judged
from firedup.core.measure.measured import Arm
from firedup.core.measure.pairing import Design
from firedup.core.measure.sequential import Outlook
from firedup.core.measure.stepcost import StepCost
from firedup.core.measure.truth import check_truth
from firedup.view.cause import render_findings
from firedup.view.decision import record_decision, render_decision
from firedup.view.headline import render_section
from firedup.view.paper import Paper
from firedup.view.probed import record_probe
from firedup.view.probetable import Measured, render_probe
from firedup.view.reason import name_loads
from firedup.view.record import SCHEMA, record_finding

SERVER = "server"  # what is measured by itself, where it has no other name


def render_measurement(
    candidate: Arm,
    baseline: Arm | None,
    judged: Judged | None,
    paper: Paper,
    *,
    accuracy: float | None = None,
    is_cut_short: bool = False,
    costs: Sequence[StepCost] = (),
    name: str = SERVER,
) -> list[str]:
    """The figures of each arm, the verdict where there is one, and doubts about both.

    `accuracy` is a validation accuracy that somebody took for acceptance. `costs` of a step tell
    the best number of draft tokens. Without a baseline there is no candidate for anything, so the
    server is called `name`.
    """
    shown = candidate if baseline is not None else replace(candidate, name=name)
    measured = _measured(shown, baseline)
    lines = render_probe(measured, paper)
    if judged is not None:
        lines += _tell_pairs(measured, judged, paper)
    if is_cut_short and judged is not None and (why := _say_cut(judged)):
        lines += paper.fold(why, indent="  ", rest="    ")
    if judged is not None:
        lines += ["", *render_decision(judged, paper, costs=costs, accuracy=accuracy)]
    findings = check_truth(shown, baseline)
    return lines + render_section("of the measurement", render_findings(findings, paper), paper)


def record_measurement(
    candidate: Arm,
    baseline: Arm | None,
    judged: Judged | None,
    design: Design,
    *,
    accuracy: float | None = None,
    is_cut_short: bool = False,
    costs: Sequence[StepCost] = (),
) -> dict[str, object]:
    """The same for programs, with every request."""
    whole: dict[str, object] = {
        "schema": SCHEMA,
        "design": str(design),
        "cut_short": is_cut_short,
    }
    for arm, figures in _measured(candidate, baseline):
        whole[arm.name] = record_probe(arm, figures)
    if judged is not None:
        whole["decision"] = record_decision(judged, costs=costs, accuracy=accuracy)
    shown = candidate if baseline is not None else replace(candidate, name=SERVER)
    whole["findings"] = [record_finding(one) for one in check_truth(shown, baseline)]
    return whole


def _tell_pairs(measured: Measured, judged: Judged, paper: Paper) -> list[str]:
    """That the verdict is by fewer answers than the table, where that makes its figures differ."""
    counted = {one.case.load: one.case.speed_up.count for one in judged.decisions}
    fewer = [
        load
        for load, pairs in counted.items()
        if any(
            own.whole.requests > pairs
            for arm, figures in measured
            for cell, own in zip(arm.cells, figures, strict=True)
            if cell.load == load
        )
    ]
    if not fewer:
        return []
    many = ", ".join(f"{counted[load]} at {load.word}" for load in fewer)
    said = (
        "the verdict compares only prompts that both answered"
        f" ({many if len(counted) > 1 else counted[fewer[0]]}), so that its figures may differ from"
        " the table's"
    )
    return paper.fold(said, indent="  ", rest="    ")


def _say_cut(judged: Judged) -> str:
    """Why not all was asked, as far as it is for what was found; what broke it off is a note."""
    looks = judged.looks.items()
    settled = [load for load, one in looks if one.outlook in (Outlook.CERTAIN, Outlook.HOPELESS)]
    if not settled:
        return ""
    return f"not all was asked: more answers would decide nothing at {name_loads(settled)}"


def _measured(candidate: Arm, baseline: Arm | None) -> Sequence[tuple[Arm, list[CellFigures]]]:
    arms = [arm for arm in (baseline, candidate) if arm is not None]
    return [(arm, [figures_of(cell) for cell in arm.cells]) for arm in arms]
