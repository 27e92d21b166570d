"""Changes one setting in a TOML text of settings and leaves all other lines as they are."""

from __future__ import annotations

import json
import re
import tomllib


def change_setting(text: str, key: str, value: str | bool) -> str:  # noqa: FBT001 - a value
    """`text` with `key` set to `value`; a new one stands at the end."""
    line = f"{key} = {_render(value)}\n"
    place = _find(text, key)
    if place is None:
        head = text if not text or text.endswith("\n") else f"{text}\n"
        return head + line
    return text[: place[0]] + line + text[place[1] :]


def drop_setting(text: str, key: str) -> str:
    """`text` without `key`."""
    place = _find(text, key)
    return text if place is None else text[: place[0]] + text[place[1] :]


def _render(value: str | bool) -> str:  # noqa: FBT001 - a value
    if isinstance(value, bool):
        return "true" if value else "false"
    # JSON's strings are TOML's, but for one character that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _find(text: str, key: str) -> tuple[int, int] | None:
    """Where the lines of a setting begin and end; its value may go on over several lines."""
    pattern = re.compile(rf"^[ \t]*(?:{key}|\"{key}\"|'{key}')[ \t]*=", re.MULTILINE)
    for found in pattern.finditer(text):
        end = found.start()
        while end < len(text):
            stop = text.find("\n", end)
            end = stop + 1 if stop >= 0 else len(text)
            try:
                tomllib.loads(text[found.start() : end])
            except tomllib.TOMLDecodeError:
                continue
            return found.start(), end
    return None
