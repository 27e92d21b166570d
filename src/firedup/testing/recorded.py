"""Recorded runs of real engines as scripts for the fake one."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from firedup.testing.script import End, Http, Piece, Script, Stop

if TYPE_CHECKING:
    from pathlib import Path

OPENING = (b"Uvicorn running on", b"Application startup complete", b"listening on http")
READY = (b"fired up and ready", b"Application startup complete", b"listening on http")


@dataclass(slots=True)
class _Notes:
    """What the driver of a recorded run wrote between the pieces of the log."""

    pieces: list[Piece] = field(default_factory=list)
    health: list[tuple[float, int]] = field(default_factory=list)
    sent_s: float | None = None
    end: End | None = None


def load_recorded(path: Path, *, line_s: float = 0.01) -> Script:
    """Make a script of a recorded run, by the name of its file.

    `*.events.jsonl`: `{"t": seconds, "b": text}` and the driver's notes on health, signals and
    exit, which the script repeats: words that the engine said after a signal are said when the
    fake one is signalled. `*.timing.tsv`: seconds and a bytes literal per line. Anything else is a
    plain log, played at `line_s` seconds per line.
    """
    if path.name.endswith(".events.jsonl"):
        notes = _read_events(path)
    elif path.name.endswith(".timing.tsv"):
        notes = _Notes([_timed(row) for row in path.read_text().splitlines()])
    else:
        lines = path.read_bytes().splitlines(keepends=True)
        notes = _Notes([Piece(n * line_s, data) for n, data in enumerate(lines)])
    return _script(notes)


def _timed(row: str) -> Piece:
    at, literal = row.split("\t", 1)
    return Piece(float(at), ast.literal_eval(literal))


def _read_events(path: Path) -> _Notes:
    notes = _Notes()
    for row in path.read_text().splitlines():
        note = json.loads(row)
        at = float(note.get("t", 0.0))
        if "b" in note:
            notes.pieces.append(Piece(at, note["b"].encode("utf-8", "surrogateescape")))
        elif isinstance(note.get("health"), int):
            notes.health.append((at, note["health"]))
        elif "send" in note:
            notes.sent_s = at
        elif isinstance(note.get("exit"), int):
            code = note["exit"]
            notes.end = End(at, signal=-code) if code < 0 else End(at, code)
    return notes


def _script(notes: _Notes) -> Script:
    sent = notes.sent_s
    before = [piece for piece in notes.pieces if sent is None or piece.at_s < sent]
    after = [
        Piece(piece.at_s - sent, piece.data, piece.stream)
        for piece in notes.pieces
        if sent is not None and piece.at_s >= sent
    ]
    stop, end = Stop(tuple(after)), notes.end
    if sent is not None:
        if end is not None and end.signal is None:
            stop = Stop(tuple(after), end.code, after_s=max(0.0, end.at_s - sent))
        end = None
    return Script(tuple(before), _http(before, notes.health), end, stop)


def _http(pieces: list[Piece], health: list[tuple[float, int]]) -> Http | None:
    opening = [piece.at_s for piece in pieces if any(text in piece.data for text in OPENING)]
    ready = [(piece.at_s, 200) for piece in pieces if any(text in piece.data for text in READY)]
    if not opening:
        return None
    return Http(open_s=opening[0], health=tuple(health or ready[:1]))
