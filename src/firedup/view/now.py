"""What goes on at one moment, a labelled line each: cause, ranks, last line, silence, processes."""

from __future__ import annotations

from dataclasses import replace

from firedup.core.model import Snapshot
from firedup.view.eta import say_eta
from firedup.view.link import say_link
from firedup.view.nodes import say_nodes
from firedup.view.pace import Pace
from firedup.view.paper import COMPACT_BELOW, Paper, count_columns, pad
from firedup.view.phrase import (
    CAUSE_COLUMNS,
    IDLE_CORES,
    QUIET_S,
    say_cause,
    say_last_line,
    say_processes,
    say_ranks,
    say_state,
    say_wait,
)
from firedup.view.quantity import render_duration
from firedup.view.stack import say_stacks

_LONG_QUIET_S = 60.0
_IN_FULL = ("waits for", "ready", "log")  # what needs its label to be understood


def render_now(
    snapshot: Snapshot,
    paper: Paper,
    *,
    pace: Pace,
    ranks: str | None = None,
    age_s: float = 0.0,
) -> list[str]:
    """An empty line and the facts below it; nothing when nothing is known."""
    quiet_s = 0.0 if snapshot.quiet_s is None else snapshot.quiet_s + age_s
    quiet = f"quiet for {render_duration(int(quiet_s))}" if quiet_s >= QUIET_S else ""
    is_busy = (pace.cpu_cores or 0.0) >= IDLE_CORES or bool(pace.read_bytes_per_s)
    if quiet and is_busy:
        quiet += ", while its processes work"
    stacks = snapshot.explanation.stacks
    facts = (
        ("cause", say_cause(snapshot), "red"),
        ("", say_link(snapshot.link) if snapshot.link else say_state(snapshot), "yellow"),
        ("nodes", say_nodes(snapshot), ""),
        ("stacks", say_stacks(stacks) if stacks else "", "yellow"),
        ("ranks", say_ranks(snapshot) if ranks is None else ranks, ""),
        ("waits for", say_wait(snapshot), ""),
        ("ready", say_eta(snapshot), ""),
        ("last line", say_last_line(snapshot), "faint"),
        ("log", quiet, "yellow" if quiet_s >= _LONG_QUIET_S and not is_busy else ""),
        ("processes", say_processes(snapshot, pace), ""),
    )
    draw = _compact_fact if paper.columns < COMPACT_BELOW else _fact
    lines = [line for label, text, tone in facts if text for line in draw(label, text, tone, paper)]
    return ["", *lines] if lines else []


def _fact(label: str, text: str, tone: str, paper: Paper) -> list[str]:
    head = f"  {pad(label, 10)}  " if label else "  "
    room = paper.columns - count_columns(head)
    if label == "cause":
        first, *rest = _quote(text, room, paper)
        indent = " " * count_columns(head)
        painted = paper.paint(head, "faint") + paper.paint(first, tone)
        return [painted, *(indent + paper.paint(line, tone) for line in rest)]
    shown = paper.cut_middle(text, room) if label == "last line" else paper.cut(text, room)
    return [paper.paint(head, "faint") + paper.paint(shown, tone)]


def _compact_fact(label: str, text: str, tone: str, paper: Paper) -> list[str]:
    if label == "cause":
        return ["  " + paper.paint(line, tone) for line in _quote(text, paper.columns - 2, paper)]
    if label == "last line":
        return ["  " + paper.paint(paper.cut_middle(text, paper.columns - 2), tone)]
    said = f"{label} {text}" if label in _IN_FULL else text
    return [paper.paint(line, tone) for line in paper.fold(said, indent="  ")[:2]]


def _quote(text: str, room: int, paper: Paper) -> list[str]:
    """The cause in as many lines as its beginning needs; the statement that follows has more."""
    shown = paper.cut_message(text, max(room, CAUSE_COLUMNS))
    return replace(paper, columns=max(20, room)).fold(shown)
