"""Loads the prompts that come with firedup, and files of the user's own."""

from __future__ import annotations

import codecs
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO, Any

from firedup.core.error import UsageError
from firedup.core.measure.prompt import (
    CATEGORIES,
    LONG_CONTEXT,
    WRITTEN,
    Message,
    Prompt,
    content_key,
)
from firedup.probe.longcontext import DEFAULT_CHARACTERS, build_prompts, load_kinds
from firedup.probe.promptline import parse_line

BUILT_IN = "built-in"
PER_CATEGORY = 24
# A probe asks a few hundred at most; the rest of a data set is only looked at.
MOST_PROMPTS = 10_000
MOST_BYTES = 256 * 2**20
LONGEST_LINE = 16 * 2**20
_NAMED = 5


@dataclass(frozen=True, slots=True)
class PromptFile:
    """What a user's file holds, and what of it was left out, in sentences."""

    prompts: tuple[Prompt, ...]
    notes: tuple[str, ...] = ()


def load_set(
    categories: Sequence[str] = CATEGORIES,
    *,
    seed: int,
    long_count: int = PER_CATEGORY,
    long_characters: int = DEFAULT_CHARACTERS,
) -> tuple[Prompt, ...]:
    """All prompts of `categories`, to draw from: the written ones, and long ones built by `seed`.

    Raises UsageError for a category that does not exist and a length that cannot be built.
    """
    written = load_builtin([name for name in categories if name != LONG_CONTEXT])
    if LONG_CONTEXT not in categories:
        return written
    long = build_prompts(load_kinds(), long_count, seed=seed, characters=long_characters)
    return (*written, *long)


def load_builtin(categories: Sequence[str] = WRITTEN) -> tuple[Prompt, ...]:
    """The written prompts of `categories`."""
    folder = resources.files("firedup.probe") / "prompts"
    prompts: list[Prompt] = []
    for category in categories:
        if category not in WRITTEN:
            raise UsageError(
                f"there are no prompts of the category {category!r}",
                todo=f"Choose from {', '.join(CATEGORIES)}.",
            )
        table = tomllib.loads((folder / f"{category}.toml").read_text(encoding="utf-8"))
        prompts += [_make_prompt(category, item) for item in table["prompt"]]
    return tuple(prompts)


def load_prompts(
    path: Path, *, most_prompts: int = MOST_PROMPTS, most_bytes: int = MOST_BYTES
) -> PromptFile:
    """The prompts of a JSON Lines file, read line by line, up to the two limits.

    A prompt that occurs again is left out, and what the keys mean that are not known is not
    guessed; both are told in the notes. Raises UsageError with file, line and what to do.
    """
    reading = _Reading(path, most_prompts, most_bytes)
    try:
        with path.open("rb") as file:
            prompts = tuple(reading.follow(file))
    except OSError as error:
        raise UsageError(
            f"the file of prompts {path} cannot be read",
            why=error.strerror or str(error),
            todo="Name a file with one JSON object per line.",
        ) from None
    except ValueError as error:  # a name that no file can have
        raise UsageError(f"the file of prompts {str(path)!r} cannot be read: {error}") from None
    if not prompts:
        raise UsageError(
            f"the file of prompts {path} holds no prompt",
            evidence="; ".join(reading.notes()) or None,
            todo='Write one JSON object per line, such as {"prompt": "…"}.',
        )
    return PromptFile(prompts, reading.notes())


class _Reading:
    """One pass over a file; keeps count of what it left out."""

    def __init__(self, path: Path, most_prompts: int, most_bytes: int) -> None:
        self._path = str(path)
        self._stem = path.stem if path.stem.isprintable() else "own"
        self._most_prompts = most_prompts
        self._most_bytes = most_bytes
        self._unknown: Counter[str] = Counter()
        self._left_out: list[str] = []
        self._left_out_count = 0
        self._cut_after: int | None = None

    def follow(self, file: IO[bytes]) -> Iterator[Prompt]:
        """The different prompts of the file, in its order."""
        seen: dict[bytes, int] = {}
        ids: dict[str, int] = {}
        size = 0
        for number, line in enumerate(_lines(file), start=1):
            size += len(line)
            if len(line) > LONGEST_LINE:
                raise UsageError(
                    f"a line of the file of prompts is longer than {LONGEST_LINE >> 20} MiB",
                    where=f"{self._path}:{number}",
                    todo="Write one JSON object per line, each with one prompt; if the file is one "
                    "JSON list, jq -c '.[]' FILE makes lines of it.",
                )
            if size > self._most_bytes or len(seen) >= self._most_prompts:
                self._cut_after = number - 1
                return
            data = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            entry = parse_line(data, self._path, number, self._stem)
            if entry is None:
                continue
            self._note_unknown(entry.unknown)
            prompt = entry.prompt
            if prompt is None:
                self._leave_out(f"line {number} is left out: {entry.why}")
                continue
            key = content_key(prompt)
            if key in seen:
                self._leave_out(f"line {number} is left out: it asks what line {seen[key]} asks")
                continue
            if prompt.id in ids:
                raise UsageError(
                    f"two prompts of the file are called {prompt.id}",
                    where=f"{self._path}:{number}",
                    evidence=f"the other one is in line {ids[prompt.id]}",
                    todo="Give each an id of its own, or none at all.",
                )
            seen[key] = ids[prompt.id] = number
            yield prompt

    def notes(self) -> tuple[str, ...]:
        """What was left out, in sentences."""
        notes = list(self._left_out)
        if (more := self._left_out_count - len(self._left_out)) > 0:
            notes.append(f"{more} more lines are left out for the same reasons")
        common = self._unknown.most_common(_NAMED)
        if common:
            names = ", ".join(name for name, _ in common)
            rest = len(self._unknown) - len(common)
            notes.append(f"keys that are not used: {names}" + (f" and {rest} more" * (rest > 0)))
        if self._cut_after is not None:
            notes.append(f"the file is longer; it was read up to line {self._cut_after}")
        return tuple(notes)

    def _note_unknown(self, keys: tuple[str, ...]) -> None:
        for key in keys:
            if key in self._unknown or len(self._unknown) < 1000:
                self._unknown[key] += 1

    def _leave_out(self, note: str) -> None:
        self._left_out_count += 1
        if len(self._left_out) < _NAMED:
            self._left_out.append(note)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, the longest one cut where it is too long by one byte."""
    while line := file.readline(LONGEST_LINE + 1):
        yield line


def _make_prompt(category: str, item: dict[str, Any]) -> Prompt:
    id_ = f"{category}/{item['id']}"
    said = item.get("message") or [{"role": "user", "content": item["text"]}]
    messages = tuple(Message(message["role"], message["content"].strip()) for message in said)
    return Prompt(id_, category, messages, BUILT_IN)
