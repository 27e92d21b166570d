"""A bar of progress in text."""

from __future__ import annotations

from firedup.view.paper import Paper


def render_bar(fraction: float, columns: int, paper: Paper, *, tone: str = "green") -> str:
    """A bar of `columns`, to the half column exact; it is full only when `fraction` is 1."""
    halves = int(2 * columns * min(1.0, max(0.0, fraction)))
    full = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return paper.paint(full, tone) + paper.paint("─" * (columns - len(full)), "faint")
