"""What a probe measured: a table for each load, bars by category; and the same as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from firedup.core.accepted import positions_of_cell
from firedup.core.figures import CellFigures, Figures
from firedup.core.measured import Arm, Cell, Conditions, Estimate, Load, Request
from firedup.view.bar import render_bar
from firedup.view.change import record_change
from firedup.view.paper import Paper, pad
from firedup.view.quantity import render_estimate, render_rfc3339
from firedup.view.record import SCHEMA
from firedup.view.redact import clean, redact_argv

_TITLE_COLUMNS = 24
_ARM_COLUMNS = 28
_BAR_COLUMNS = 20

Measured = Sequence[tuple[Arm, Sequence[CellFigures]]]
_Column = tuple[Arm, Cell, CellFigures]


def render_probe(measured: Measured, paper: Paper) -> list[str]:
    """A block of lines for each load, with a column for each arm that was measured under it.

    Arms may have been measured under other loads, and a probe that was cut short in other parts.
    """
    lines: list[str] = []
    for load in dict.fromkeys(cell.load for arm, _ in measured for cell in arm.cells):
        columns = [
            (arm, cell, own)
            for arm, figures in measured
            for cell, own in zip(arm.cells, figures, strict=True)
            if cell.load == load
        ]
        last, cell, figures = columns[-1]
        lines += ["", paper.paint(_headline(load), "bold")]
        lines.append(_row("", [arm.name for arm, _, _ in columns], paper))
        lines += [_row(title, values, paper) for title, values in _rows(columns) if any(values)]
        lines += _reasons(columns)
        lines += _positions(last, cell, paper)
        lines += _categories(last.name, figures, paper)
    return lines


def _headline(load: Load) -> str:
    if load.rate is not None:
        return f"{load.rate:g} requests a second"
    count = load.concurrency
    return "one stream" if count == 1 else f"{count} streams at a time"


def _rows(columns: Sequence[_Column]) -> Iterable[tuple[str, list[str]]]:
    wholes = [figures.whole for _, _, figures in columns]
    yield "tokens/s of a stream", [_show(one.tokens_per_s) for one in wholes]
    yield "time per token", [_show_ms(one.tpot_s) for one in wholes]
    yield "time to first token", [_show_ms(one.ttft_s) for one in wholes]
    yield "acceptance length", [_length(cell, own.whole) for _, cell, own in columns]
    yield "time of a step", [_show_ms(one.step_s) for one in wholes]
    yield "tokens/s together", [_plain(one.all_tokens_per_s) for one in wholes]
    yield "requests", [_count(figures) for _, _, figures in columns]


def _length(cell: Cell, figures: Figures) -> str:
    if figures.acceptance_length is not None:
        return _show(figures.acceptance_length, digits=2)
    found = cell.acceptance
    return f"{found.length:.2f}" if found is not None and found.length is not None else ""


def _reasons(columns: Sequence[_Column]) -> list[str]:
    """By what there is an acceptance length, or why there is none where nobody has one."""
    found = [cell.acceptance for _, cell, _ in columns if cell.acceptance is not None]
    sources = dict.fromkeys(one.source for one in found if one.length is not None)
    if sources:
        return [f"  acceptance by {clean(source)}" for source in sources if source]
    return [f"  no acceptance length: {clean(one.why_not)}" for one in found[-1:] if one.why_not]


def _count(figures: CellFigures) -> str:
    text = f"{figures.whole.requests}"
    if figures.warm_up:
        text += f" + {figures.warm_up} warm-up"
    return f"{text}, {figures.failed} failed" if figures.failed else text


def _positions(arm: Arm, cell: Cell, paper: Paper) -> list[str]:
    """How far drafts get, of the last arm: a drafter that decays is seen by it."""
    found = positions_of_cell(cell, arm.conditions.draft_tokens)
    if found is None:
        return []
    lines = [f"  draft tokens of {arm.name} accepted by position"]
    for number, (share, given) in enumerate(zip(found.reached, found.given, strict=True), 1):
        bar = render_bar(share, _BAR_COLUMNS, paper)
        rest = "" if given is None or number == 1 else f"   {given:4.0%} where {number - 1} was"
        lines.append(f"  {pad(str(number), 16)}{bar} {share:6.0%}{rest}")
    return lines


def _categories(arm: str, whole: CellFigures, paper: Paper) -> list[str]:
    """By category, of the last arm: what differs between them is what a drafter is good at."""
    figures = whole.categories
    shown = {
        name: one.acceptance_length or one.tokens_per_s
        for name, one in figures.items()
        if one.tokens_per_s is not None
    }
    if len(shown) < 2:
        return []
    is_length = all(figures[name].acceptance_length is not None for name in shown)
    values = {
        name: one.value
        for name in shown
        if (one := figures[name].acceptance_length if is_length else figures[name].tokens_per_s)
    }
    most = max(values.values())
    what = "acceptance length" if is_length else "tokens/s of a stream"
    lines = [f"  {what} of {arm} by category"]
    for name, value in sorted(values.items(), key=lambda item: -item[1]):
        share = (value - 1) / (most - 1) if is_length and most > 1 else value / most
        bar = render_bar(share, _BAR_COLUMNS, paper)
        speed = figures[name].tokens_per_s
        rest = f"{speed.value:8.1f} tok/s" if is_length and speed is not None else ""
        lines.append(f"  {pad(clean(name), 16)}{bar} {value:6.2f}{rest}")
    return lines


def _row(title: str, values: Sequence[str], paper: Paper) -> str:
    cells = "".join(pad(value or "-" * bool(title), _ARM_COLUMNS) for value in values)
    return f"  {paper.paint(pad(title, _TITLE_COLUMNS), 'faint')}{cells}".rstrip()


def _show(one: Estimate | None, unit: str = "", *, digits: int = 1, scale: float = 1.0) -> str:
    return "" if one is None else render_estimate(one, unit, digits=digits, scale=scale)


def _show_ms(one: Estimate | None) -> str:
    return _show(one, " ms", scale=1000)


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def record_probe(arm: Arm, figures: Sequence[CellFigures]) -> dict[str, object]:
    """One arm for programs, with every request."""
    return {
        "schema": SCHEMA,
        "arm": arm.name,
        "at": render_rfc3339(arm.wall_ns),
        "conditions": _record_conditions(arm.conditions),
        "loads": [
            {
                "concurrency": None if cell.load.rate is not None else cell.load.concurrency,
                "rate": cell.load.rate,
                **record_figures(one.whole),
                "failed": one.failed,
                "warm_up": one.warm_up,
                "acceptance": _record_acceptance(cell),
                "positions": _record_positions(arm, cell),
                "categories": {n: record_figures(f) for n, f in one.categories.items()},
                "request_list": [record_request(request) for request in cell.requests],
            }
            for cell, one in zip(arm.cells, figures, strict=True)
        ],
    }


def _record_conditions(conditions: Conditions) -> dict[str, object]:
    """As they are named; of a secret only that it is there, which the word before it tells."""
    flags, environment = conditions.flags, conditions.environment
    return {name: getattr(conditions, name) for name in type(conditions).__dataclass_fields__} | {
        "flags": None if flags is None else redact_argv(flags),
        "environment": None
        if environment is None
        else {name: record_change(name, None, value)["new"] for name, value in environment.items()},
    }


def record_figures(figures: Figures) -> dict[str, object]:
    """Figures as numbers and intervals."""
    named = ("tokens_per_s", "tpot_s", "ttft_s", "acceptance_length", "step_s")
    return {
        "requests": figures.requests,
        "tokens": figures.tokens,
        **{name: record_estimate(getattr(figures, name)) for name in named},
        "all_tokens_per_s": figures.all_tokens_per_s,
    }


def record_estimate(one: Estimate | None) -> dict[str, object] | None:
    """A figure with its interval; null where there is none."""
    if one is None:
        return None
    return {
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "confidence": one.confidence,
        "prompts": one.count,
    }


def _record_acceptance(cell: Cell) -> dict[str, object] | None:
    one = cell.acceptance
    if one is None:
        return None
    return {
        "length": one.length,
        "rate": one.rate,
        "accepted": one.accepted,
        "proposed": one.proposed,
        "steps": one.steps,
        "source": one.source or None,
        "why_not": one.why_not,
    }


def _record_positions(arm: Arm, cell: Cell) -> dict[str, object] | None:
    found = positions_of_cell(cell, arm.conditions.draft_tokens)
    return None if found is None else {"reached": found.reached, "given": found.given}


_COLUMNS = (
    "prompt",
    "category",
    "block",
    "warm_up",
    "begun_ns",
    "ttft_s",
    "tpot_s",
    "tokens_per_s",
    "prompt_tokens",
    "tokens",
    "events",
    "accepted",
    "steps",
    "finish",
    "error",
)


def record_request(request: Request) -> dict[str, object]:
    """One request; its text is left out."""
    counts = request.counts
    return {
        "prompt": request.prompt,
        "category": request.category,
        "block": request.block,
        "warm_up": request.is_warm_up,
        "begun_ns": request.begun_ns,
        "ttft_s": request.ttft_s,
        "tpot_s": request.tpot_s,
        "tokens_per_s": request.tokens_per_s,
        "prompt_tokens": request.prompt_tokens,
        "tokens": request.tokens,
        "events": request.events,
        "accepted": counts.accepted if counts else None,
        "steps": counts.steps if counts else None,
        "finish": request.finish,
        "error": request.error,
    }


def render_csv(arms: Iterable[Arm]) -> str:
    """Every request of every arm, a line each."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ("arm", "load", *_COLUMNS), lineterminator="\n")
    writer.writeheader()
    for arm in arms:
        for cell in arm.cells:
            for request in cell.requests:
                row = {"arm": arm.name, "load": cell.load.word, **record_request(request)}
                writer.writerow(row)
    return text.getvalue()
