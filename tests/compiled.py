"""The built-in catalogue and its matchers, made once for all test modules of a process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

from firedup.core.log.block import OPENERS
from firedup.profile.cache import Cache
from firedup.profile.load import load_catalogue
from firedup.profile.match import CatalogueMatcher, build_matcher
from firedup.profile.schema import Catalogue

NO_PROFILES = "/nonexistent"  # where nobody keeps profiles of his own


@cache
def builtin_catalogue() -> Catalogue:
    """What comes with firedup, whatever the user of this machine has added."""
    environ = {"XDG_CONFIG_HOME": NO_PROFILES, "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    return load_catalogue(environ=environ)


@cache
def builtin_matcher(
    engine: str | None = None, openers: Sequence[str] = tuple(OPENERS)
) -> CatalogueMatcher:
    """The matcher of its rules for `engine`, None = those of all engines."""
    cached = Cache.of_user(os.environ)
    return build_matcher(builtin_catalogue(), engine, openers, blobs=cached)
