"""What a bench returns."""

from __future__ import annotations

from typing import TypedDict

Figure = float | int | str | bool | None


class Result(TypedDict):
    """The outcome of one bench.

    `figures` are what was measured, units in the names; `bars` are the limits they are held
    against; `met` says whether all bars were; `table` is the same for people.
    """

    figures: dict[str, Figure]
    bars: dict[str, Figure]
    met: bool
    table: str
