"""What firedup knows about engines, loaded once for a command: the catalogue and its matcher."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firedup.core.block import OPENERS
from firedup.core.error import UsageError
from firedup.core.rule import Matcher
from firedup.profile.cache import Cache
from firedup.profile.load import load_catalogue
from firedup.profile.match import build_matcher
from firedup.profile.problem import nearest
from firedup.profile.schema import GENERIC, Catalogue


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A catalogue and what finds its rules in a log."""

    catalogue: Catalogue
    matcher: Matcher


def load_knowledge(profiles: Sequence[Path] = (), *, engine: str | None = None) -> Knowledge:
    """The whole catalogue and `profiles`. UsageError when no profile is called `engine`."""
    catalogue = load_catalogue(profiles)
    check_engine(engine, catalogue)
    return equip(catalogue)


def equip(catalogue: Catalogue) -> Knowledge:
    """`catalogue` with its matcher; what is compiled is kept in the user's cache."""
    cache = Cache.of_user(os.environ)
    return Knowledge(catalogue, build_matcher(catalogue, openers=OPENERS, blobs=cache))


def check_engine(name: str | None, catalogue: Catalogue) -> None:
    """Raise UsageError when no profile is called `name`; None passes."""
    known = sorted({*catalogue.engines, GENERIC})
    if name is not None and name not in known:
        near = nearest(name, known)
        raise UsageError(
            f"there is no profile for the engine {name!r}",
            why=f"there are: {', '.join(known)}",
            todo=f"Did you mean {near}?" if near else "--profile FILE adds one.",
        )
