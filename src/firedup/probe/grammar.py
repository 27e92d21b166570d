"""Fills the gaps of sentences with words, numbers and names, the same for the same seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

# A word is one of several texts, or a number from a range.
Words = Mapping[str, tuple[str, ...] | range]

_GAP = re.compile(r"\{(\^?)([a-z_]+)((?:\.\d)?)\}")


class Grammar:
    """Chooses words for the gaps of sentences; all choices come before any of them comes again."""

    def __init__(
        self, random: Random, words: Words, makers: Mapping[str, Callable[[], str]]
    ) -> None:
        self._random = random
        self._words = words
        self._makers = makers
        self._bags: dict[str, list[str]] = {}

    def fill(self, sentence: str, bound: dict[str, str]) -> str:
        """`sentence` without gaps; what was chosen is kept in `bound`, and used where it is there.

        Raises KeyError for a gap of which nobody knows what it is.
        """

        def replace(gap: re.Match[str]) -> str:
            capital, word, which = gap.groups()
            key = word + which
            if key not in bound:
                bound[key] = self._choose(word)
            text = bound[key]
            return text[:1].upper() + text[1:] if capital else text

        return _GAP.sub(replace, sentence)

    def draw(self, name: str, choices: tuple[str, ...]) -> str:
        """One of `choices`, known as `name`; each once before any comes again."""
        bag = self._bags.get(name)
        if not bag:
            bag = self._bags[name] = list(choices)
            self._random.shuffle(bag)
        return bag.pop()

    def _choose(self, word: str) -> str:
        maker = self._makers.get(word)
        if maker is not None:
            return maker()
        choices = self._words[word]
        if isinstance(choices, range):
            return str(self._random.choice(choices))
        # A word may have gaps of its own; they are nobody else's.
        return self.fill(self.draw(word, choices), {})


def gaps_of(sentence: str) -> tuple[str, ...]:
    """The words that the gaps of a sentence ask for, each as often as it occurs."""
    return tuple(gap.group(2) for gap in _GAP.finditer(sentence))
