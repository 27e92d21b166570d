"""Reads the flags of a command line the way the engine's own parser does, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from firedup.profile.flagname import Doubt, Found, Names, is_flag
from firedup.profile.schema import FlagTable, Option, Takes

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_WANTED = {
    Takes.ONE: "expected one argument",
    Takes.TWO: "expected 2 arguments",
    Takes.SOME: "expected at least one argument",
}


@dataclass(frozen=True, slots=True)
class Given:
    """A flag of the command: `flag` in full, `typed` as it stood there with its value.

    `names` are all that it goes by, `value` the first of its words; None for a switch.
    """

    flag: str
    value: str | None
    typed: str
    names: tuple[str, ...]
    is_off: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A word that the engine's parser does not take, and what it says of it.

    `doubt` says whether another version may take it.
    """

    word: str
    why: str
    doubt: Doubt = Doubt.NONE


@dataclass(frozen=True, slots=True)
class Flags:
    """What was given, in order, and the first bare word. The last of several flags counts.

    A word after a flag that we do not know is taken for its value.
    """

    given: tuple[Given, ...]
    bare: str | None
    refused: tuple[Refused, ...] = ()

    def last(self, names: Sequence[str]) -> str | None:
        """The value of the last flag in `names` that has one."""
        found = (g.value for g in reversed(self.given) if g.value is not None and _is(g, names))
        return next(found, None)

    def has(self, names: Sequence[str]) -> bool:
        """Whether a flag of `names` was given; "--flag=value" asks for that value."""
        wanted = {name.partition("=")[0::2] for name in names}
        return any(
            name in given.names and not given.is_off and (not value or value == given.value)
            for given in self.given
            for name, value in wanted
        )

    def keys(self, names: Sequence[str]) -> dict[str, object]:
        """The keys of the flag `names` whose value is JSON.

        Those given one by one replace the whole; of two spellings the one that began last counts.
        """
        parts: dict[str, dict[str, object]] = {}
        for given in self.given:
            head, dot, key = given.flag.partition(".")
            if dot and head in names and given.value is not None:
                spelled = parts.setdefault(given.typed.partition(".")[0], {})
                spelled[key] = _parsed(given.value)
        if parts:
            return list(parts.values())[-1]
        whole = _parsed(self.last(names) or "")
        return whole if isinstance(whole, dict) else {}


def parse_flags(
    words: Sequence[str],
    known: Iterable[str],
    switches: Iterable[str] = (),
    *,
    abbreviates: bool = False,
    json_flags: Sequence[str] = (),
    table: FlagTable | None = None,
) -> Flags:
    """Reads `words`; `known` flags take a value, `switches` take none; `table` says more of them.

    Accepts `--flag value`, `--flag=value`, `--flag_name`, and unique beginnings of long flags where
    the engine's parser does (`abbreviates`). What that parser refuses is read as it was meant.
    """
    table = table or FlagTable()
    names = Names(table, known, switches, json_flags, abbreviates=abbreviates)
    return _Reader(names, table, words).read()


class _Reader:
    def __init__(self, names: Names, table: FlagTable, words: Sequence[str]) -> None:
        self._names = names
        self._is_exact = table.exact
        self._is_known = bool(table.declared)
        self._words = words
        self._at = 0
        self._refused: list[Refused] = []

    def read(self) -> Flags:
        given, bare = [], None
        while self._at < len(self._words):
            word = self._words[self._at]
            self._at += 1
            if word == "--" and not self._is_exact:
                bare = next((w for w in (bare, *self._words[self._at :]) if w is not None), None)
                break
            if is_flag(word):
                given.append(self._flag(word, self._names.find(word)))
            elif bare is None:
                bare = word
        return Flags(tuple(given), bare, tuple(self._refused))

    def _flag(self, word: str, found: Found) -> Given:
        option = found.option
        if found.why is not None:
            self._refuse(word, found.why, found.doubt)
        if found.value is not None:
            if option is not None and option.takes is Takes.NOTHING and "." not in found.flag:
                self._refuse(word, f"{_title(option)}: ignored explicit argument '{found.value}'")
            values = [found.value]
        else:
            takes = option.takes if option is not None else Takes.MAYBE
            is_forced = option is not None and self._is_exact
            values = list(self._values(takes, is_forced=is_forced))
            if option is not None and takes in _WANTED and not values:
                wanted = "expected value for argument" if self._is_exact else _WANTED[takes]
                self._refuse(word, f"{_title(option)}: {wanted}")
        typed = word if found.value is not None else " ".join((word, *values))
        names = (found.flag, *(option.names if option is not None else ()))
        is_off = option is not None and found.flag in option.negations
        return Given(found.flag, values[0] if values else None, typed, names, is_off)

    def _values(self, takes: Takes, *, is_forced: bool) -> Iterator[str]:
        """The words that belong to a flag; a forced one takes them whatever they are."""
        every = len(self._words)
        most = {Takes.NOTHING: 0, Takes.TWO: 2, Takes.SOME: every, Takes.ANY: every}.get(takes, 1)
        while most and self._at < len(self._words):
            word = self._words[self._at]
            if not is_forced and is_flag(word):
                return
            yield word
            self._at += 1
            most -= 1

    def _refuse(self, word: str, why: str, doubt: Doubt = Doubt.NONE) -> None:
        if self._is_known and not (self._is_exact and doubt is Doubt.UNKNOWN):
            self._refused.append(Refused(word, why, doubt))


def takes_script(program: str, flag: str) -> bool:
    """Whether the word after `flag` is a script for a shell: `sh -c`, `/bin/bash -lc`."""
    is_script = flag.startswith("-") and flag.endswith("c") and "--" not in flag
    return is_script and program.rpartition("/")[2] in _SHELLS


def _is(given: Given, names: Sequence[str]) -> bool:
    return any(name in names for name in given.names)


def _title(option: Option) -> str:
    """As argparse calls it."""
    return f"argument {'/'.join((*option.names, *option.negations))}"


def _parsed(text: str) -> object:
    """JSON, or the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
