"""The first line of every statement: what the verdict is, and on what."""

from __future__ import annotations

from collections.abc import Sequence

from firedup.core.model import Explanation, Stage, Verdict
from firedup.view.doubt import say_why_unknown
from firedup.view.paper import Paper, count_columns
from firedup.view.quantity import render_duration

VERDICT_LOOKS: dict[Verdict, tuple[str, str]] = {
    Verdict.READY: ("✓", "green"),
    Verdict.LOADING: ("●", "cyan"),
    Verdict.CRASHED: ("✗", "red"),
    Verdict.STALLED: ("✗", "yellow"),
    Verdict.STOPPED: ("●", "cyan"),
    Verdict.TIMED_OUT: ("✗", "yellow"),
    Verdict.LOST: ("✗", "yellow"),
    Verdict.UNKNOWN: ("○", "yellow"),
}
_SENTENCES = {
    Verdict.READY: "ready",
    Verdict.LOADING: "still loading",
    Verdict.CRASHED: "crashed",
    Verdict.STALLED: "stalled",
    Verdict.STOPPED: "stopped by its operator",
    Verdict.TIMED_OUT: "timed out",
    Verdict.LOST: "contact lost",
    Verdict.UNKNOWN: "no verdict",
}
_AT_A_STAGE = frozenset(Verdict) - {Verdict.READY, Verdict.STOPPED, Verdict.UNKNOWN}


def render_headline(
    explanation: Explanation,
    facts: Sequence[str],
    paper: Paper,
    *,
    after_s: float | None = None,
    is_refuted: bool = False,
) -> list[str]:
    """Verdict, stage and time on one line with `facts`; where it does not fit, on the next.

    `is_refuted`: the log says that it is ready, and it never was.
    """
    symbol, tone = VERDICT_LOOKS[explanation.verdict]
    if explanation.verdict is Verdict.UNKNOWN:
        return _render_no_verdict(explanation, facts, paper)
    sentence = _SENTENCES[explanation.verdict]
    if explanation.stage and explanation.verdict in _AT_A_STAGE:
        if explanation.stage not in (Stage.SERVING, Stage.READY):
            sentence += f" in {explanation.stage}"
        elif explanation.verdict is Verdict.LOADING:
            sentence = "not yet proved ready"  # its own log says ready, which is not proof
        elif is_refuted:
            sentence += " before it was ready"
        else:
            sentence += " while serving"
    if explanation.verdict is Verdict.STALLED and explanation.exited:
        sentence += ", stopped by firedup"
    head = f"{symbol} {sentence}"
    if after_s is not None:
        after = f"after {render_duration(after_s)}"
        if count_columns(f"{head} {after}") <= paper.columns:
            head += f" {after}"
        else:
            facts = [after, *facts]
    tail = " · ".join(facts)
    painted = paper.paint(head, tone, "bold")
    if not tail:
        return [painted]
    if count_columns(f"{head}  {tail}") <= paper.columns:
        return [f"{painted}  {tail}"]
    return [painted, *paper.fold(tail, indent="  ")]


def _render_no_verdict(explanation: Explanation, facts: Sequence[str], paper: Paper) -> list[str]:
    """Why there is none, as long as that may be."""
    symbol, tone = VERDICT_LOOKS[Verdict.UNKNOWN]
    why = f"{symbol} {_SENTENCES[Verdict.UNKNOWN]}: {say_why_unknown(explanation)}"
    head = [paper.paint(line, tone, "bold") for line in paper.fold(why, rest="  ")]
    return head + (paper.fold(" · ".join(facts), indent="  ") if facts else [])


def render_section(
    title: str, body: Sequence[str], paper: Paper, *, is_joined: bool = False
) -> list[str]:
    """A title and its lines after an empty line; nothing when there are no lines.

    `is_joined` puts the first line beside the title.
    """
    if not body:
        return []
    head = paper.paint(title, "bold")
    return ["", f"{head}  {body[0]}", *body[1:]] if is_joined else ["", head, *body]
