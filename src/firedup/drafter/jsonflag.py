"""Launch flags whose values are meant as JSON and are none: engines end at once with these."""

from __future__ import annotations

import json
import re

from firedup.core.error import UsageError
from firedup.drafter.case import Launch

# A brace that begins no template of Jinja, such as one for chats.
_OBJECT = re.compile(r"\s*\{(?![{%#])")

_QUOTES = "A shell took its quotes away: write the whole value in single quotes."


def refuse_broken_json(launch: Launch) -> None:
    """UsageError at the first value that begins as a JSON object and cannot be read as one."""
    for name, value in launch.flags.items():
        if not _OBJECT.match(value):
            continue
        try:
            json.loads(value)
        except ValueError as error:
            raise UsageError(
                f"the value of --{name} is not JSON",
                where=value,
                why=str(error),
                todo="Correct it, or launches end with the same error."
                if '"' in value
                else _QUOTES,
            ) from error
