"""Invents names of people and places and dates in their order, from a seeded generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

_MONTHS = "January February March April May June July August September October November December"
_FIRST_YEAR, _LAST_YEAR = 1840, 2040


@dataclass(frozen=True, slots=True)
class Syllables:
    """What names are put together of."""

    first: tuple[str, ...]
    last_begin: tuple[str, ...]
    last_middle: tuple[str, ...]
    last_end: tuple[str, ...]
    place_begin: tuple[str, ...]
    place_end: tuple[str, ...]


class Inventor:
    """Hands out names and dates for one document; no person and no entry number comes twice."""

    def __init__(self, random: Random, syllables: Syllables) -> None:
        self._random = random
        self._syllables = syllables
        self._people: set[str] = set()
        year = random.randrange(_FIRST_YEAR, _LAST_YEAR)
        self._day = date(year, 1, 1) + timedelta(days=random.randrange(365))
        self._number = random.randrange(1, 4000)

    def makers(self) -> dict[str, Callable[[], str]]:
        """The words that are invented, each with its maker."""
        return {
            "person": self._person,
            "place": self._place,
            "date": self._date,
            "number": self._next_number,
        }

    def _person(self) -> str:
        choose, of = self._random.choice, self._syllables
        while True:
            last = choose(of.last_begin) + choose(of.last_middle) + choose(of.last_end)
            name = f"{choose(of.first)} {last}"
            if name not in self._people:
                self._people.add(name)
                return name

    def _place(self) -> str:
        of = self._syllables
        return self._random.choice(of.place_begin) + self._random.choice(of.place_end)

    def _date(self) -> str:
        day = self._day
        self._day += timedelta(days=self._random.randrange(1, 9))
        return f"{day.day} {_MONTHS.split()[day.month - 1]} {day.year}"

    def _next_number(self) -> str:
        self._number += 1
        return str(self._number)
