"""Where the demo is told: prose and a live view for people, or one JSON event per line."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from datetime import tzinfo
from typing import Protocol, TextIO

from firedup.core.model import RunLabel, Snapshot
from firedup.view.jsonl import JsonLines
from firedup.view.paper import Paper, count_columns, pad
from firedup.view.plain import Plain
from firedup.view.record import SCHEMA, render_json
from firedup.view.redact import printable_block, redact
from firedup.view.terminal import Terminal

TERMINAL, PLAIN, JSON = "terminal", "plain", "json"
_TIE = "\0"  # a blank at which no line is broken


class View(Protocol):
    """What the views have in common; each item returned is a line to print."""

    def feed(self, snapshot: Snapshot) -> tuple[str, ...]:
        """What is to be said of a snapshot."""

    def close(self, snapshot: Snapshot) -> tuple[str, ...]:
        """What is to be said at the end."""


class Screen:
    """Writes to `stream` in one of the styles TERMINAL, PLAIN and JSON.

    What is for people is left out in JSON, and `tell` says nothing in the other two. `zone` is for
    times of day; None means this process's own.
    """

    def __init__(
        self, stream: TextIO, paper: Paper, *, style: str = PLAIN, zone: tzinfo | None = None
    ) -> None:
        self.paper = paper
        self._stream = stream
        self._style = style
        self._zone = zone
        self._is_empty = True

    def tell(self, event: str, **body: object) -> None:
        """One JSON event."""
        if self._style == JSON:
            self._print(render_json({"schema": SCHEMA, "event": event, **body}))

    def head(self, title: str, *paragraphs: str) -> None:
        """A title after an empty line, and what is about to be seen."""
        if not self._is_empty:
            self.say("")
        for line in self.paper.fold(title):
            self.say(line, "bold")
        self.explain(*paragraphs)

    def explain(self, *paragraphs: str) -> None:
        """Prose, folded to the paper."""
        for paragraph in paragraphs:
            for line in self.paper.fold(paragraph):
                self.say(line)

    def show_command(self, words: Sequence[str]) -> None:
        """What one would type, long commands in several lines; a flag stays with its value."""
        self.say("")
        narrow = replace(self.paper, columns=self.paper.columns - 2)
        text = " ".join(shlex.quote(word) for word in words)
        tied = re.sub(r"(?<= )(-[\w-]+) (?=[^-\s])", rf"\1{_TIE}", text)
        lines = [line.replace(_TIE, " ") for line in narrow.fold(tied, indent="$ ", rest="    ")]
        for number, line in enumerate(lines, 1):
            self.say(line + (" \\" if number < len(lines) else ""), "cyan")
        self.say("")

    def show_commands(self, *commands: tuple[str, str]) -> None:
        """Commands with what they are for, beside them or below."""
        widest = max(len(command) for command, _ in commands)
        fits = all(widest + len(use) + 4 <= self.paper.columns for _, use in commands)
        for command, use in commands:
            painted = self.paper.paint(f"  {command}", "cyan")
            self.say(painted + (" " * (widest - len(command) + 2) + use if fits else ""))
            if not fits:
                self.say(f"    {use}", "faint")

    def quote(self, text: str) -> None:
        """A message as another command prints it."""
        for line in redact(printable_block(text)).split("\n"):
            blanks = " " * (len(line) - len(line.lstrip()))
            for part in self.paper.fold(line, indent=f"│ {blanks}", rest=f"│ {blanks}  "):
                self.say(part)

    def show_table(self, rows: Sequence[Sequence[str]]) -> None:
        """`rows` under their heads, the first row. Where the last cell does not fit it is below."""
        widths = [max(count_columns(cell) for cell in column) for column in zip(*rows, strict=True)]
        room = self.paper.columns - 2 - sum(width + 2 for width in widths[:-1])
        is_narrow = widths[-1] > room
        self.say("")
        for number, (*cells, last) in enumerate(rows):
            line = "  " + "  ".join(
                pad(cell, width, to_the_right=column > 0)
                for column, (cell, width) in enumerate(zip(cells, widths, strict=False))
            )
            if not is_narrow:
                line += f"  {last}"
            self.say(line.rstrip(), "faint" if number == 0 else "")
            if is_narrow and number > 0:
                for part in self.paper.fold(last, indent="    "):
                    self.say(part)
        self.say("")

    def say(self, line: str, *tones: str) -> None:
        """One line for people."""
        if self._style != JSON:
            self._print(self.paper.paint(self.paper.spell(line), *tones))

    async def show(self, snapshots: AsyncIterator[Snapshot], name: str) -> Snapshot:
        """Show a server called `name` to its last snapshot, and return that.

        People see a name that no other command knows: what they could do with the run while it
        goes on would be wrong, since the demo ends it.
        """
        last: Snapshot | None = None
        with self._open_view() as view:
            async with aclosing(snapshots) as stream:  # type: ignore[type-var]  # a generator
                async for last in stream:
                    self._print(*view.feed(self._named(last, name)))
            if last is None:
                raise RuntimeError("a watch ended without a snapshot")
            self._print(*view.close(self._named(last, name)))
        self._is_empty = False
        return last

    def _named(self, snapshot: Snapshot, name: str) -> Snapshot:
        if self._style == JSON and snapshot.run is not None:
            return snapshot
        return replace(snapshot, run=RunLabel("", name))

    @contextmanager
    def _open_view(self) -> Iterator[View]:
        match self._style:
            case "json":
                yield JsonLines()
            case "terminal":
                with Terminal(self._stream, self.paper) as terminal:
                    yield terminal
            case _:
                yield Plain(self.paper, zone=self._zone)

    def _print(self, *lines: str) -> None:
        if lines:
            self._is_empty = False
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()
