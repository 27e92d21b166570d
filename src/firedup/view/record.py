"""Explanations and their parts as the JSON objects of docs/reference/json.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite

from firedup.core.model import (
    Cause,
    Evidence,
    Explanation,
    Finding,
    Followed,
    Gauge,
    Progress,
    StageSpan,
)
from firedup.view.comparison import record_comparison
from firedup.view.quantity import render_rfc3339
from firedup.view.redact import printable_block, redact
from firedup.view.stack import record_stacks

SCHEMA = 1


def render_json(value: object) -> str:
    """One object on one line, in ASCII, with secrets and control sequences taken out."""
    return json.dumps(scrub(value), ensure_ascii=True, allow_nan=False)


def scrub(value: object) -> object:
    """The same value with every string made fit for any reader; numbers that JSON lacks are null.

    Keys are ours and stay as they are.
    """
    match value:
        case str():
            return redact(printable_block(value))
        case float() if not isfinite(value):
            return None
        case Mapping():
            return {str(key): scrub(item) for key, item in value.items()}
        case list() | tuple():
            return [scrub(item) for item in value]
        case _:
            return value


def record_explanation(explanation: Explanation, *, path: str | None = None) -> dict[str, object]:
    """The object that `explain --json` prints; `path` is added when several logs were asked for."""
    head: dict[str, object] = {"schema": SCHEMA}
    if path is not None:
        head["path"] = path
    return head | {
        "engine": explanation.engine,
        "version": explanation.version,
        "verdict": str(explanation.verdict),
        "stage": word_of(explanation.stage),
        "exited": explanation.exited,
        "confidence": round(explanation.confidence, 3),
        "stages": [record_span(span) for span in explanation.stages],
        "starts": explanation.starts,
        "served_s": round_s(explanation.served_s),
        "cause": record_cause(explanation.cause) if explanation.cause else None,
        "followed": [_followed(item) for item in explanation.followed],
        "findings": [record_finding(finding) for finding in explanation.findings],
        "notes": list(explanation.notes),
        "gauges": [_gauge(gauge) for gauge in explanation.gauges],
        "tail": list(explanation.tail),
        "since_good": record_comparison(explanation.since_good),
        "stacks": record_stacks(explanation.stacks),
    }


def record_span(span: StageSpan) -> dict[str, object]:
    """One stage as it was passed."""
    return {
        "stage": str(span.stage),
        "started": render_rfc3339(span.started_ns),
        "clock": span.clock,
        "seconds": round_s(span.seconds),
        "rank": span.rank,
    }


def record_cause(cause: Cause) -> dict[str, object]:
    """The first fault."""
    return {
        "class": cause.failure,
        "rule": cause.rule,
        "line": cause.line,
        "line_number": cause.line_number,
        "offset": cause.offset,
        "rank": cause.rank,
        "stage": word_of(cause.stage),
        "meaning": cause.meaning,
        "remedy": cause.remedy,
        "evidence": record_evidence(cause.evidence),
        "before": list(cause.before),
        "after": list(cause.after),
    }


def record_finding(finding: Finding) -> dict[str, object]:
    """One conclusion."""
    return {
        "id": finding.id,
        "severity": str(finding.severity),
        "message": finding.message,
        "evidence": record_evidence(finding.evidence),
        "remedy": finding.remedy,
    }


def record_evidence(evidence: Iterable[Evidence]) -> list[dict[str, object]]:
    """The observations behind a statement."""
    return [
        {
            "kind": item.kind,
            "text": item.text,
            "line_number": item.line_number,
            "offset": item.offset,
        }
        for item in evidence
    ]


def record_progress(progress: Progress) -> dict[str, object]:
    """Where a bar stands."""
    return {
        "stage": str(progress.stage),
        "done": progress.done,
        "total": progress.total,
        "unit": progress.unit,
        "bar_elapsed_s": round_s(progress.elapsed_s),
        "remaining_s": round_s(progress.remaining_s),
        "rank": progress.rank,
    }


def round_s(seconds: float | None) -> float | None:
    """Seconds to the millisecond, which is as exact as anything firedup times."""
    return None if seconds is None else round(seconds, 3)


def _gauge(gauge: Gauge) -> dict[str, object]:
    return {
        "name": gauge.name,
        "last": gauge.last,
        "mean": gauge.mean,
        "min": gauge.least,
        "max": gauge.greatest,
        "count": gauge.count,
        "sampled": gauge.is_sampled,
    }


def _followed(item: Followed) -> dict[str, object]:
    record: dict[str, object] = {
        "line": item.line,
        "line_number": item.line_number,
        "offset": item.offset,
        "role": item.role,
    }
    return record | ({"node": item.node} if item.node is not None else {})


def word_of(value: object) -> str | None:
    """The word of an enum's member, None for None."""
    return None if value is None else str(value)
