"""The list of runs, as a table for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from firedup.core.model import RunLabel, Stage, State, Verdict
from firedup.view.headline import VERDICT_LOOKS
from firedup.view.paper import Paper, count_columns, pad
from firedup.view.quantity import render_duration, render_rfc3339
from firedup.view.record import SCHEMA, round_s, word_of
from firedup.view.redact import clean

_TITLES = (
    "name",
    "host",
    "node",
    "verdict",
    "stage",
    "up",
    "port",
    "engine",
    "model",
    "id",
    "hooks",
    "cause",
)
# What is left out when the paper is narrow, in this order; the cause is shortened in between.
_DISPENSABLE = (("id", "engine", "model"), ("port", "stage", "hooks", "cause"))
_MOST = {"model": 32, "name": 28, "host": 28, "cause": 44}
_LEAST_CAUSE = 16


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in the list. `up_s` is None when its process does not live.

    `started_ns` is host wall time; `cause` is the failure class; `hook_failures` are sentences.
    `stall` is the finding for which firedup stopped it by itself.
    """

    run: RunLabel
    state: State
    verdict: Verdict
    engine: str | None = None
    stage: Stage | None = None
    started_ns: int | None = None
    up_s: float | None = None
    port: int | None = None
    model: str | None = None
    draft: str | None = None
    cause: str | None = None
    node: int = 0
    nodes: tuple[str, ...] = ()
    hook_failures: tuple[str, ...] = ()
    stall: str | None = None


def render_table(rows: Iterable[RunRow], paper: Paper, *, ended: int = 0) -> str:
    """The runs, the newest first as given, a line each; columns that do not fit are left out.

    Runs of one name on one host are told apart the way commands take them: `name`, `name~1`, …
    The host has a column unless all are on this machine. `ended`: how many runs are not among
    `rows` because they have ended.
    """
    rows = tuple(rows)
    cells = _number_names([_cells(row, paper) for row in rows])
    if all(row.run.host == "local" for row in rows):
        cells = [cell | {"host": ""} for cell in cells]
    if not cells:
        said = f"none lives; --all shows {ended} ended" if ended else "no runs"
        return paper.finish([said])
    shown = [title for title in _TITLES if any(cell[title] for cell in cells)]
    for group in _DISPENSABLE:
        for title in group:
            if _width(shown, cells) > paper.columns and title in shown:
                shown.remove(title)
        if "cause" in shown:
            cells = _shorten(
                cells, "cause", _width(shown, cells) - paper.columns, _LEAST_CAUSE, paper
            )
    for title, least in (("host", 5), ("name", 6)):
        if title in shown:
            cells = _shorten(cells, title, _width(shown, cells) - paper.columns, least, paper)
    widths = {title: max(count_columns(cell[title]) for cell in cells) for title in shown}
    widths = {title: max(width, len(title)) for title, width in widths.items()}
    head = "  ".join(_fit(title, title, widths) for title in shown)
    lines = [paper.paint(head.rstrip(), "faint")]
    for cell in cells:
        looks = VERDICT_LOOKS[Verdict(cell["verdict"].split(" ", 1)[1])]
        lines.append(
            "  ".join(
                paper.paint(_fit(cell[title], title, widths), looks[1])
                if title == "verdict"
                else _fit(cell[title], title, widths)
                for title in shown
            )
        )
    return paper.finish(lines)


def record_rows(
    rows: Iterable[RunRow], *, unreached: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The object that `ps --json` prints; `unreached`: hosts that gave no answer, and why."""
    troubles = [{"host": host, "what": clean(what)} for host, what in (unreached or {}).items()]
    return {"schema": SCHEMA, "runs": [record_row(row) for row in rows], "unreached": troubles}


def record_row(row: RunRow) -> dict[str, object]:
    """One run of that object."""
    place = {"node": row.node, "nodes": list(row.nodes)} if row.nodes else {}
    return {
        "id": row.run.id,
        "name": row.run.name,
        "host": row.run.host,
        "engine": row.engine,
        "state": str(row.state),
        "verdict": str(row.verdict),
        "stage": word_of(row.stage),
        "started": render_rfc3339(row.started_ns),
        "clock": "host",
        "up_s": round_s(row.up_s),
        "port": row.port,
        "model": row.model,
        "draft": row.draft,
        "cause": row.cause,
        "stall": row.stall,
        "hook_failures": [clean(failure) for failure in row.hook_failures],
        **place,
    }


def _cells(row: RunRow, paper: Paper) -> dict[str, str]:
    ended = row.state is State.EXITED
    return {
        "name": paper.cut_middle(clean(row.run.name), _MOST["name"]),
        "host": paper.cut_middle(clean(row.run.host), _MOST["host"]),
        "node": f"{row.node} of {len(row.nodes)}" if row.nodes else "",
        "verdict": f"{VERDICT_LOOKS[row.verdict][0]} {row.verdict}",
        "stage": _say_stage(row),
        "up": render_duration(row.up_s) if row.up_s is not None else "ended" if ended else "–",
        "port": str(row.port) if row.port is not None else "",
        "engine": clean(row.engine or ""),
        "model": paper.cut_middle(clean((row.model or "").rstrip("/").split("/")[-1]), 32),
        "id": clean(row.run.id),
        "hooks": f"{len(row.hook_failures)} failed" if row.hook_failures else "",
        "cause": paper.cut(clean(row.cause or say_stall_stop(row.stall)), _MOST["cause"]),
    }


def say_stall_stop(stall: str | None) -> str:
    """Why firedup stopped a server by itself, as short as a cause; empty where it did not."""
    return f"{stall}, stopped by firedup" if stall else ""


def _say_stage(row: RunRow) -> str:
    if row.verdict is Verdict.READY:
        return ""
    is_claimed = row.verdict is Verdict.LOADING and row.stage in (Stage.READY, Stage.SERVING)
    return "says ready" if is_claimed else (row.stage or "")


def _number_names(cells: list[dict[str, str]]) -> list[dict[str, str]]:
    seen: dict[tuple[str, str], int] = {}
    numbered = []
    for cell in cells:
        key = (cell["name"], cell["host"])
        before = seen.get(key, 0)
        seen[key] = before + 1
        numbered.append(cell | {"name": f"{cell['name']}~{before}"} if before else cell)
    return numbered


def _shorten(
    cells: list[dict[str, str]], title: str, over: int, least: int, paper: Paper
) -> list[dict[str, str]]:
    """The cells with one column made narrower by `over`, but not narrower than `least`."""
    if over <= 0:
        return cells
    room = max(least, max(count_columns(cell[title]) for cell in cells) - over)
    return [cell | {title: paper.cut_middle(cell[title], room)} for cell in cells]


def _width(shown: list[str], cells: list[dict[str, str]]) -> int:
    widths = [max(len(t), *(count_columns(cell[t]) for cell in cells)) for t in shown]
    return sum(widths) + 2 * (len(shown) - 1)


def _fit(text: str, title: str, widths: dict[str, int]) -> str:
    return pad(text, widths[title], to_the_right=title in ("up", "port"))
