"""Loads the catalogue: built-in profiles, the user's folder and files named on the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from firedup import __version__
from firedup.core.error import ProfileError
from firedup.profile.cache import Cache
from firedup.profile.read import SourceFile, builtin_files, digest_of, user_files
from firedup.profile.schema import Catalogue

_FORM = 6  # of the cached catalogue; count up when the classes that it holds change


def load_catalogue(
    files: Sequence[Path] = (),
    *,
    environ: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> Catalogue:
    """The built-in catalogue, then `$XDG_CONFIG_HOME/firedup/profiles/*`, then `files`.

    Later ones replace rules of the same engine and id, and profiles of the same engine. The user's
    rules are checked with their examples. Raises ProfileError with all problems at once.
    """
    environ = os.environ if environ is None else environ
    cache = cache or Cache.of_user(environ)
    sources = (*builtin_files(), *user_files([*configured_paths(environ), *files]))
    digest = digest_of(sources, salt=f"{__version__} {_FORM}")
    if (stored := cache.get(f"catalogue-{digest}")) is not None:
        try:
            return msgspec.msgpack.decode(stored, type=Catalogue)
        except msgspec.MsgspecError:  # written by a build with other classes
            pass
    catalogue = _build(sources, digest)
    cache.put(f"catalogue-{digest}", msgspec.msgpack.encode(catalogue))
    return catalogue


def _build(sources: Sequence[SourceFile], digest: str) -> Catalogue:
    # Imported here because a start with a warm cache needs neither the parser nor the engines.
    from firedup.profile.check import check_joined  # noqa: PLC0415
    from firedup.profile.join import join_files  # noqa: PLC0415
    from firedup.profile.problem import error_of  # noqa: PLC0415

    joined = join_files(sources, digest)
    if problems := [*joined.problems, *check_joined(joined)]:
        raise error_of(problems)
    return joined.catalogue


def configured_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The user's own profiles: TOML files and folders, by name; none when there is no folder."""
    home = Path(environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser())
    folder = home / "firedup" / "profiles"
    try:
        found = sorted(folder.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ProfileError(f"cannot read {folder}", why=str(error)) from error
    return tuple(
        path
        for path in found
        if not path.name.startswith(".") and (path.is_dir() or path.suffix == ".toml")
    )
