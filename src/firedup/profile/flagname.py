"""The names of an engine's flags, and which of them a word of its command line stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from firedup.profile.schema import FlagTable, Option, Takes

_SHORTEST = 4  # of a beginning that is taken for a flag where not all flags are known


class Doubt(StrEnum):
    """How sure it is that a word is refused."""

    NONE = "none"  # the version that was read refuses it
    FORMER = "former"  # so it does, and an earlier one takes it
    UNKNOWN = "unknown"  # no version that was read has it


@dataclass(frozen=True, slots=True)
class Found:
    """What a word stands for: `flag` in full, `value` where the word holds it.

    `why` is what the engine's parser says where it refuses the word.
    """

    flag: str
    option: Option | None = None
    value: str | None = None
    why: str | None = None
    doubt: Doubt = Doubt.NONE


class Names:
    """All flags of `table`, and those of `known` and `switches` that it lacks."""

    def __init__(
        self,
        table: FlagTable,
        known: Iterable[str],
        switches: Iterable[str],
        json_flags: Sequence[str],
        *,
        abbreviates: bool,
    ) -> None:
        self._table = table
        self._json_flags = json_flags
        self._abbreviates = abbreviates and not table.exact
        more = (
            *(Option((name,), Takes.NOTHING) for name in switches),
            *(Option((name,), Takes.MAYBE) for name in known),
        )
        self._ages = tuple(_by_name(options) for options in (table.declared, table.former, more))
        self._all = {name: o for age in reversed(self._ages) for name, o in age.items()}

    def find(self, word: str) -> Found:
        """What `word` stands for, which begins with a dash."""
        if word in self._all:
            return self._find_name(word, None)
        head, equals, value = word.partition("=")
        name = head.partition(".")[0].replace("_", "-") if head.startswith("--") else head
        if head.startswith("--"):
            name += head[len(name) :]
        given = value if equals else None
        if self._table.exact:
            return self._find_exact(word, name, given)
        found = self._find_key(name, given) or self._find_name(name, given)
        has_wrong_dashes = name != head and head not in self._all and not self._table.underscores
        if found.why is None and self._table.declared and has_wrong_dashes:
            return Found(found.flag, found.option, given, f"unrecognized arguments: {word}")
        return found

    def _find_exact(self, word: str, name: str, value: str | None) -> Found:
        """llama.cpp's way: nothing but whole names, and their values in words of their own."""
        option = self._all.get(name)
        is_refused = value is not None
        why = f"error: invalid argument: {word}" if is_refused else None
        return Found(name, option, value, why)

    def _find_key(self, name: str, value: str | None) -> Found | None:
        """`--config.key`, where --config takes JSON; None for all else."""
        head, dot, key = name.partition(".")
        found = self._find_name(head, None) if dot else None
        if found is None or not any(
            one in self._json_flags for one in (found.flag, *(found.option or _NONE).names)
        ):
            return None
        names = found.option.names if found.option is not None else (found.flag,)
        own = next((one for one in self._json_flags if one in names), found.flag)
        option = Option((f"{own}.{key}",), Takes.ONE)
        return Found(f"{own}.{key}", option, value, found.why, found.doubt)

    def _find_name(self, name: str, value: str | None) -> Found:
        option = self._all.get(name)
        is_former = option is not None and name in self._ages[1]
        if option is not None and not is_former:
            return Found(name, option, value)
        for age in self._ages if self._abbreviates else ():
            meant = self._begun(name, age)
            could = ", ".join(full for full, _ in meant)
            why = f"ambiguous option: {name} could match {could}"
            if is_former and not could:
                why = f"unrecognized arguments: {name}"
            if is_former:
                is_taken = len({age[full].names for full, _ in meant}) == 1
                return Found(name, option, value, None if is_taken else why, Doubt.FORMER)
            if len({age[full].names for full, _ in meant}) > 1 and self._table.declared:
                return Found(name, None, value, why)
            if meant:
                full, glued = meant[0]
                return Found(full, age[full], value if glued is None else glued)
        return Found(name, option, value, f"unrecognized arguments: {name}", Doubt.UNKNOWN)

    def _begun(self, name: str, age: dict[str, Option]) -> list[tuple[str, str | None]]:
        """(name, glued value) of the flags that `name` can mean."""
        if name.startswith("--"):
            is_long_enough = bool(self._table.declared) or len(name) >= _SHORTEST
            return [(full, None) for full in age if is_long_enough and full.startswith(name)]
        short = [(name[:2], name[2:])] if len(name) > 2 and name[:2] in age else []
        longer = [(full, None) for full in age if full.startswith(name)]
        return [*short, *longer] if self._table.declared else []


def is_flag(word: str) -> bool:
    """Negative numbers are values, a lone dash is a file, and words with spaces are no flags."""
    if len(word) < 2 or word[0] != "-" or word[1].isdigit() or word[1] == ".":
        return False
    return " " not in word.partition("=")[0]


_NONE = Option(())


def _by_name(options: Iterable[Option]) -> dict[str, Option]:
    return {name: one for one in options for name in (*one.names, *one.negations)}
