"""What is said of a link that is down or a file that does not answer, and when it is said again."""

from __future__ import annotations

from firedup.core.link import LinkState
from firedup.core.model import Snapshot
from firedup.view.quantity import render_duration, render_rfc3339
from firedup.view.redact import clean

# A link that stays down is spoken of again after twice the time, first after this.
FIRST_S = 30.0
_FILE_SILENT = "file-silent"
_TROUBLES = {
    "unreached": "the host cannot be reached",
    "needs-answer": "a password or passphrase would have to be typed",
    "unknown-key": "nobody has decided yet whether to trust the host's key",
    "changed-key": "the host shows another key than before",
    "no-client": "the program that leads there is not installed here",
    "no-place": "the container, pod or job is not there",
    "no-python": "Python is missing there",
    "disk-full": "the host's disk is full",
    "agent-died": "the agent there died",
    "link-down": "the connection broke",
}


def say_link(link: LinkState) -> str:
    """Since when the link is down, why, what that means and when the next try is made.

    The link may stand, and a file on the host not answer.
    """
    if link.trouble == _FILE_SILENT:
        return clean(link.detail)
    why = _TROUBLES.get(link.trouble, "")
    said = "the link is down" if link.down_s < 1 else f"no link for {render_duration(link.down_s)}"
    said += f" ({why})" if why else f" ({clean(link.detail)})" if link.detail else ""
    said += "; the server's state is unknown"
    if link.next_try_s is None:
        return f"{said}; trying now"
    return f"{said}; next try in {render_duration(max(1, round(link.next_try_s)))}"


class LinkNews:
    """Tells what is new of the link, for views that print lines; sans-IO."""

    def __init__(self) -> None:
        self._trouble: str | None = None
        self._was_file = False  # what was wrong last was no link
        self._next_s = 0.0
        self._down_s = 0.0

    def feed(self, snapshot: Snapshot) -> str | None:
        """What there is to say: "down", "still-down" or "up"."""
        link = snapshot.link
        if link is None:
            was_down, self._trouble = self._trouble is not None, None
            return "up" if was_down else None
        self._down_s, self._was_file = round(link.down_s, 3), link.trouble == _FILE_SILENT
        if link.trouble != self._trouble:
            is_first = self._trouble is None
            self._trouble = link.trouble
            self._next_s = max(FIRST_S, 2 * link.down_s) if is_first else self._next_s
            return "down"
        if link.down_s >= self._next_s:
            self._next_s = 2 * link.down_s
            return "still-down"
        return None

    def say(self, snapshot: Snapshot) -> list[str]:
        """The same as lines of text."""
        news = self.feed(snapshot)
        if news is None:
            return []
        if snapshot.link is not None:
            return [say_link(snapshot.link)]
        after = f"after {render_duration(self._down_s)}"
        what = "the file answers again" if self._was_file else "the link is up again"
        return [f"{what}, {after}"]

    def record(self, snapshot: Snapshot) -> list[tuple[str, dict[str, object]]]:
        """The same as the bodies of JSON events."""
        news = self.feed(snapshot)
        if news is None:
            return []
        link = snapshot.link
        return [("link", _record(link) if link is not None else _UP | {"down_s": self._down_s})]


_UP: dict[str, object] = {"state": "up", "trouble": None, "detail": None, "as_of": None}


def _record(link: LinkState) -> dict[str, object]:
    return {
        "state": "silent" if link.trouble == _FILE_SILENT else "down",
        "trouble": link.trouble,
        "detail": link.detail,
        "down_s": round(link.down_s, 3),
        "as_of": render_rfc3339(link.as_of_ns),
    }
