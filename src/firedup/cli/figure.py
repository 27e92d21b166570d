"""Numbers on the command line: finite, and such as can be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Kind = click.ParamType[Any]
else:  # click before 8.2 has no type argument here
    _Kind = click.ParamType


class Figure(_Kind):
    """A number from `low` to `high`; what is endless, or no number at all, is refused too."""

    name = "number"

    def __init__(self, low: float, high: float) -> None:
        self.limits = (low, high)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """As click wants it."""
        try:
            number = float(str(value))
        except ValueError:
            self.fail(f"{value!r} is no number", param, ctx)
        low, high = self.limits
        if not low <= number <= high:
            self.fail(f"{value} is not between {low:g} and {high:,.0f}", param, ctx)
        return number
