"""Words for a login shell that nobody asked which one it is: sh, bash, zsh, fish, csh."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What no shell takes for anything but itself. `shlex.quote` leaves `=ls` and `%1` bare, which zsh
# and csh expand.
_PLAIN = re.compile(r"[A-Za-z0-9_/.:,@+-]+")
# Inside quotes fish takes a backslash, and csh an exclamation mark, for something else; outside of
# them every shell takes a backslash for the same.
_APART = re.compile(r"(['!\\])")


def quote_word(word: str) -> str:
    """`word` as text that each of the shells reads as this one word.

    A line break is beyond csh, which refuses the command then.
    """
    if _PLAIN.fullmatch(word):
        return word
    pieces = [
        f"\\{piece}" if _APART.fullmatch(piece) else f"'{piece}'"
        for piece in _APART.split(word)
        if piece
    ]
    return "".join(pieces) or "''"


def join_words(words: Iterable[str]) -> str:
    """A command line of `words`, each quoted."""
    return " ".join(quote_word(word) for word in words)
