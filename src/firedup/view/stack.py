"""Stacks of a server's processes, gathered: in a sentence, in a few lines, and as JSON."""

from __future__ import annotations

from collections import Counter
from datetime import tzinfo

from firedup.core.stack import KERNEL, Frame, StackGroup, StackMember, Stacks
from firedup.view.headline import render_section
from firedup.view.paper import Paper
from firedup.view.phrase import name_place
from firedup.view.quantity import render_clock, render_rfc3339
from firedup.view.redact import clean

MOST_GROUPS = 4  # that are shown for people; JSON has more, and the file all
MOST_CALLS = 6  # of a stack that stands apart
_MOST_NAMES = 8
_LOCAL = "local"


def say_stacks(stacks: Stacks) -> str:
    """Who stands apart and where, and where the others are, in one line; "" if nothing was seen."""
    if not stacks.has_any:
        return ""
    names = _Names(stacks)
    ranks = [group for group in stacks.groups if group.is_rank] or list(stacks.groups)
    ordered = sorted(ranks, key=lambda group: not group.is_odd)
    return "; ".join(_say_group(group, names) for group in ordered[:MOST_GROUPS])


def render_groups(stacks: Stacks) -> tuple[str, ...]:
    """A line for each group, those that stand apart first, and where the whole text is."""
    names = _Names(stacks)
    groups = sorted(_choose(stacks), key=lambda group: not group.is_odd)
    kept = (f"stacks: {clean(stacks.path)}",) if stacks.path is not None else ()
    return (*(_say_group(group, names) for group in groups), *kept)


def say_odd(stacks: Stacks | None) -> str | None:
    """Who stands apart and where, for a table; None where nobody does."""
    if stacks is None or not stacks.odd:
        return None
    names = _Names(stacks)
    return "; ".join(f"{names.join(g)} {_say_where(g)}" for g in stacks.odd[:2])


def render_stacks(
    stacks: Stacks | None,
    paper: Paper,
    *,
    host: str = _LOCAL,
    zone: tzinfo | None = None,
    has_all: bool = False,
) -> list[str]:
    """A section with a few lines for each group of equal stacks; nothing where none were taken.

    `has_all` shows every group with all calls that are known.
    """
    if stacks is None or not stacks.groups:
        return []
    names = _Names(stacks)
    shown = stacks.groups if has_all else _choose(stacks)
    lines: list[str] = []
    for group in shown:
        lines += _group(group, names, paper, has_all=has_all)
    if len(shown) < len(stacks.groups):
        lines.append(paper.paint(f"  and {len(stacks.groups) - len(shown)} more groups", "faint"))
    whys = dict.fromkeys(clean(group.why_not) for group in shown if group.why_not)
    for why in list(whys)[: None if has_all else 2]:
        lines += [paper.paint(line, "faint") for line in paper.fold(why, indent="  · ")]
    if stacks.path is not None:  # whole, so that it can be copied
        lines.append(paper.paint("  all of it: ", "faint") + clean(name_place(host, stacks.path)))
    taken = f"stacks at {render_clock(stacks.wall_ns, zone)}"
    return render_section(taken, lines, paper)


def record_stacks(stacks: Stacks | None) -> dict[str, object] | None:
    """The same as a JSON object, with all groups."""
    if stacks is None:
        return None
    return {
        "time": render_rfc3339(stacks.wall_ns),
        "clock": "host",
        "path": stacks.path,
        "groups": [_record_group(group) for group in stacks.groups],
    }


class _Names:
    """Processes by their names, with the pid beside it where that says who is meant."""

    def __init__(self, stacks: Stacks) -> None:
        members = [(one, group.is_rank) for group in stacks.groups for one in group.members]
        counts = Counter(one.name for one, _ in members)
        self._plain = {one.pid for one, is_rank in members if is_rank and counts[one.name] == 1}

    def join(self, group: StackGroup) -> str:
        """The names of a group's members, the first of them where there are many."""
        shown = [self._name(one) for one in group.members[:_MOST_NAMES]]
        more = len(group.members) - len(shown)
        return " ".join(shown) + (f" and {more} more" if more else "")

    def _name(self, one: StackMember) -> str:
        name = clean(one.name)
        return name if one.pid in self._plain else f"{name} (pid {one.pid})"


def _choose(stacks: Stacks) -> tuple[StackGroup, ...]:
    """The groups that tell most: those that stand apart, the largest, then the others."""
    order = sorted(range(len(stacks.groups)), key=lambda n: (not stacks.groups[n].is_odd, n))[
        :MOST_GROUPS
    ]
    return tuple(stacks.groups[n] for n in sorted(order))


def _say_group(group: StackGroup, names: _Names) -> str:
    return f"{names.join(group)}{_odd(group)} {_say_where(group)}"


def _say_where(group: StackGroup) -> str:
    where = group.at or (group.frames[0] if group.frames else None)
    is_many = len(group.members) > 1
    if group.wait == "stopped":
        return "are stopped by a signal" if is_many else "is stopped by a signal"
    if where is None:
        return "could not be looked into"
    verb = ("wait in" if is_many else "waits in") if group.meaning.startswith("waits") else "in"
    return f"{verb} {_say_frame(where)}"


def _odd(group: StackGroup) -> str:
    if not group.is_odd:
        return ""
    return " (odd one out)" if len(group.members) == 1 else " (odd ones out)"


def _say_frame(frame: Frame) -> str:
    function = clean(frame.function)
    if frame.file == KERNEL:
        return f"{function} of the kernel"
    return f"{function} ({clean(frame.place)})" if frame.file else function


def _group(group: StackGroup, names: _Names, paper: Paper, *, has_all: bool) -> list[str]:
    """Whom it is about and where they are, what that means, and the calls of who stands apart."""
    folded = paper.fold(_say_group(group, names), indent="  ", rest="      ")
    tones = ("yellow", "bold") if group.is_odd else ("",)
    lines = [paper.paint(line, *tones) for line in folded]
    if group.meaning and group.wait != "stopped" and (group.is_rank or not group.is_generic):
        each = "each " if len(group.members) > 1 else ""
        lines += [
            paper.paint(line, "faint") for line in paper.fold(each + group.meaning, indent="    ")
        ]
    if not (group.is_odd or has_all):
        return lines
    is_told = bool(group.frames) and group.at in (None, group.frames[0])
    for frame in group.frames[is_told : None if has_all else MOST_CALLS]:
        lines.append(paper.cut(f"      {_say_frame(frame)}", paper.columns))
    if group.is_odd and group.parts_at is not None:
        parts = f"parts from the others in {_say_frame(group.parts_at)}"
        lines += [paper.paint(line, "faint") for line in paper.fold(parts, indent="    ")]
    return lines


def _record_group(group: StackGroup) -> dict[str, object]:
    return {
        "ranks": [one.name for one in group.members] if group.is_rank else [],
        "processes": [
            {
                "name": one.name,
                "pid": one.pid,
                "state": one.state or None,
                "by": one.by,
                "threads": one.threads,
            }
            for one in group.members
        ],
        "odd": group.is_odd,
        "wait": group.wait,
        "meaning": group.meaning or None,
        "at": _record_frame(group.at),
        "parts_at": _record_frame(group.parts_at),
        "parts_to": _record_frame(group.parts_to),
        "frames": [_record_frame(frame) for frame in group.frames],
        "hidden_frames": group.hidden,
        "why_not": group.why_not or None,
    }


def _record_frame(frame: Frame | None) -> dict[str, object] | None:
    if frame is None:
        return None
    return {"function": frame.function, "file": frame.file or None, "line": frame.line}
