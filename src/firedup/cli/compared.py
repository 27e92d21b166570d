"""What `firedup compare` does, and how it and `firedup probe` show what was measured."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

import click

from firedup.cli.paper import choose_output
from firedup.core.decision import Advice, sum_up
from firedup.core.error import UsageError
from firedup.core.figures import figures_of
from firedup.core.judged import judge_arms
from firedup.core.pairing import Design
from firedup.core.truth import check_truth
from firedup.session.probe import BASELINE, CANDIDATE, Probed, refuse_incomparable
from firedup.store.probe import StoredProbe, find_probe, probes_folder
from firedup.view.cause import render_findings
from firedup.view.decision import record_decision, render_decision
from firedup.view.headline import render_section
from firedup.view.probed import record_probe, render_csv, render_probe
from firedup.view.record import SCHEMA, record_finding, render_json

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
    arms = [
        replace(_find(folder, text).arm, name=name)
        for text, name in ((baseline, BASELINE), (candidate, CANDIDATE))
    ]
    before, after = arms
    refuse_incomparable(before, after)
    judged = judge_arms(before, after, Design.SEQUENTIAL, share=1.0)
    found = Probed(after, before, Design.SEQUENTIAL, judged)
    return tell_probed(found, csv_file, as_json=as_json, accuracy=accuracy)


def _find(folder: Path, text: str) -> StoredProbe:
    found = find_probe(folder, text)
    if found is None:
        raise UsageError(
            f"no measurement of {text!r} is kept",
            why=f"{folder} has none with this id, and none of a run with this id or name",
            todo=f"Measure it while it is up: firedup probe {shlex.quote(text)}",
        )
    return found


def tell_probed(
    found: Probed, csv_file: str | None, *, as_json: bool, accuracy: float | None = None
) -> int:
    """Show what was found, write the requests where that is wanted; the exit status."""
    if csv_file:
        _write_csv(Path(csv_file), found)
    _show(found, as_json=as_json, accuracy=accuracy)
    if found.judged is None:
        return 0
    return _STATUS[sum_up(found.judged.decisions)]


def _show(found: Probed, *, as_json: bool, accuracy: float | None) -> None:
    arms = [arm for arm in (found.baseline, found.candidate) if arm is not None]
    measured = [(arm, [figures_of(cell) for cell in arm.cells]) for arm in arms]
    judged = found.judged
    findings = check_truth(found.candidate, found.baseline)
    if as_json:
        whole: dict[str, object] = {"schema": SCHEMA, "design": str(found.design)}
        whole |= {arm.name: record_probe(arm, figures) for arm, figures in measured}
        if judged is not None:
            whole["decision"] = record_decision(
                judged.decisions, crossing=judged.crossing, obstacles=judged.obstacles
            )
        whole["findings"] = [record_finding(finding) for finding in findings]
        whole["kept"] = [path.stem for path in found.kept]
        click.echo(render_json(whole))
        return
    paper = choose_output()
    lines = render_probe(measured, paper)
    if judged is not None:
        lines += [
            "",
            *render_decision(
                judged.decisions,
                paper,
                crossing=judged.crossing,
                accuracy=accuracy,
                obstacles=judged.obstacles,
            ),
        ]
    lines += render_section("of the measurement", render_findings(findings, paper), paper)
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
