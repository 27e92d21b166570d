"""Says at a terminal why nothing happens while what is kept for later is made the first time."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from firedup.cli.say import say_aside
from firedup.profile.cache import Cache

AFTER_S = 0.5
TEXT = "firedup compiles its patterns; that is done once, and kept for the next time"


class TellingCache(Cache):
    """The user's cache; what it lacks and what then takes long to make is said, once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._timer: threading.Timer | None = None

    def get(self, name: str) -> bytes | None:
        """As of the cache; whoever gets nothing will make it now."""
        found = super().get(name)
        if found is None and self._timer is None and not _Said.is_said and sys.stderr.isatty():
            self._timer = threading.Timer(AFTER_S, _say_once)
            self._timer.daemon = True
            self._timer.start()
        return found

    def put(self, name: str, body: bytes) -> None:
        """As of the cache; it was made."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().put(name, body)


class _Said:
    """Whether this process has said it."""

    is_said = False


def _say_once() -> None:
    if not _Said.is_said:
        _Said.is_said = True
        say_aside(TEXT)
