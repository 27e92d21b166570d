"""Reads one TOML table key by key, collecting every problem instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from firedup.profile.place import Outline, Span
from firedup.profile.problem import Problem, nearest
from firedup.profile.schema import Place

_Choice = TypeVar("_Choice", bound=StrEnum)


class Table:
    """A table of `path`; `label` is how messages call it. Call `close()` when all keys are read."""

    def __init__(
        self,
        data: Mapping[str, object],
        *,
        label: str,
        path: str,
        outline: Outline,
        span: Span,
        problems: list[Problem],
    ) -> None:
        self.label = label
        self._data = data
        self._path = path
        self._outline = outline
        self._span = span
        self._problems = problems
        self._known: dict[str, None] = {}

    def place(self, key: str | None = None, text: str | None = None) -> Place:
        """The place of `key` (or of `text` below it), or of the table itself."""
        return Place(self._path, self._outline.line_of(self._span, key, text))

    def complain(self, what: str, key: str | None = None, *, todo: str | None = None) -> None:
        """Notes a problem with this table."""
        self._problems.append(Problem(f"{self.label}: {what}", self.place(key), (), todo))

    def has(self, key: str) -> bool:
        """Whether the key is there at all."""
        return key in self._data

    def any(self, key: str) -> object:
        """The value as it is, None when absent."""
        return self._get(key)

    def text(self, key: str) -> str | None:
        """A string, None when the key is absent or something else (which is a problem)."""
        value = self._get(key)
        if value is None or isinstance(value, str):
            return value
        self._wrong(key, "a text in quotes")
        return None

    def flag(self, key: str) -> bool:
        """A truth value, False when absent."""
        value = self._get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._wrong(key, "true or false")
        return False

    def integer(self, key: str) -> int | None:
        """A whole number, None when absent."""
        value = self._get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self._wrong(key, "a whole number")
        return None

    def number(self, key: str, default: float) -> float:
        """A number, `default` when absent."""
        value = self._get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if value is not None:
            self._wrong(key, "a number")
        return default

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, empty when absent; a lone string is a list of one."""
        value = self._get(key)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self._wrong(key, "a list of texts, such as ['one', 'two']")
        return ()

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers, empty when absent."""
        value = self._get(key)
        if value is None:
            return ()
        if isinstance(value, list) and all(type(item) is int for item in value):
            return tuple(value)
        self._wrong(key, "a list of whole numbers")
        return ()

    def choice(self, key: str, kind: type[_Choice]) -> _Choice | None:
        """One of the values of `kind`."""
        word = self.text(key)
        return None if word is None else self.choose(word, key, kind)

    def choose(self, word: str, key: str, kind: type[_Choice]) -> _Choice | None:
        """`word` as a member of `kind`; a problem and None when it is none."""
        values = [member.value for member in kind]
        if word in values:
            return kind(word)
        near = nearest(word, values)
        self.complain(
            f'{key} is "{word}", which is not one of {", ".join(values)}',
            key,
            todo=f'Did you mean "{near}"?' if near else None,
        )
        return None

    def mapping(self, key: str) -> dict[str, str]:
        """A table of strings, empty when absent."""
        value = self._get(key)
        if value is None:
            return {}
        if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            return value
        self._wrong(key, 'a table of texts, such as { load-weights = "…" }')
        return {}

    def knows(self, *keys: str) -> None:
        """Keys that somebody else reads."""
        self._known |= dict.fromkeys(keys)

    def close(self) -> None:
        """Complains about the keys that nobody asked for."""
        for key in self._data:
            if key not in self._known:
                near = nearest(key, self._known)
                self.complain(
                    f'unknown key "{key}"',
                    key,
                    todo=f'Did you mean "{near}"?'
                    if near
                    else f"Known keys: {', '.join(self._known)}.",
                )

    def _get(self, key: str) -> object:
        self._known[key] = None
        return self._data.get(key)

    def _wrong(self, key: str, wanted: str) -> None:
        self.complain(f"{key} must be {wanted}, not {self._data[key]!r}", key)
