"""Blocks of bytes freed of terminal sequences, and the way back to where a byte stood."""

from __future__ import annotations

import re
from bisect import bisect_right

from firedup.core.prefix import ESCAPE

_ESCAPE = re.compile(ESCAPE.pattern.encode())


class PlainBlock:
    """A block as a person sees it: `text` is the block without colours and the like."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self.text = _ESCAPE.sub(b"", block)

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
