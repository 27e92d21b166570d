"""A block of lines at the foot of a terminal, redrawn in place without flicker."""

from __future__ import annotations

from collections.abc import Sequence

# Terminals that know the mode show the whole frame at once; the others ignore it.
_FRAME_BEGINS, _FRAME_ENDS = "\x1b[?2026h", "\x1b[?2026l"
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_HOME = "\x1b[H"
_ERASE_LINE, _ERASE_BELOW = "\x1b[2K", "\x1b[J"


class Region:
    """Says what to write so that the block shows new lines; sans-IO.

    Lines must be narrower than the terminal. A line that has not changed is not written again.
    A terminal that became narrower has folded the block in ways that cannot be known (it may have
    done so before it told its new size), so that the block then starts again on a clean screen.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._columns = 0

    @property
    def lines(self) -> tuple[str, ...]:
        """What the block shows."""
        return tuple(self._lines)

    def draw(self, lines: Sequence[str], *, columns: int, rows: int) -> str:
        """The text to write for `lines` on a terminal of this size; "" when nothing changed."""
        lines = list(lines)[-max(1, rows - 1) :]
        if lines == self._lines and columns == self._columns:
            return ""
        is_same_shape = columns == self._columns and len(lines) >= len(self._lines)
        has_shrunk = bool(self._lines) and columns < self._columns
        out = [_FRAME_BEGINS, _HIDE_CURSOR, _HOME if has_shrunk else self._to_top(rows)]
        for index, line in enumerate(lines):
            if index:
                out.append("\r\n")
            is_kept = is_same_shape and index < len(self._lines) and self._lines[index] == line
            if not is_kept:
                out.append(_ERASE_LINE + line)
        if not is_same_shape:
            out.append(_ERASE_BELOW)
        out.append(_FRAME_ENDS)
        self._lines, self._columns = lines, columns
        return "".join(out)

    def close(self, lines: Sequence[str], *, columns: int, rows: int) -> str:
        """The text to write so that `lines` stay for good and the cursor stands below them."""
        top = _HOME if self._lines and columns < self._columns else self._to_top(rows)
        self._lines = []
        body = "".join(f"{_ERASE_LINE}{line}\r\n" for line in lines)
        # Erased from below the text, never from the top: some terminals take an erased screen for
        # text that has scrolled away, and would keep the old picture.
        return _FRAME_BEGINS + top + body + _ERASE_BELOW + _SHOW_CURSOR + _FRAME_ENDS

    def _to_top(self, rows: int) -> str:
        """From the last line of the block to its first."""
        up = min(len(self._lines), rows) - 1
        return f"\r\x1b[{up}A" if up > 0 else "\r"
