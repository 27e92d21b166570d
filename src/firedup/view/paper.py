"""What text is written on: so many columns, with or without colour and Unicode."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

COMPACT_BELOW = 60  # columns: narrower paper gets the compact forms
MESSAGE_HEAD = 60  # columns at the beginning of a message that are not cut where there is room

_SGR = {"bold": "1", "faint": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_MESSAGE_END = 48  # columns at its end that are enough to say what they have to say
_LONGEST_PATH = 512  # longer words with slashes are no paths: encoded data has slashes too
_PAINT = re.compile(r"\x1b\[[0-9;]*m")
_PAINT_OR_TEXT = re.compile(r"\x1b\[[0-9;]*m|[^\x1b]+")
# One column each, so that what was laid out with the left fits with the right.
_ASCII = str.maketrans("✓✗●○▸·│━╸─×–—“”’≈→←…⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", '+x*o>-|=>-x--""\'~><~|/-\\|/-\\|/')


@dataclass(frozen=True, slots=True)
class Paper:
    """The medium of a text: its width, and whether it takes colour and Unicode."""

    columns: int = 80
    has_colour: bool = False
    has_unicode: bool = True

    @property
    def ellipsis(self) -> str:
        """What stands for text that was cut."""
        return "…" if self.has_unicode else "..."

    def paint(self, text: str, *tones: str) -> str:
        """`text` in `tones` (bold, faint, red, green, yellow, cyan) where there is colour."""
        codes = ";".join(_SGR[tone] for tone in tones if tone)
        return f"\x1b[{codes}m{text}\x1b[0m" if self.has_colour and text and codes else text

    def cut(self, text: str, columns: int) -> str:
        """`text` shortened at its end to `columns`."""
        if count_columns(text) <= columns:
            return text
        return _take(text, max(0, columns - len(self.ellipsis))) + self.ellipsis

    def cut_middle(self, text: str, columns: int, *, head: int | None = None) -> str:
        """`text` shortened around its middle, because a message's end often holds its point.

        `head`: so many columns of its beginning stay, half of them all when None.
        """
        if count_columns(text) <= columns:
            return text
        room = max(2, columns - len(self.ellipsis))
        end = room // 2 if head is None else max(0, room - head)
        return _take(text, room - end) + self.ellipsis + _take_end(text, end)

    def cut_message(self, text: str, columns: int) -> str:
        """A message shortened in its last third or later: it begins with what happened.

        Of its first 60 columns nothing is cut where there is room for them and for a bit of its
        end.
        """
        head = max(2 * columns // 3, min(MESSAGE_HEAD, columns - 12), columns - _MESSAGE_END)
        return self.cut_middle(text, columns, head=head)

    def clip(self, text: str, columns: int) -> str:
        """Painted text cut off hard at `columns`, its paint kept whole."""
        if count_columns(text) <= columns:
            return text
        parts: list[str] = []
        for part in _PAINT_OR_TEXT.findall(text):
            is_paint = part.startswith("\x1b")
            parts.append(part if is_paint else _take(part, columns))
            columns -= 0 if is_paint else count_columns(parts[-1])
        return "".join(parts)

    def fold(self, text: str, *, indent: str = "", rest: str | None = None) -> list[str]:
        """`text` wrapped at words; the first line begins with `indent`, the others with `rest`.

        A word longer than a line is broken, but not a path: it could not be copied any more, so
        it has a line of its own that is too long. Text must not be painted yet.
        """
        rest = " " * count_columns(indent) if rest is None else rest
        lines: list[str] = []
        line, is_empty = indent, True
        for word in text.split():
            if not is_empty and count_columns(f"{line} {word}") > self.columns:
                lines.append(line)
                line, is_empty = rest, True
            if not is_empty:
                line += " "
            left = word
            while left and not is_path(word) and count_columns(line + left) > self.columns:
                head = _take(left, self.columns - count_columns(line)) or left[0]
                lines.append(line + head)
                line, left = rest, left[len(head) :]
            line, is_empty = line + left, False
        return [*lines, line] if not is_empty or not lines else lines

    def finish(self, lines: Iterable[str]) -> str:
        """The lines as one text that this paper can take, without blanks at line ends."""
        return "\n".join(self.spell(line.rstrip()) for line in lines)

    def spell(self, text: str) -> str:
        """`text` in letters that this paper can take."""
        if self.has_unicode:
            return text
        return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def choose_paper(
    *, columns: int, is_terminal: bool, encoding: str | None, environ: Mapping[str, str]
) -> Paper:
    """The paper for a stream, by the habits of NO_COLOR, FORCE_COLOR and TERM=dumb."""
    is_dumb = environ.get("TERM", "") in ("dumb", "unknown")
    has_colour = bool(environ.get("FORCE_COLOR")) or (is_terminal and not is_dumb)
    if environ.get("NO_COLOR"):
        has_colour = False
    name = (encoding or "").lower().replace("-", "").replace("_", "")
    return Paper(
        columns=max(20, columns),
        has_colour=has_colour,
        has_unicode=name.startswith("utf") and not (is_terminal and is_dumb),
    )


def count_columns(text: str) -> int:
    """How many terminal columns `text` takes; paint takes none."""
    if "\x1b" in text:
        text = _PAINT.sub("", text)
    return len(text) if text.isascii() else sum(_columns_of(letter) for letter in text)


def is_path(word: str) -> bool:
    """Whether a word looks like a path or an address, also in quotes or brackets."""
    return word.count("/") >= 2 and len(word) <= _LONGEST_PATH


def pad(text: str, columns: int, *, to_the_right: bool = False) -> str:
    """`text` filled with blanks to `columns`."""
    blanks = " " * max(0, columns - count_columns(text))
    return blanks + text if to_the_right else text + blanks


def _columns_of(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _take(text: str, columns: int) -> str:
    used = 0
    for index, letter in enumerate(text):
        used += _columns_of(letter)
        if used > columns:
            return text[:index]
    return text


def _take_end(text: str, columns: int) -> str:
    return _take(text[::-1], columns)[::-1] if columns > 0 else ""
