"""Chooses the view for standard output and feeds it the snapshots of a session."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from firedup.cli.paper import choose_output
from firedup.core.model import Snapshot
from firedup.view.terminal import Terminal, can_draw

JSON_LINES = "jsonl"


class View(Protocol):
    """What all views have in common; each item returned is a line to print."""

    def feed(self, snapshot: Snapshot) -> tuple[str, ...]:
        """What is to be said of a snapshot."""

    def close(self, snapshot: Snapshot) -> tuple[str, ...]:
        """What is to be said at the end."""


@dataclass(frozen=True, slots=True)
class Showing:
    """How the user wants to see a server; None = what suits standard output."""

    format_name: str | None = None
    every_s: float | None = None
    width: int | None = None
    tail: int = 30
    no_color: bool = False

    @property
    def chosen(self) -> str:
        """The name of the format."""
        if self.format_name is not None:
            return self.format_name
        return "terminal" if can_draw(sys.stdout, os.environ) else "plain"

    @property
    def tail_lines(self) -> int:
        """How many lines of the log each snapshot must carry."""
        return self.tail if self.chosen == "classic" else 0


def read_showing(given: Mapping[str, Any]) -> Showing:
    """The options of `firedup.cli.option.showing` as one value."""
    return Showing(
        JSON_LINES if given["as_json"] else given["format_name"],
        given["every"],
        given["width"],
        given["tail"],
        given["no_color"],
    )


async def show_snapshots(
    snapshots: AsyncIterator[Snapshot],
    showing: Showing,
    note: Callable[[Snapshot], object] = lambda _: None,
) -> Snapshot | None:
    """Show each snapshot as it comes; the last one, None when there was none.

    `note` is given each of them too, for those who need the newest when this is broken off.
    """
    last: Snapshot | None = None
    with _open_view(showing) as view:
        async with aclosing(snapshots) as stream:  # type: ignore[type-var]  # a generator
            async for snapshot in stream:
                last = snapshot
                note(snapshot)
                _print(view.feed(snapshot))
        if last is not None:
            _print(view.close(last))
    return last


@contextmanager
def _open_view(showing: Showing) -> Iterator[View]:
    chosen = showing.chosen
    if chosen == JSON_LINES:
        from firedup.view.jsonl import JsonLines

        yield JsonLines() if showing.every_s is None else JsonLines(heartbeat_s=showing.every_s)
    elif chosen == "classic":
        from firedup.view.classic import Classic

        every_s = 15.0 if showing.every_s is None else showing.every_s
        yield Classic(width=showing.width or 120, tail=showing.tail, every_s=every_s)
    else:
        paper = choose_output(no_color=showing.no_color, width=showing.width)
        if chosen == "terminal" and can_draw(sys.stdout, os.environ):
            with Terminal(sys.stdout, paper) as terminal:
                yield terminal
            return
        from firedup.view.plain import Plain

        yield Plain(paper) if showing.every_s is None else Plain(paper, every_s=showing.every_s)


def _print(lines: tuple[str, ...]) -> None:
    if lines:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
