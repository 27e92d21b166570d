"""What firedup knows about engines: the catalogue of a command, and the matcher for a log."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from firedup.cli.patience import TellingCache
from firedup.core.error import UsageError
from firedup.core.log.block import OPENERS
from firedup.core.rule import Matcher
from firedup.profile.load import load_catalogue
from firedup.profile.match import CatalogueMatcher
from firedup.profile.problem import nearest
from firedup.profile.schema import GENERIC, Catalogue


def read_catalogue(profiles: Sequence[Path] = (), *, engine: str | None = None) -> Catalogue:
    """The whole catalogue and `profiles`. UsageError when no profile is called `engine`."""
    catalogue = load_catalogue(profiles, cache=TellingCache.of_user(os.environ))
    known = sorted({*catalogue.engines, GENERIC})
    if engine is not None and engine not in known:
        near = nearest(engine, known)
        raise UsageError(
            f"there is no profile for the engine {engine!r}",
            why=f"there are: {', '.join(known)}",
            todo=f"Did you mean {near}?" if near else "--profile FILE adds one.",
        )
    return catalogue


def match_log(catalogue: Catalogue, engine: str | None) -> Matcher:
    """The matcher for a finished log. What is compiled is kept in the user's cache.

    The rules of all engines are searched for, so that a log can contradict what was said of it.
    Those of "generic" would meet almost anything, and are for that `engine` alone.
    """
    rules = catalogue.rules_for(GENERIC if engine == GENERIC else None)
    return CatalogueMatcher(rules, OPENERS, blobs=TellingCache.of_user(os.environ))


def match_server(catalogue: Catalogue, engine: str | None) -> Matcher:
    """The matcher for a server that is watched.

    Where the command does not tell the engine (None), the rules of "generic" help for as long as
    the log does not tell it either.
    """
    if engine is not None:
        return match_log(catalogue, engine)
    generic = tuple(e.rule for e in catalogue.entries if e.rule.engine == GENERIC)
    rules = (*catalogue.rules_for(None), *generic)
    return CatalogueMatcher(rules, OPENERS, blobs=TellingCache.of_user(os.environ))
