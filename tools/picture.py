"""Draws the terminal pictures of the README: the real views over the replays of `firedup demo`.

`python -m tools.picture` writes docs/picture/*.svg; `tools.check_picture` says which are old.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC
from functools import cache
from html import escape
from pathlib import Path

from firedup.core.event import Event
from firedup.core.model import RunLabel, Snapshot
from firedup.core.rule import Matcher
from firedup.demo.replay import events
from firedup.profile.pipeline import Pipeline
from firedup.session.explain import load_matcher
from firedup.view.explanation import render_explanation
from firedup.view.pace import Pace
from firedup.view.panel import render_panel
from firedup.view.paper import Paper, count_columns
from firedup.view.statement import render_statement

FOLDER = Path("docs/picture")
PAPER = Paper(columns=96, has_colour=True)
COMMAND = "firedup run --name kimi -- sglang serve --model-path /models/Kimi-K2.5-INT4 --tp 8 …"
YEAR = 2026
SECOND_NS = 1_000_000_000

_CELL, _LINE, _FONT = 8.43, 19, 14
_TONES = {
    "1": "font-weight:bold",
    "2": "fill:#8d96a2",
    "31": "fill:#ff6b6b",
    "32": "fill:#51cf66",
    "33": "fill:#fcc419",
    "36": "fill:#3bc9db",
}
_PIECE = re.compile(r"\x1b\[([0-9;]*)m|([^\x1b]+)")


def main() -> int:
    """Write the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, lines in draw_pictures():
        (FOLDER / f"{name}.svg").write_text(render_svg(lines), encoding="utf-8")
    return 0


def find_stale(folder: Path) -> list[Path]:
    """The pictures in `folder` that are not there, or not what the views draw today."""
    drawn = {folder / f"{name}.svg": render_svg(lines) for name, lines in draw_pictures()}
    return [
        path
        for path, text in drawn.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


@cache
def draw_pictures() -> tuple[tuple[str, list[str]], ...]:
    """Each picture's name and its painted lines; drawn once, since whole recordings go by."""
    return tuple(_draw())


def _draw() -> Iterator[tuple[str, list[str]]]:
    prompt = PAPER.paint("$ ", "faint") + COMMAND
    loading, pace = replay("kimi-start", until_s=200)
    yield "loading", [prompt, *render_panel(loading, PAPER, pace=pace)]
    ready, pace = replay("kimi-start")
    yield (
        "ready",
        [
            prompt,
            *render_panel(ready, PAPER, pace=pace, is_closed=True),
            "",
            *render_statement(ready, PAPER).split("\n"),
        ],
    )
    crashed, _ = replay("kimi-crash")
    yield (
        "explain",
        [
            PAPER.paint("$ ", "faint") + "firedup explain server.log",
            *render_explanation(crashed.explanation, PAPER, zone=UTC).split("\n"),
        ],
    )


def replay(name: str, *, until_s: float = float("inf")) -> tuple[Snapshot, Pace]:
    """The snapshot and the pace of a recording at `until_s` after its beginning."""
    pipeline = Pipeline(_load_catalogue(), year=YEAR, run=RunLabel("kimi", "kimi"))
    pace = Pace()
    begin_ns = wall_ns = 0
    snapshot: Snapshot | None = None
    for event in events(name):
        begin_ns = begin_ns or event.at_ns
        if snapshot is not None and (event.at_ns - begin_ns) / SECOND_NS > until_s:
            break
        wall_ns = _wall_of(event) or wall_ns
        pipeline.feed(event)
        snapshot = pipeline.snapshot(event.at_ns, wall_ns)
        pace = pace.feed(snapshot)
    if snapshot is None:
        raise ValueError(f"the recording {name} has no events")
    return snapshot, pace


def render_svg(lines: list[str]) -> str:
    """Painted lines as a picture of a terminal that needs nothing from outside."""
    width = round((PAPER.columns + 4) * _CELL)
    height = (len(lines) + 1) * _LINE + 40
    body = "\n".join(
        f'<text x="{2 * _CELL:.1f}" y="{52 + index * _LINE}">{_render_line(line)}</text>'
        for index, line in enumerate(lines)
    )
    dots = "".join(
        f'<circle cx="{20 + 18 * index}" cy="18" r="6" fill="{fill}"/>'
        for index, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">\n'
        f'<rect width="{width}" height="{height}" rx="9" fill="#1b1e24"/>\n{dots}\n'
        '<g fill="#e9ecef" font-family="ui-monospace, Menlo, Consolas, '
        f'\'DejaVu Sans Mono\', monospace" font-size="{_FONT}" xml:space="preserve">\n'
        f"{body}\n</g>\n</svg>\n"
    )


def _render_line(line: str) -> str:
    """A line as spans, each as long as its cells, so that any font keeps the columns."""
    spans, style, column = [], "", 0
    for codes, text in _PIECE.findall(line):
        if not text:
            style = ";".join(_TONES[code] for code in codes.split(";") if code in _TONES)
            continue
        cells = count_columns(text)
        place = f'x="{(2 + column) * _CELL:.1f}" textLength="{cells * _CELL:.1f}"'
        look = f' style="{style}"' if style else ""
        spans.append(
            f'<tspan {place} lengthAdjust="spacingAndGlyphs"{look}>'
            f"{escape(text, quote=False)}</tspan>"
        )
        column += cells
    return "".join(spans)


@cache
def _load_catalogue() -> Matcher:
    return load_matcher(())


def _wall_of(event: Event) -> int | None:
    return getattr(event, "wall_ns", None)


if __name__ == "__main__":
    sys.exit(main())
