"""One line of a file of prompts, in any of the four forms that are in use, as a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from firedup.core.error import UsageError
from firedup.core.measure.prompt import Message, Prompt

OWN = "own"
FORMS = ("prompt", "messages", "turns", "conversations")
_KEYS = frozenset({"id", "category", *FORMS})
_FORMS_TODO = (
    'Each line is a JSON object such as {"prompt": "…"}, {"messages": [{"role": "user", '
    '"content": "…"}]}, {"turns": ["…"]} or {"conversations": [{"from": "human", "value": "…"}]}.'
)
_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
}
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A line as understood. `prompt` is None where there is nothing to ask, and `why` says so."""

    prompt: Prompt | None
    unknown: tuple[str, ...] = ()
    why: str | None = None


class _Wrong(Exception):  # noqa: N818 - never leaves this module
    """What is wrong with a line, before its place is known."""

    def __init__(self, what: str, todo: str = _FORMS_TODO) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo


def parse_line(data: bytes, path: str, number: int, stem: str) -> Entry | None:
    """The prompt of line `number` of `path`; None for a blank line.

    A prompt without an id is called `stem` and the number. Raises UsageError with place and cure.
    """
    if not data.strip():
        return None
    where = f"{path}:{number}"
    try:
        return _parse(data, where, f"{stem}:{number}")
    except _Wrong as wrong:
        raise UsageError(
            f"the file of prompts has a line that cannot be used: {wrong.what}",
            where=where,
            evidence=_show(data),
            todo=wrong.todo,
        ) from None


def _parse(data: bytes, where: str, default_id: str) -> Entry:
    value = _decode(data)
    if isinstance(value, list) or data.lstrip()[:1] == b"[":
        raise _Wrong(
            "it begins a list", "The file is one JSON list: jq -c '.[]' makes lines of it."
        )
    if not isinstance(value, dict):
        raise _Wrong("it is no JSON object")
    forms = [form for form in FORMS if value.get(form) is not None]
    if not forms:
        raise _Wrong(f"it has none of the keys {', '.join(FORMS)}")
    if len(forms) > 1:
        raise _Wrong(f"it has {' and '.join(forms)}", "Leave one of them.")
    form = forms[0]
    messages, later = _read_form(form, value[form])
    unknown = tuple(_show_text(key) for key in value if key not in _KEYS)
    while messages and messages[-1].role == "assistant":
        messages.pop()  # the answer that somebody once got; the server shall give its own
    if not messages or messages[-1].role != "user":
        return Entry(None, unknown, "it holds nothing that a user says")
    id_ = _read_name(value, "id", default_id)
    category = _read_name(value, "category", OWN)
    return Entry(Prompt(id_, category, tuple(messages), where, later), unknown)


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if data.lstrip()[:1] == b"[":
            return None
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise _Wrong("it is UTF-16", "Save the file as UTF-8.") from None
        raise _Wrong(f"it is no JSON ({str(error)[:_SHOWN]})") from None


def _read_form(form: str, value: Any) -> tuple[list[Message], tuple[str, ...]]:
    if form == "prompt":
        return [Message("user", _read_text(value, "prompt"))], ()
    if not isinstance(value, list):
        raise _Wrong(f"{form} is no list")
    if form == "turns":
        turns = [_read_text(turn, "a turn") for turn in value]
        return [Message("user", turn) for turn in turns[:1]], tuple(turns[1:])
    if form == "messages":
        return [_read_message(item, "role", "content") for item in value], ()
    return _split([_read_message(item, "from", "value") for item in value])


def _split(said: list[Message]) -> tuple[list[Message], tuple[str, ...]]:
    """A conversation up to what the user says first, and what he says later.

    What was answered then is left out: the server shall give its own.
    """
    first = next((n for n, one in enumerate(said) if one.role == "user"), len(said))
    rest = said[first + 1 :]
    if any(one.role == "system" for one in rest):
        raise _Wrong(
            "a system message stands within the conversation",
            "Put it first, or give all as messages.",
        )
    return said[: first + 1], tuple(one.content for one in rest if one.role == "user")


def _read_message(item: Any, role_key: str, content_key: str) -> Message:
    if not isinstance(item, dict) or role_key not in item or content_key not in item:
        raise _Wrong(f"a message has not both {role_key} and {content_key}")
    said = item[role_key]
    role = _ROLES.get(said.lower()) if isinstance(said, str) else None
    if role is None:
        raise _Wrong(
            f"nobody is called {_show_text(said)}",
            "Roles are system, user and assistant; from is system, human or gpt.",
        )
    return Message(role, _read_text(item[content_key], f"the {content_key} of a message"))


def _read_text(value: Any, name: str) -> str:
    """Text, also where it comes as a list of parts, each {"type": "text", "text": …}."""
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in value]
        if not all(isinstance(part, str) for part in parts):
            raise _Wrong(f"{name} has a part that is no text", "Only text can be asked.")
        value = "".join(part for part in parts if part is not None)
    if not isinstance(value, str):
        raise _Wrong(f"{name} is no text")
    if not value.strip():
        raise _Wrong(f"{name} is empty", "Fill it, or take the line out.")
    return value


def _read_name(value: dict[str, Any], key: str, default: str) -> str:
    """A word for people: an id or a category, made of printable characters."""
    found = value.get(key)
    if found is None:
        return default
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if not isinstance(found, str) or not found.strip() or not found.isprintable():
        raise _Wrong(f"{key} is no name", f"Give {key} as a word, or leave it out.")
    if len(found) > 2 * _SHOWN:
        raise _Wrong(f"{key} is longer than {2 * _SHOWN} characters", f"Shorten {key}.")
    return found.strip()


def _show(data: bytes) -> str:
    text = data[: 2 * _SHOWN].decode("utf-8", "replace").strip()
    return _show_text(text)


def _show_text(value: object) -> str:
    """The beginning of a value, in characters that do nothing to a terminal."""
    text = value if isinstance(value, str) else repr(value)
    shown = "".join(char if char.isprintable() else "�" for char in text[: _SHOWN + 1])
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
