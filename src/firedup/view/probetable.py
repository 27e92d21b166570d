"""What a probe measured, for people: a table for each load, and bars by position and category."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from firedup.core.measure.accepted import positions_of_cell
from firedup.core.measure.figures import CellFigures, Figures
from firedup.core.measure.measured import Arm, Cell, Conditions, Estimate, Load
from firedup.view.bar import render_bar
from firedup.view.paper import Paper, count_columns, pad
from firedup.view.quantity import render_estimate
from firedup.view.redact import clean

_MOST_BAR, _LEAST_BAR = 20, 5
_NAME_COLUMNS = 16
# Why there is no acceptance length where there is nothing that drafts.
_NONE_DRAFTED = ("the server does not speculate", "not one draft was verified")
_DRAFTING = re.compile(r"-.*(spec|draft|eagle|ngram|lookahead|lookup|medusa)|-md$")

Measured = Sequence[tuple[Arm, Sequence[CellFigures]]]
_Column = tuple[Arm, Cell, CellFigures]


def render_probe(measured: Measured, paper: Paper) -> list[str]:
    """A block of lines for each load, with a column for each arm that was measured under it.

    Arms may have been measured under other loads, and a probe that was cut short in other parts.
    On narrow paper the arms stand below each other.
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
        lines += _table(columns, paper)
        lines += _reasons(columns, paper)
        lines += _positions(last, cell, paper)
        lines += _categories(last.name, figures, paper)
    return lines


def _headline(load: Load) -> str:
    if load.rate is not None:
        return f"{load.rate:g} requests a second"
    count = load.concurrency
    return "one stream" if count == 1 else f"{count} streams at a time"


def _table(columns: Sequence[_Column], paper: Paper) -> list[str]:
    names = [clean(arm.name) for arm, _, _ in columns]
    rows = [(title, values) for title, values in _rows(columns) if any(values)]
    width = max(count_columns(title) for title, _ in rows) + 2
    cells = [values for _, values in rows]
    widths = [max(map(count_columns, column)) for column in zip(names, *cells, strict=True)]
    if 2 + width + sum(widths) + 2 * len(widths) - 2 > paper.columns:
        return _stack(names, rows, width, paper)
    lines = [_line("", names, width, widths, paper)]
    return lines + [_line(title, values, width, widths, paper) for title, values in rows]


def _line(
    title: str, values: Sequence[str], width: int, widths: Sequence[int], paper: Paper
) -> str:
    cells = "  ".join(
        pad(value or "-" * bool(title), columns)
        for value, columns in zip(values, widths, strict=True)
    )
    return f"  {paper.paint(pad(title, width), 'faint')}{cells}".rstrip()


def render_rows(rows: Sequence[tuple[str, str]], paper: Paper) -> list[str]:
    """Titles with one value each; rows without a value are left out."""
    told = [(title, value) for title, value in rows if value]
    width = max((count_columns(title) for title, _ in told), default=0) + 2
    return [_line(title, [value], width, [0], paper) for title, value in told]


def _stack(
    names: Sequence[str], rows: Sequence[tuple[str, list[str]]], width: int, paper: Paper
) -> list[str]:
    """One arm below the other."""
    lines: list[str] = []
    for number, name in enumerate(names):
        lines += paper.fold(name, indent="  ", rest="  ")
        for title, values in rows:
            if values[number]:
                text = f"    {pad(title, width)}{values[number]}"
                is_long = count_columns(text) > paper.columns
                lines += paper.fold(text, indent="    ", rest="      ") if is_long else [text]
    return lines


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


def _reasons(columns: Sequence[_Column], paper: Paper) -> list[str]:
    """By what there is an acceptance length, or why there is none where nobody has one."""
    found = [cell.acceptance for _, cell, _ in columns if cell.acceptance is not None]
    sources = dict.fromkeys(one.source for one in found if one.length is not None)
    if sources:
        said = [f"acceptance by {clean(source)}" for source in sources if source]
    else:
        whys = [one.why_not for one in found[-1:] if one.why_not]
        if whys and whys[0] in _NONE_DRAFTED and not _may_draft(columns[-1][0].conditions):
            whys = ["no drafter"]
        said = [f"no acceptance length: {clean(why)}" for why in whys]
    return [line for text in said for line in paper.fold(text, indent="  ", rest="    ")]


def _may_draft(conditions: Conditions) -> bool:
    """Whether it has a drafter, as far as that is known."""
    if conditions.speculates is not None:
        return conditions.speculates
    flags = conditions.flags
    return conditions.drafter is not None or flags is None or any(map(_DRAFTING.match, flags))


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
    title = f"draft tokens of {clean(arm.name)} accepted by position"
    rows = []
    for number, (share, given) in enumerate(zip(found.reached, found.given, strict=True), 1):
        rest = "" if given is None or number == 1 else f"   {given:4.0%} where {number - 1} was"
        rows.append((str(number), share, f"{share:6.0%}{rest}"))
    return _bars(title, rows, paper)


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
    rows = []
    for name, value in sorted(values.items(), key=lambda item: -item[1]):
        share = (value - 1) / (most - 1) if is_length and most > 1 else value / most
        speed = figures[name].tokens_per_s
        rest = f"{speed.value:8.1f} tok/s" if is_length and speed is not None else ""
        rows.append((clean(name), share, f"{value:6.2f}{rest}"))
    return _bars(f"{what} of {clean(arm)} by category", rows, paper)


def _bars(title: str, rows: Sequence[tuple[str, float, str]], paper: Paper) -> list[str]:
    """A bar for each row, as long as the paper allows."""
    rest = max((count_columns(text) for _, _, text in rows), default=0)
    bar = max(_LEAST_BAR, min(_MOST_BAR, paper.columns - 2 - _NAME_COLUMNS - 1 - rest))
    lines = paper.fold(title, indent="  ", rest="    ")
    for name, share, text in rows:
        head = pad(paper.cut(name, _NAME_COLUMNS - 1), _NAME_COLUMNS)
        line = f"  {head}{render_bar(share, bar, paper)} {text}"
        lines.append(paper.clip(line, paper.columns))
    return lines


def _show(one: Estimate | None, unit: str = "", *, digits: int = 1, scale: float = 1.0) -> str:
    return "" if one is None else render_estimate(one, unit, digits=digits, scale=scale)


def _show_ms(one: Estimate | None) -> str:
    return _show(one, " ms", scale=1000)


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
