"""Published drafters for targets that are known, from a data file with its sources."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(min_length=1)]


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A drafter on the hub. `measured` says acceptance lengths and at which settings."""

    target: Text
    drafter: Text
    measured: Text
    source: Text


@cache
def published() -> tuple[Published, ...]:
    """All that the data file names."""
    text = (files("firedup.drafter.knowledge") / "published.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["drafter"], tuple[Published, ...])
