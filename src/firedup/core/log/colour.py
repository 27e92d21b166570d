"""Blocks of bytes freed of terminal sequences, and the way back to where a byte stood."""

from __future__ import annotations

import re
from bisect import bisect_right

from firedup.core.log.prefix import ESCAPE

_ESCAPE = re.compile(ESCAPE.pattern.encode())
# The kind that colours are written with; such a sequence holds no second ESC.
_COLOUR = re.compile(rb"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_ESC, _MARK = b"\x1b", b"\0"
# A log has few colours: taking out one after the other beats looking at each place.
_MAX_COLOURS = 12


class PlainBlock:
    """A block as a person sees it: `text` is the block without colours and the like."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self.text = _without_colours(block)

    def places(self, positions: list[int]) -> list[int]:
        """Where the bytes at the ascending `positions` of `text` stand in the block."""
        if not positions:
            return []
        begins, removed, total = [0], [0], 0
        for found in _ESCAPE.finditer(self._block):
            begins.append(found.start() - total)
            total += found.end() - found.start()
            removed.append(total)
        return [at + removed[bisect_right(begins, at) - 1] for at in positions]


def _without_colours(block: bytes) -> bytes:
    if _MARK not in block:
        text = block
        for _ in range(_MAX_COLOURS):
            at = text.find(_ESC)
            if at < 0:
                return text.replace(_MARK, b"")
            found = _COLOUR.match(text, at)
            if found is None:
                break
            # A mark stays in its place for now, lest the bytes around it form a new sequence.
            text = text.replace(found.group(), _MARK)
    return _ESCAPE.sub(b"", block)
