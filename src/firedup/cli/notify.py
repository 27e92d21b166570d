"""Addresses that are told of events: what `--notify` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

if TYPE_CHECKING:
    _Kind = click.ParamType[Any]
else:  # click before 8.2 has no type argument here
    _Kind = click.ParamType


class Address(_Kind):
    """An http or https address; a message about it shows no more than its beginning."""

    name = "url"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """As click wants it."""
        text = str(value)
        if not _is_address(text):
            self.fail("it is no address such as https://example.org/hook", param, ctx)
        if any(not letter.isprintable() or letter == " " for letter in text):
            self.fail("an address holds no blanks and no control characters", param, ctx)
        return text


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return has_place and parts.scheme in ("http", "https") and text.isascii()
