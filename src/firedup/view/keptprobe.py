"""The measurements that are kept, as a table for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firedup.core.measure.measured import Arm, Cell
from firedup.core.measure.pairing import decoding_of
from firedup.view.paper import Paper, count_columns, pad
from firedup.view.quantity import render_duration, render_rfc3339
from firedup.view.record import SCHEMA
from firedup.view.redact import clean, redact

_TITLES = ("id", "server", "age", "load", "asked", "max tokens", "accepted", "tok/s")
_HEAD = 3  # what stands in the first line of two where one does not fit
_NONE = "-"


@dataclass(frozen=True, slots=True)
class KeptProbe:
    """One measurement: `server` is the name of its run, else the run's id, else the address."""

    id: str
    server: str
    arm: Arm
    host: str = "local"
    run: str | None = None
    name: str | None = None
    url: str = ""


def render_kept(kept: Sequence[KeptProbe], paper: Paper, *, now_ns: int) -> list[str]:
    """A line each, the newest first as given; two where the paper is narrow. ns: wall clock."""
    if not kept:
        return ["no measurements are kept; firedup probe makes them"]
    rows = [_TITLES, *(_row(one, now_ns) for one in kept)]
    widths = [max(count_columns(row[number]) for row in rows) for number in range(len(_TITLES))]
    if sum(widths) + 2 * len(widths) - 2 <= paper.columns:
        lines = [
            "  ".join(pad(word, width) for word, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return [paper.paint(lines[0], "faint"), *lines[1:]]
    lines = []
    for row in rows[1:]:
        lines.append(paper.cut("  ".join(row[:_HEAD]), paper.columns))
        rest = ", ".join(
            f"{title} {word}"
            for title, word in zip(_TITLES[_HEAD:], row[_HEAD:], strict=True)
            if word != _NONE
        )
        lines += paper.fold(rest, indent="  ", rest="  ")
    return lines


def record_kept(kept: Sequence[KeptProbe]) -> dict[str, object]:
    """The same for programs."""
    return {"schema": SCHEMA, "measurements": [_record(one) for one in kept]}


def _record(one: KeptProbe) -> dict[str, object]:
    conditions = one.arm.conditions
    return {
        "id": one.id,
        "run": one.run,
        "name": one.name,
        "host": one.host,
        "url": redact(one.url),
        "at": render_rfc3339(one.arm.wall_ns),
        "engine": conditions.engine,
        "version": conditions.version,
        "model": conditions.model,
        "drafter": conditions.drafter,
        "prompts": conditions.prompts,
        "max_tokens": conditions.max_tokens,
        "ignores_eos": conditions.ignores_eos,
        "loads": [
            {
                "concurrency": cell.load.concurrency if cell.load.rate is None else None,
                "rate": cell.load.rate,
                "requests": len(cell.kept),
                "acceptance_length": cell.acceptance.length if cell.acceptance else None,
                "tokens_per_s": _speed(cell),
            }
            for cell in one.arm.cells
        ],
    }


def _row(one: KeptProbe, now_ns: int) -> tuple[str, ...]:
    cells, conditions = one.arm.cells, one.arm.conditions
    lengths = [cell.acceptance.length if cell.acceptance else None for cell in cells]
    tokens = conditions.max_tokens
    return (
        one.id,
        clean(redact(one.server)),
        _age(now_ns - one.arm.wall_ns),
        _join([cell.load.word for cell in cells]),
        _join([str(len(cell.kept)) for cell in cells], is_one=True),
        _NONE if tokens is None else f"{tokens}{'' if conditions.ignores_eos else ' natural'}",
        _join([_NONE if length is None else f"{length:.2f}" for length in lengths], is_one=True),
        _join([_NONE if (speed := _speed(cell)) is None else f"{speed:.1f}" for cell in cells]),
    )


def _age(age_ns: int) -> str:
    """By its greatest unit alone."""
    return " ".join(render_duration(max(0, age_ns) / 1e9).split()[:2])


def _join(words: Sequence[str], *, is_one: bool = False) -> str:
    """With `is_one`, what is the same under every load is said once."""
    return ",".join(dict.fromkeys(words) if is_one and len(set(words)) == 1 else words) or _NONE


def _speed(cell: Cell) -> float | None:
    """Tokens a second of one stream while it decodes, without an interval."""
    if cell.is_held_back:
        return None
    parts = [part for request in cell.kept if (part := decoding_of(request)) is not None]
    seconds = sum(part[0] for part in parts)
    return sum(part[1] for part in parts) / seconds if seconds else None
