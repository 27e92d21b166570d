"""A launch command → the flags that bear on a drafter, whatever shell or wrapper it stands in."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from firedup.drafter.case import Launch
from firedup.profile.schema import Catalogue


def read_launch(
    command: str | Sequence[str],
    env: Mapping[str, str] | None = None,
    tp: int | None = None,
    *,
    catalogue: Catalogue | None = None,
) -> Launch:
    """The flags of `command` by name, without dashes before it; a switch has the value "true".

    The first word may be an engine's name. Of a flag whose value is JSON the parts are there, too:
    `speculative-config.method`. `catalogue` knows the engines, the built-in one unless given.
    Nothing is expanded. ValueError for a text with an open quote.
    """
    argv = tuple(shlex.split(command) if isinstance(command, str) else command)
    if not argv:
        return Launch(env=dict(env or {}), tp=tp)
    # Imported here because most checks have no command, and need nothing that knows engines.
    from firedup.drafter.commanded import read_words  # noqa: PLC0415

    return read_words(argv, env or {}, tp, catalogue)
