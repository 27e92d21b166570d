"""How a run that failed differs from the last one like it that came up."""

from __future__ import annotations

from firedup.core.difference import Comparison
from firedup.view.change import record_change, render_change
from firedup.view.headline import render_section
from firedup.view.paper import Paper
from firedup.view.redact import clean

MOST_CHANGES = 5


def render_comparison(
    comparison: Comparison | None, paper: Paper, *, has_all: bool = False
) -> list[str]:
    """A section with one line for each change, at most five unless `has_all`; none without one."""
    if comparison is None:
        return []
    shown = comparison.changes if has_all else comparison.changes[:MOST_CHANGES]
    lines = [f"run {clean(comparison.run)} came up; since then:"]
    for change in shown:
        said = render_change(change.name, change.old, change.new)
        lines += paper.fold(said, indent="  ", rest="      ")
    if len(shown) < len(comparison.changes):
        hidden = f"and {len(comparison.changes) - len(shown)} more, all of them in --json"
        lines.append(paper.paint(f"  {hidden}", "faint"))
    if not comparison.changes:
        same = (
            f"run {clean(comparison.run)} came up with the same command and environment: look for"
            " what changed on the host (packages, driver, other processes, files)."
        )
        lines = paper.fold(same, indent="  ")
        return render_section("the last good run", lines, paper)
    return render_section("the last good run", lines, paper, is_joined=True)


def record_comparison(comparison: Comparison | None) -> dict[str, object] | None:
    """The same as a JSON object, without secrets."""
    if comparison is None:
        return None
    changes = [record_change(change.name, change.old, change.new) for change in comparison.changes]
    return {"run": comparison.run, "changes": changes}
