"""Starts of servers over time, and what changed between two of them: tables and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from statistics import median

from firedup.core.difference import Change
from firedup.core.forecast import StageTime
from firedup.core.model import RunLabel, Stage, Verdict
from firedup.view.change import record_change, render_change
from firedup.view.headline import VERDICT_LOOKS
from firedup.view.paper import Paper, count_columns, pad
from firedup.view.quantity import render_count, render_duration, render_rfc3339
from firedup.view.record import SCHEMA, round_s, word_of
from firedup.view.redact import clean
from firedup.view.table import say_stall_stop

_TITLES = ("started", "name", "host", "verdict", "ready after", "slowest stages", "cause", "model")
_LONGEST = 2  # stages named in the table
_LEAST_S = 0.05
_LEAST_CAUSE = 20  # columns
_LEAST_NAME = 10
_YEAR = len("2026-")


@dataclass(frozen=True, slots=True)
class StartRow:
    """One start: what was concluded, and how long it took; `cause` is the failure class.

    `odd` are the processes whose stacks stood apart when it stood still, `stall` is the finding
    for which firedup stopped it by itself.
    `started_ns` is host wall time. `verdict` None: nothing is known of it yet.
    """

    run: RunLabel
    engine: str | None = None
    version: str | None = None
    model: str | None = None
    verdict: Verdict | None = None
    stage: Stage | None = None
    cause: str | None = None
    started_ns: int | None = None
    ready_after_s: float | None = None
    served_s: float | None = None
    stages: tuple[StageTime, ...] = ()
    odd: tuple[str, ...] = ()
    stall: str | None = None


def render_history(
    rows: Sequence[StartRow],
    paper: Paper,
    *,
    zone: tzinfo | None = None,
    wanted: str | None = None,
) -> str:
    """A line for each start, the newest first as given, and what those that came up took.

    Where the paper is narrow, what matters least goes first, and the cause last. `wanted` is the
    word that was looked for in the model's name.
    """
    if not rows and wanted is not None:
        said = f"no start is known of a model with {clean(wanted)} in its name"
        return paper.finish(paper.fold(said))
    if not rows:
        return paper.finish(["no starts are known; firedup run makes them"])
    cells = [_cells(row, paper, zone) for row in rows]
    shown = [title for title in _TITLES if any(cell[title] for cell in cells)]
    if all(row.run.host == "local" for row in rows) and "host" in shown:
        shown.remove("host")
    cells = _make_room(shown, cells, paper)
    widths = {t: max(len(t), *(count_columns(cell[t]) for cell in cells)) for t in shown}
    lines = [paper.paint("  ".join(pad(title, widths[title]) for title in shown).rstrip(), "faint")]
    lines += ["  ".join(pad(cell[t], widths[t]) for t in shown).rstrip() for cell in cells]
    lines = [paper.clip(line, paper.columns) for line in lines]
    return paper.finish([*lines, *_sum_up(rows, paper)])


def render_changes(
    old: StartRow, new: StartRow, changes: Sequence[Change], paper: Paper
) -> list[str]:
    """How the start `new` differs from `old`: what it was given, and what came of it."""
    lines = [*paper.fold(_say_start(old), rest="  "), *paper.fold(_say_start(new), rest="  "), ""]
    for change in changes:
        said = render_change(change.name, change.old, change.new)
        lines += paper.fold(said, indent="  ", rest="      ")
    if not changes:
        lines += paper.fold("the same command, environment, versions and files", indent="  ")
    before = {time.stage: time.seconds for time in old.stages}
    after = {time.stage: time.seconds for time in new.stages}
    names = [stage for stage in Stage if stage in before or stage in after]
    if names:
        lines.append("")
    width = max((count_columns(str(stage)) for stage in names), default=0)
    for stage in names:
        took = f"{_took(before.get(stage))} → {_took(after.get(stage))}"
        lines.append(f"  {pad(str(stage), width)}  {took}")
    return [paper.spell(line) for line in lines]


def record_history(
    rows: Sequence[StartRow], *, unreached: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The object that `history --json` prints; `unreached`: hosts that gave no answer, and why."""
    troubles = [{"host": host, "what": clean(what)} for host, what in (unreached or {}).items()]
    starts = [record_start(row) for row in rows]
    return {"schema": SCHEMA, "starts": starts, "unreached": troubles}


def record_changes(old: StartRow, new: StartRow, changes: Sequence[Change]) -> dict[str, object]:
    """The object that `history RUN RUN --json` prints."""
    return {
        "schema": SCHEMA,
        "old": record_start(old),
        "new": record_start(new),
        "changes": [record_change(change.name, change.old, change.new) for change in changes],
    }


def record_start(row: StartRow) -> dict[str, object]:
    """One start of these objects."""
    return {
        "id": row.run.id,
        "name": row.run.name,
        "host": row.run.host,
        "engine": row.engine,
        "version": row.version,
        "model": row.model,
        "verdict": word_of(row.verdict),
        "stage": word_of(row.stage),
        "cause": row.cause,
        "odd": list(row.odd),
        "stall": row.stall,
        "started": render_rfc3339(row.started_ns),
        "clock": "host",
        "ready_after_s": round_s(row.ready_after_s),
        "served_s": round_s(row.served_s),
        "stages": [
            {
                "stage": str(time.stage),
                "began_s": round_s(time.began_s),
                "seconds": round_s(time.seconds),
            }
            for time in row.stages
        ],
    }


def _cells(row: StartRow, paper: Paper, zone: tzinfo | None) -> dict[str, str]:
    longest = sorted(row.stages, key=lambda time: time.seconds, reverse=True)[:_LONGEST]
    slow = [f"{t.stage} {render_duration(t.seconds)}" for t in longest if t.seconds >= _LEAST_S]
    looks = f"{VERDICT_LOOKS[row.verdict][0]} {row.verdict}" if row.verdict else ""
    return {
        "started": _say_time(row.started_ns, zone),
        "name": paper.cut_middle(clean(row.run.name), 28),
        "host": paper.cut_middle(clean(row.run.host), 28),
        "verdict": looks,
        "ready after": "" if row.ready_after_s is None else render_duration(row.ready_after_s),
        "slowest stages": ", ".join(slow),
        "cause": clean(row.cause or _say_stall(row)),
        "model": paper.cut_middle(clean((row.model or "").rstrip("/").split("/")[-1]), 32),
    }


def _make_room(shown: list[str], cells: list[dict[str, str]], paper: Paper) -> list[dict[str, str]]:
    """The cells, shortened until they fit; titles that find no room are taken out of `shown`."""
    slow = "slowest stages"
    steps: tuple[Callable[[], None], ...] = (
        lambda: _drop("model", shown),
        lambda: _change(cells, slow, lambda text: text.partition(", ")[0]),
        lambda: _drop(slow, shown),
        lambda: _drop("host", shown),
        lambda: _change(cells, "started", lambda text: text[_YEAR:]),
        lambda: _change(cells, "name", lambda text: paper.cut_middle(text, _LEAST_NAME)),
        lambda: _drop("ready after", shown),
    )
    cells = [dict(cell) for cell in cells]
    widest = max(count_columns(cell["cause"]) for cell in cells)
    spare = max(0, widest - _LEAST_CAUSE) if "cause" in shown else 0
    for step in steps:
        if _width(shown, cells) - spare <= paper.columns:
            break
        step()
    room = max(8, widest - max(0, _width(shown, cells) - paper.columns))
    _change(cells, "cause", lambda text: paper.cut_middle(text, room))
    return cells


def _drop(title: str, shown: list[str]) -> None:
    if title in shown:
        shown.remove(title)


def _change(cells: list[dict[str, str]], title: str, change: Callable[[str], str]) -> None:
    for cell in cells:
        cell[title] = change(cell[title])


def _sum_up(rows: Sequence[StartRow], paper: Paper) -> list[str]:
    """What the starts of each model took that came up, where there are two or more."""
    kinds: dict[tuple[str, str], list[StartRow]] = {}
    for row in rows:
        kinds.setdefault((row.model or row.run.name, row.run.host), []).append(row)
    lines = []
    for (model, _), group in kinds.items():
        took = [row.ready_after_s for row in group if row.ready_after_s is not None]
        if len(took) < 2:
            continue
        name = clean(model.rstrip("/").split("/")[-1])
        span = f"{render_duration(min(took))}–{render_duration(max(took))}"
        said = f"{len(took)} of {render_count(len(group), 'start')} came up, after"
        lines.append(f"{name}: {said} {render_duration(median(took))} in the middle ({span})")
    return ["", *(part for line in lines for part in paper.fold(line, rest="  "))] if lines else []


def _say_start(row: StartRow) -> str:
    name = f"{clean(row.run.name)} ({clean(row.run.id)})"
    if row.ready_after_s is not None:
        return f"{name}: ready after {render_duration(row.ready_after_s)}"
    at = f" in {row.stage}" if row.stage else ""
    cause = clean(row.cause or _say_stall(row))
    cause = cause and f", {cause}"
    return f"{name}: {row.verdict or 'no verdict'}{at}{cause}"


def _say_stall(row: StartRow) -> str:
    """Who stood apart when it stood still, and whether firedup stopped it for that."""
    more = f" and {len(row.odd) - 2} more" if len(row.odd) > 2 else ""
    said = [f"{' '.join(row.odd[:2])}{more} stood apart"] if row.odd else []
    return ", ".join([*said, *filter(None, (say_stall_stop(row.stall),))])


def _took(seconds: float | None) -> str:
    return "none" if seconds is None else render_duration(seconds)


def _say_time(wall_ns: int | None, zone: tzinfo | None) -> str:
    if wall_ns is None:
        return ""
    moment = datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC).astimezone(zone)
    return moment.strftime("%Y-%m-%d %H:%M")


def _width(shown: list[str], cells: list[dict[str, str]]) -> int:
    widths = [max(len(t), *(count_columns(cell[t]) for cell in cells)) for t in shown]
    return sum(widths) + 2 * (len(shown) - 1)
