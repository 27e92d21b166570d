"""The live view: draws the panel in a terminal while snapshots come in, then the statement."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, TextIO

from firedup.core.model import Snapshot
from firedup.view.gap import Standing
from firedup.view.pace import Pace
from firedup.view.panel import render_panel
from firedup.view.paper import Paper
from firedup.view.region import Region
from firedup.view.statement import render_statement

REFRESH_S = 0.125


def can_draw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether `stream` is a terminal whose cursor can be moved."""
    return stream.isatty() and environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


class Terminal:
    """A context manager that owns the foot of the terminal until `close`.

    `feed` only hands the snapshot over: a thread does the writing, so that a terminal that takes
    no more text (Ctrl-S, a slow link) never holds up the watch.
    """

    def __init__(
        self,
        stream: TextIO,
        paper: Paper,
        *,
        clock: Callable[[], float] = time.monotonic,
        size: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self._stream = stream
        self._paper = paper
        self._clock = clock
        self._size = size or self._ask_size
        self._region = Region()
        self._pace = Pace()
        self._standing = Standing()
        self._fed: tuple[Snapshot, Pace, float] | None = None
        self._wake = threading.Event()
        self._is_over = False
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._draw_on, name="firedup-view", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_over:
            self._end(self._region.lines)

    def feed(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Show `snapshot` from now on. Returns nothing to print."""
        if self._fault is not None:
            raise self._fault
        before = self._fed
        self._pace = self._pace.feed(snapshot)
        now_s = self._clock()
        self._standing.feed(snapshot, now_s)
        self._fed = (snapshot, self._pace, now_s)
        if before is None or before[0].explanation.verdict is not snapshot.explanation.verdict:
            self._wake.set()
        return ()

    def close(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Leave the last picture on the screen and the statement below it."""
        paper = self._fitting_paper()
        lines = render_panel(snapshot, paper, pace=self._pace, is_closed=True)
        self._end([*lines, "", *render_statement(snapshot, paper).split("\n")])
        return ()

    def _end(self, lines: Sequence[str]) -> None:
        self._is_over = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        columns, rows = self._size()
        self._write(self._region.close(lines, columns=columns, rows=rows))

    def _draw_on(self) -> None:
        try:
            while not self._is_over:
                self._wake.clear()
                if self._fed is not None:
                    self._draw(*self._fed)
                self._wake.wait(REFRESH_S)
        except Exception as fault:  # noqa: BLE001 - handed over to the thread that feeds
            self._fault = fault

    def _draw(self, snapshot: Snapshot, pace: Pace, at_s: float) -> None:
        columns, rows = self._size()
        now_s = self._clock()
        lines = render_panel(
            snapshot,
            self._fitting_paper(columns),
            pace=pace,
            ranks=self._standing.say(now_s),
            age_s=max(0.0, now_s - at_s),
            rows=max(1, rows - 1),
        )
        self._write(self._region.draw(lines, columns=columns, rows=rows))

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._is_over = True  # the terminal is gone; the watch goes on without a picture

    def _fitting_paper(self, columns: int | None = None) -> Paper:
        # One column stays free: a full line would leave the cursor between two rows.
        return replace(self._paper, columns=max(20, (columns or self._size()[0]) - 1))

    def _ask_size(self) -> tuple[int, int]:
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return self._paper.columns, 24
        return columns or self._paper.columns, rows or 24
