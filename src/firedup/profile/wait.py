"""What frames of stacks mean, as a data file whose samples are tried when it is checked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Annotated

import msgspec
import re2
from msgspec import Meta

from firedup.core.error import ProfileError
from firedup.core.stack import Frame, Wait

SCHEMA = 1
Text = Annotated[str, Meta(min_length=1)]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a frame means that `pattern` meets; frames are written "function (file:line)"."""

    id: Annotated[str, Meta(pattern=r"^[a-z]+(-[a-z]+)*$")]
    meaning: Text
    pattern: Text
    source: Text
    matches: Annotated[tuple[Text, ...], Meta(min_length=1)]
    misses: Annotated[tuple[Text, ...], Meta(min_length=1)]
    for_others: bool = False
    generic: bool = False


class Waits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; the first entry that a frame meets counts."""

    schema: int
    wait: tuple[Entry, ...]


def find_wait(frame: Frame) -> Wait | None:
    """What `frame` means, None where nothing is known of it."""
    return _find(str(frame))


@lru_cache(maxsize=4096)
def _find(text: str) -> Wait | None:
    for entry, pattern in _compiled():
        if pattern.search(text):
            return Wait(entry.id, entry.meaning, entry.for_others, entry.generic)
    return None


@cache
def _compiled() -> tuple[tuple[Entry, re2._Regexp], ...]:
    text = (files("firedup.profile") / "stack" / "wait.toml").read_text("utf-8")
    return tuple((entry, re2.compile(entry.pattern)) for entry in read_waits(text).wait)


def read_waits(text: str) -> Waits:
    """A data file as a value. ProfileError where it is none."""
    try:
        found = msgspec.convert(tomllib.loads(text), Waits)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ProfileError("wait.toml is no data file of waits", why=str(error)) from error
    if found.schema != SCHEMA:
        raise ProfileError(f"wait.toml has schema {found.schema}; this version reads {SCHEMA}")
    return found


def check_waits(waits: Waits) -> Iterator[str]:
    """What its samples contradict: each is met by its own entry first, a near miss never by it."""
    names = [entry.id for entry in waits.wait]
    yield from (f"{name} is there twice" for name in set(names) if names.count(name) > 1)
    patterns = [(entry.id, re2.compile(entry.pattern)) for entry in waits.wait]
    for entry, (_, pattern) in zip(waits.wait, patterns, strict=True):
        for sample in entry.matches:
            first = next((name for name, other in patterns if other.search(sample)), None)
            if first != entry.id:
                yield f"{entry.id}: {sample!r} is met by {first or 'nothing'}"
        for sample in entry.misses:
            if pattern.search(sample):
                yield f"{entry.id}: {sample!r} is met and must not be"
