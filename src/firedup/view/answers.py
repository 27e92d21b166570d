"""The answers that prove a server ready, gathered so that those of one second are one line."""

from __future__ import annotations

from firedup.core.model import Checks, Ownership, Snapshot
from firedup.view.phrase import say_wait
from firedup.view.redact import clean

_ORDER = ("log", "health", "owner", "token", "why_not")
_GATHERS_NS = 1_000_000_000
_OWNERS = {
    Ownership.YES: "own port",
    Ownership.NO: "port of another server",
    Ownership.UNKNOWN: "port owner unknown",
}


class Answers:
    """Keeps what is new until it is taken; what was superseded meanwhile is not told.

    `at_ns` is the host's boottime of the newest answer, None when there is none to be told. A wait
    that begins while answers come in waits with them: the next answer may end it.
    """

    def __init__(self) -> None:
        self._told: dict[str, str] = dict.fromkeys(_ORDER, "")
        self._new: dict[str, str] = {}
        self._waiting_for = ""
        self._wait = ""
        self._since_ns: int | None = None
        self.at_ns: int | None = None

    def feed(self, snapshot: Snapshot, at_ns: int) -> None:
        """Note what `snapshot` knows beyond the one before; its answers came at `at_ns`."""
        for kind, text in _short_answers(snapshot.checks).items():
            if self._told.get(kind) != text:
                self._told[kind] = self._new[kind] = text
                self._since_ns = self._since_ns or snapshot.now_ns
                self.at_ns = at_ns
        before, self._waiting_for = self._waiting_for, snapshot.waiting_for
        waiting = "" if snapshot.progress else say_wait(snapshot)
        if not waiting:
            self._wait = ""
        elif before != snapshot.waiting_for:
            self._wait = f"waits for {waiting}"

    def is_due(self, snapshot: Snapshot) -> bool:
        """Whether nothing more is worth waiting for."""
        if self._since_ns is None:
            return bool(self._wait)
        return snapshot.now_ns - self._since_ns >= _GATHERS_NS

    def take(self) -> str:
        """The line of answers, "" where there is none."""
        texts = [text for kind, text in self._told.items() if kind in self._new]
        said = f"checks: {' · '.join(texts)}" if texts else ""
        self._new = {}
        self._since_ns = None
        return said

    def take_wait(self) -> str:
        """The line that says what is waited for, "" where that is no news."""
        wait, self._wait = self._wait, ""
        return wait


def _short_answers(checks: Checks) -> dict[str, str]:
    """Each answer in a word or two; that the log does not say it yet is none."""
    said = {}
    if checks.log:
        said["log"] = "log"
    if checks.health is not None:
        said["health"] = f"health {checks.health}"
    if checks.owner is not None:
        said["owner"] = _OWNERS[checks.owner]
    if checks.token is not None:
        said["token"] = "token" if checks.token else "no token"
    if checks.why_not:
        said["why_not"] = clean(checks.why_not)
    return said
