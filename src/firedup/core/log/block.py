"""Lines → multi-line messages per source: tracebacks with their chains, aborts, usage errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from firedup.core.log.line import has_own_prefix
from firedup.core.model import Line, Source

# What can open or be such a message; a matcher must let every line through that holds one.
# Written in the common subset of RE2 and Hyperscan, matched case-sensitively anywhere in a line.
OPENERS = (
    r"Traceback \(most recent call last\)",
    r"[A-Za-z_](?:Error|Exception|Interrupt)(?:: |\s*$)",
    r"\w: error: ",
    r"terminate called ",
    r"GGML_ASSERT\(",
    r"Fatal Python error: ",
    r"Segmentation fault",
    r"Segfault encountered",
    r"' panicked at ",
)

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=: |:?$)")
_LONE = re.compile(
    r"(?:^|[\s\]):>('\"])((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt))(?:: |\s*$)"
)
_USAGE = re.compile(r"^[\w][\w ./-]{0,80}: error: ")
_NATIVE = re.compile(
    r"terminate called |GGML_ASSERT\(.*\) failed|^Fatal Python error: |Segmentation fault"
    r"|Segfault encountered|^thread '.*' panicked at |^\s*what\(\):"
)
_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_TRACEBACK = "Traceback (most recent call last)"
# An exception group names what it holds further down; only its members say what was wrong.
_GROUP = re.compile(r"(?:[A-Za-z_]\w*\.)*(?:Base)?ExceptionGroup: ")
# Rust says where it panicked in one line and why in the next.
_PANIC = re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at .*:\d+:$")
_GROUP_MARGIN = re.compile(r"^\s*[|+][ -]*\+?-* ?")

# A block that never ends would swallow a log: these bounds close it.
MAX_FRAME_LINES = 3000
MAX_DETAIL_LINES = 60
MAX_STRANGE_LINES = 25


class Shape(StrEnum):
    """What a line is within a multi-line message."""

    PLAIN = "plain"
    OPENER = "opener"
    FRAME = "frame"
    EXCEPTION = "exception"  # the last line of a traceback: type and message
    DETAIL = "detail"  # a further line of the exception's message
    LINK = "link"  # the sentence between two exceptions of a chain
    GROUP = "group"  # the last line of a group of exceptions, whose members follow
    LONE = "lone"  # an exception's name and message without a traceback
    USAGE = "usage"  # an argument parser's complaint
    NATIVE = "native"  # an abort, assertion or signal outside Python


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of one line: `block` numbers the message it belongs to, None for plain lines.

    `position` counts the exceptions of one chain from 0; the first is the innermost.
    `source` is the block's, which is known better than that of a line without prefix.
    """

    shape: Shape
    source: Source
    block: int | None = None
    position: int = 0


@dataclass(slots=True)
class _Open:
    """A traceback that is being read."""

    number: int
    source: Source
    who: tuple[str | None, int | None, str | None]  # the source, in a form that compares fast
    # Its lines carry the engine's prefix each; None until the line after the first shows.
    has_prefix: bool | None
    # What stood before its first line's text, and its indent: all lines of a quoted log have one,
    # and those of a collector that nobody knows have its label.
    lead: str = ""
    indent: str = ""
    shape: Shape = Shape.FRAME
    position: int = 0
    frames: int = 0
    details: int = 0
    strange: int = 0


class Blocks:
    """Feed it candidate lines in order; `is_open` says that the next line is needed as well."""

    def __init__(self) -> None:
        self._open: list[_Open] = []  # oldest first; the newest takes lines without prefix
        self._count = 0
        self._panicked: Source | None = None  # whose panic lacks its reason yet

    @property
    def is_open(self) -> bool:
        """Whether a message is being folded."""
        return bool(self._open) or self._panicked is not None

    def break_off(self) -> None:
        """What follows was not written next: nothing that was begun goes on there."""
        self._open.clear()
        self._panicked = None

    def feed(self, line: Line) -> Mark:
        """Place one line; progress bars belong to no block."""
        if line.is_progress:
            return Mark(Shape.PLAIN, line.source)
        has_prefix = has_own_prefix(line)
        if self._panicked is not None and line.message.strip():
            source, self._panicked = self._panicked, None
            if source == line.source:
                return Mark(Shape.NATIVE, source, self._count)
        if _TRACEBACK in line.message:
            return self._open_traceback(line, has_prefix=has_prefix)
        block = self._owner(line, has_prefix=has_prefix)
        if block is not None:
            mark = self._continue(block, line.message)
            if mark is not None:
                return mark
        return self._alone(line, has_prefix=has_prefix)

    def _open_traceback(self, line: Line, *, has_prefix: bool) -> Mark:
        block = self._owner(line, has_prefix=has_prefix)
        if block is not None and block.shape is Shape.LINK:
            block.shape = Shape.FRAME
            block.position += 1
            block.frames = block.strange = 0
            return Mark(Shape.OPENER, block.source, block.number, block.position)
        if block is not None and block.shape is not Shape.FRAME:
            self._open.remove(block)
        source = line.source
        if not has_prefix and self._open and source == Source():
            source = self._open[-1].source
        self._count += 1
        opened = _Open(self._count, source, _key(source), None if has_prefix else False)
        opened.lead = line.message.partition(_TRACEBACK)[0]
        opened.indent = line.written[: len(line.written) - len(line.written.lstrip())]
        self._open.append(opened)
        del self._open[:-16]
        return Mark(Shape.OPENER, source, self._count)

    def _owner(self, line: Line, *, has_prefix: bool) -> _Open | None:
        if not self._open:
            return None
        who = _key(line.source)
        for block in reversed(self._open):
            if block.has_prefix is None:
                # "… hit an exception: Traceback" has a prefix, and the lines that follow have none
                # where one record spans them all.
                if has_prefix and _is_same(block.who, who):
                    block.has_prefix = True
                    return block
                if not has_prefix:
                    block.has_prefix = False
                    return block
            elif block.has_prefix:
                if has_prefix and _is_same(block.who, who):
                    return block
            elif not has_prefix:
                return block
        if has_prefix:
            # A new record of the same writer ends what its last record had begun.
            self._open = [
                block
                for block in self._open
                if block.has_prefix or (block.shape is Shape.FRAME and block.who != who)
            ]
        return None

    def _continue(self, block: _Open, message: str) -> Mark | None:
        """The mark of `message` within `block`, or None when it is not part of it (any more)."""
        own = block.lead if message.startswith(block.lead) else block.indent
        message = message.removeprefix(own)
        text = _GROUP_MARGIN.sub("", message) if message.lstrip()[:1] in ("|", "+") else message
        if any(link in text for link in _LINKS):
            block.shape = Shape.LINK
            return Mark(Shape.LINK, block.source, block.number, block.position)
        if block.shape is Shape.FRAME:
            return self._frame(block, text)
        if block.shape is Shape.LINK:
            if text.strip():
                block.strange += 1
                self._close_when(block, is_over=block.strange > MAX_STRANGE_LINES)
            return Mark(Shape.LINK, block.source, block.number, block.position)
        block.details += 1
        is_over = block.details > MAX_DETAIL_LINES or (
            bool(block.has_prefix) and bool(text.strip()) and not text[:1].isspace()
        )
        self._close_when(block, is_over=is_over)
        if is_over and block.has_prefix:
            return None
        return Mark(Shape.DETAIL, block.source, block.number, block.position)

    def _frame(self, block: _Open, text: str) -> Mark:
        block.frames += 1
        self._close_when(block, is_over=block.frames > MAX_FRAME_LINES)
        if not text.strip() or text[0].isspace():
            return Mark(Shape.FRAME, block.source, block.number, block.position)
        if _DOTTED.match(text):
            block.shape = Shape.EXCEPTION
            block.details = 0
            shape = Shape.GROUP if _GROUP.match(text) else Shape.EXCEPTION
            return Mark(shape, block.source, block.number, block.position)
        block.strange += 1
        self._close_when(block, is_over=block.strange > MAX_STRANGE_LINES)
        return Mark(Shape.FRAME, block.source, block.number, block.position)

    def _close_when(self, block: _Open, *, is_over: bool) -> None:
        if is_over and block in self._open:
            self._open.remove(block)

    def _alone(self, line: Line, *, has_prefix: bool) -> Mark:
        self._count += 1
        if not has_prefix and _USAGE.match(line.message):
            return Mark(Shape.USAGE, line.source, self._count)
        if _PANIC.match(line.message):
            self._panicked = line.source
            return Mark(Shape.PLAIN, line.source, self._count)
        if _NATIVE.search(line.message):
            return Mark(Shape.NATIVE, line.source, self._count)
        if _LONE.search(line.message):
            return Mark(Shape.LONE, line.source, self._count)
        return Mark(Shape.PLAIN, line.source)


def _is_same(
    opened: tuple[str | None, int | None, str | None],
    who: tuple[str | None, int | None, str | None],
) -> bool:
    """Whether a line of `who` may go on with what `opened` began.

    Where an actor's output is labelled line by line, only the first of a record has the rank.
    """
    return who == opened or (who[0] is None and who[1:] == opened[1:] != (None, None))


def _key(source: Source) -> tuple[str | None, int | None, str | None]:
    return source.rank, source.pid, source.title
