"""What to say where there is no verdict, and the notes about a log that stand below a statement."""

from __future__ import annotations

from firedup.core.model import Explanation, Verdict
from firedup.view.cause import MOST_NOTES
from firedup.view.paper import Paper
from firedup.view.redact import clean

_UNREAD = "no line of it is one that firedup knows"
# What a note about the log begins with → what to do. A note that tells this itself has None.
_WAYS = {
    "not plain text": None,
    "not UTF-8": None,
    "not a log": "Give the log: the file that standard output and error of the server go to.",
    "the log is empty": "Look again once its server has written to it: firedup watch LOG.",
    "stale log": "Its server is gone, and its last words tell no end. Read the log itself, or name"
    " that of a server that lives.",
    "abandoned log": "Its server is gone, and its last words tell no end. Read the log itself, or"
    " name that of a server that lives.",
}
_ELSE = (
    "If it is the log of a server, name its engine with --engine; firedup profile new begins a"
    " profile for one that is not known."
)
_SEEN = "Read the last lines of the log."


def say_why_unknown(explanation: Explanation) -> str:
    """Why there is no verdict: the last note tells it, because reading ended there."""
    if explanation.notes:
        return clean(explanation.notes[-1])
    if explanation.stages or explanation.stage:
        return "the log tells no end, and no process is seen"
    return _UNREAD


def render_way_out(explanation: Explanation, paper: Paper) -> list[str]:
    """What to do where there is no verdict."""
    if explanation.verdict is not Verdict.UNKNOWN:
        return []
    why = say_why_unknown(explanation)
    way = _SEEN if explanation.stage else _ELSE
    for begin, text in _WAYS.items():
        if why.startswith(begin):
            if text is None:
                return []
            way = text
    return ["", paper.paint("what to do", "bold"), *paper.fold(way, indent="  ")]


def render_notes(explanation: Explanation, paper: Paper, *, most: int = MOST_NOTES) -> list[str]:
    """The notes, the last ones where there are many, but for one that is in the headline."""
    notes = explanation.notes
    if explanation.verdict is Verdict.UNKNOWN:
        notes = notes[:-1]
    hidden = max(0, len(notes) - most)
    lines = [line for note in notes[hidden:] for line in paper.fold(clean(note), indent="  · ")]
    if hidden:
        said = f"and {hidden} more, all of them in the output of --json"
        lines += [paper.paint(line, "faint") for line in paper.fold(said, indent="  ")]
    return lines
