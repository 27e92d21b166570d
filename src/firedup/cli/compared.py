"""What `firedup compare` does, and how it and `firedup probe` show what was measured."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

import click

from firedup.cli.paper import choose_output
from firedup.core.error import FiredupError, UsageError
from firedup.core.measure.comparable import are_comparable, find_obstacles
from firedup.core.measure.decision import Advice, sum_up
from firedup.core.measure.judged import judge_arms
from firedup.core.measure.pairing import Design
from firedup.core.measure.stepcost import StepCost
from firedup.session.comparing import refuse_incomparable
from firedup.session.probe import BASELINE, CANDIDATE, Probed
from firedup.session.stepcost import read_step_costs
from firedup.store.probe import (
    StoredProbe,
    find_probe,
    list_probes,
    load_probe,
    probes_folder,
)
from firedup.view.measurement import SERVER, record_measurement, render_measurement
from firedup.view.probed import render_csv
from firedup.view.record import render_json
from firedup.view.redact import clean
from firedup.view.stepcost import record_step_cost, render_step_cost

# A comparison that says no, and one that says nothing.
_STATUS = {
    Advice.USE: 0,
    Advice.DO_NOT_USE: 1,
    Advice.FINE_TUNE: 1,
    Advice.FIX_SYSTEM: 1,
    Advice.UNDECIDED: 6,
}


def compare_kept(
    baseline: str, candidate: str, *, accuracy: float | None, csv_file: str | None, as_json: bool
) -> int:
    """Hold two measurements that are kept against each other, and return the exit status."""
    folder = probes_folder(os.environ)
    first, second = _find(folder, baseline), _find(folder, candidate)
    if first.id == second.id:
        raise UsageError(
            f"{baseline} and {candidate} are one and the same measurement, {first.id}",
            todo="Name two: firedup compare lists what is kept, and NAME~1 is the one before NAME.",
        )
    before, after = replace(first.arm, name=BASELINE), replace(second.arm, name=CANDIDATE)
    if not are_comparable(find_obstacles(before.conditions, after.conditions)):
        refuse_incomparable(before, after, kept=_list_pairs(folder, first, second))
    judged = judge_arms(before, after, Design.SEQUENTIAL, share=1.0)
    found = Probed(after, before, Design.SEQUENTIAL, judged)
    costs = read_step_costs(folder, after)
    return tell_probed(found, csv_file, as_json=as_json, accuracy=accuracy, costs=costs)


def _list_pairs(
    folder: Path, first: StoredProbe, second: StoredProbe
) -> list[tuple[StoredProbe, StoredProbe]]:
    """Each of the two with the other measurements of the other's server, the newest first."""
    pairs = []
    for path in list_probes(folder):
        try:
            one = load_probe(path)
        except FiredupError:
            continue
        if one.id not in (first.id, second.id) and one.name:
            pairs += [(first, one)] if one.name == second.name else []
            pairs += [(one, second)] if one.name == first.name else []
    return pairs


def _find(folder: Path, text: str) -> StoredProbe:
    found = find_probe(folder, text)
    if found is None:
        raise UsageError(
            f"no measurement of {text!r} is kept",
            why=f"{folder} has none with this id, and none of a run with this id or name",
            todo=f"Measure it while it is up: firedup probe {shlex.quote(text.partition('~')[0])}."
            " What is kept is listed by firedup probe --list.",
        )
    return found


def tell_probed(
    found: Probed,
    csv_file: str | None,
    *,
    as_json: bool,
    accuracy: float | None = None,
    costs: tuple[StepCost, ...] = (),
    shows_costs: bool = False,
    name: str = SERVER,
) -> int:
    """Show what was found, write the requests where that is wanted; the exit status.

    `costs` of a step go into the verdict, and with `shows_costs` are shown themselves.
    """
    if as_json:
        _print_json(found, accuracy=accuracy, costs=costs, shows_costs=shows_costs)
    else:
        _show(found, accuracy=accuracy, costs=costs, shows_costs=shows_costs, name=name)
    if csv_file:  # not before: what took long to measure is told whatever becomes of the file
        _write_csv(Path(csv_file), found)
    if found.failure is not None:
        return _STATUS[Advice.UNDECIDED]
    if found.judged is None:
        return 0
    return _STATUS[sum_up(found.judged.decisions)]


def _print_json(
    found: Probed, *, accuracy: float | None, costs: tuple[StepCost, ...], shows_costs: bool
) -> None:
    whole = (found.candidate, found.baseline, found.judged, found.design)
    record = record_measurement(
        *whole, accuracy=accuracy, is_cut_short=found.is_cut_short, costs=costs
    )
    record["kept"] = [path.stem for path in found.kept]
    record["notes"] = list(found.notes)
    if shows_costs:
        record["step_cost"] = record_step_cost(costs)
    click.echo(render_json(record))


def _show(
    found: Probed,
    *,
    accuracy: float | None,
    costs: tuple[StepCost, ...],
    shows_costs: bool,
    name: str,
) -> None:
    paper = choose_output()
    lines = render_measurement(
        found.candidate,
        found.baseline,
        found.judged,
        paper,
        accuracy=accuracy,
        is_cut_short=found.is_cut_short,
        costs=costs,
        name=name,
    )
    if shows_costs:
        lines += render_step_cost(costs, paper)
    for note in found.notes:
        lines += ["", *paper.fold(f"! {clean(note)}", rest="  ")]
    if found.kept:
        kept = ", ".join(path.stem for path in found.kept)
        lines += ["", paper.paint(f"kept as {kept}", "faint")]
    click.echo(paper.finish(lines))


def _write_csv(path: Path, found: Probed) -> None:
    arms = [arm for arm in (found.baseline, found.candidate) if arm is not None]
    try:
        path.write_text(render_csv(arms), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written", why=error.strerror) from None
