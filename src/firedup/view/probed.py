"""What a probe measured, with every request, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from firedup.core.measure.accepted import positions_of_cell
from firedup.core.measure.figures import CellFigures, Figures
from firedup.core.measure.measured import Arm, Cell, Conditions, Estimate, Request
from firedup.view.change import record_change
from firedup.view.quantity import render_rfc3339
from firedup.view.record import SCHEMA
from firedup.view.redact import redact_argv


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


_NS = 1_000_000_000
_COLUMNS = (
    "prompt",
    "category",
    "turn",
    "block",
    "warm_up",
    "begun_ns",
    "ttft_s",
    "tpot_s",
    "tokens_per_s",
    "longest_gap_s",
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
    counts, gap_ns = request.counts, request.longest_gap_ns
    return {
        "prompt": request.prompt,
        "category": request.category,
        "turn": request.turn,
        "block": request.block,
        "warm_up": request.is_warm_up,
        "begun_ns": request.begun_ns,
        "ttft_s": request.ttft_s,
        "tpot_s": request.tpot_s,
        "tokens_per_s": request.tokens_per_s,
        "longest_gap_s": None if gap_ns is None else gap_ns / _NS,
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
