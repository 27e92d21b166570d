"""Keeps what is costly to make (read catalogues, compiled patterns) in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

MAX_FILES = 40  # four each for a few versions and a few sets of user profiles
_SEAL_BYTES = 32


class Cache:
    """Byte strings by name in one folder; a folder that cannot be used is no error.

    Each file begins with the hash of the rest, so that a half-written or damaged one counts as
    absent.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> Cache:
        """`$XDG_CACHE_HOME/firedup`, else `~/.cache/firedup`."""
        home = environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        return cls(Path(home) / "firedup")

    def get(self, name: str) -> bytes | None:
        """What was put under `name`, None when there is nothing sound."""
        file = self._folder / name
        try:
            data = file.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(file)  # so that what is in use is not the oldest, which goes first
        seal, body = data[:_SEAL_BYTES], data[_SEAL_BYTES:]
        return body if hashlib.sha256(body).digest() == seal else None

    def put(self, name: str, body: bytes) -> None:
        """Stores `body` whole or not at all; silently not, when the folder cannot be written."""
        import tempfile  # noqa: PLC0415 - what most starts do without

        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, path = tempfile.mkstemp(prefix=".new-", dir=self._folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(body).digest() + body)
                Path(path).replace(self._folder / name)
            except OSError:
                Path(path).unlink()
                raise
            self._forget_old()

    def _forget_old(self) -> None:
        files = [(entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(self._folder)]
        for _, path in sorted(files, reverse=True)[MAX_FILES:]:
            Path(path).unlink()
