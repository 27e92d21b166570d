"""What a log says, for people: verdict, stages, cause, findings and gauges."""

from __future__ import annotations

from datetime import UTC, tzinfo

from firedup.core.model import Explanation, Gauge, Stage, Verdict
from firedup.view.cause import MOST_FOLLOWED, render_cause, render_findings, render_followed
from firedup.view.comparison import render_comparison
from firedup.view.doubt import render_notes, render_way_out
from firedup.view.headline import render_headline, render_section
from firedup.view.paper import COMPACT_BELOW, Paper, count_columns, pad
from firedup.view.passage import Passage, gather_startup
from firedup.view.quantity import (
    render_clock,
    render_duration,
    render_figure,
    render_percent,
)
from firedup.view.redact import clean
from firedup.view.stack import render_stacks

_ENDS = (Verdict.CRASHED, Verdict.STOPPED)
_MOST_NOTES = 12
MOST_OF_ALL = 1_000_000
_COUNTS = ("running", "waiting")
_GAUGE_NAMES = {
    "accept_length": "acceptance length",
    "accept_rate": "acceptance rate",
    "generation_tokens_per_s": "generated tokens/s",
    "prompt_tokens_per_s": "prompt tokens/s",
    "running": "running requests",
    "waiting": "waiting requests",
}


def render_explanation(
    explanation: Explanation,
    paper: Paper,
    *,
    path: str | None = None,
    zone: tzinfo | None = None,
    has_all: bool = False,
) -> str:
    """The whole statement about a log, without a final line break.

    `zone` is for times of the host's clock; times of a log are shown as the log has them. `has_all`
    leaves nothing out for the sake of one screen.
    """
    lines = [] if path is None else [paper.paint(clean(path), "bold")]  # whole, to be copied
    lines += render_headline(explanation, name_facts(explanation), paper)
    lines += render_section("stages", render_stages(explanation, paper, zone), paper)
    if explanation.cause:
        lines += render_section(
            "cause", render_cause(explanation.cause, paper), paper, is_joined=True
        )
    most = MOST_OF_ALL if has_all else MOST_FOLLOWED
    followed = render_followed(explanation.followed, paper, cause=explanation.cause, most=most)
    lines += render_comparison(explanation.since_good, paper, has_all=has_all)
    lines += render_section("what followed", followed, paper)
    findings = render_findings(explanation.findings, paper, has_all=has_all)
    lines += render_section("findings", findings, paper)
    lines += render_stacks(explanation.stacks, paper, zone=zone, has_all=has_all)
    lines += render_section("gauges in the log", render_gauges(explanation.gauges, paper), paper)
    lines += render_section(
        "notes", render_notes(explanation, paper, most=most if has_all else _MOST_NOTES), paper
    )
    tail = [f"  {clean(line)}" for line in explanation.tail]
    lines += render_section("the log's last lines", tail, paper)
    lines += render_way_out(explanation, paper)
    return paper.finish(lines)


def name_facts(explanation: Explanation) -> list[str]:
    """What belongs beside the verdict: engine, time served, number of starts, doubts."""
    knows_anything = explanation.verdict is not Verdict.UNKNOWN
    is_doubtful = explanation.confidence < 0.8 and knows_anything
    engine = " ".join(part for part in (explanation.engine, explanation.version) if part)
    facts = [
        clean(engine) or ("engine unknown" if knows_anything else None),
        f"served {render_duration(explanation.served_s)}" if explanation.served_s else None,
        f"start {explanation.starts} in this log" if explanation.starts > 1 else None,
        "process ended" if explanation.exited and explanation.verdict not in _ENDS else None,
        "process alive" if explanation.exited is False and explanation.verdict in _ENDS else None,
        f"{render_percent(explanation.confidence)} sure" if is_doubtful else None,
    ]
    return [fact for fact in facts if fact]


def render_stages(explanation: Explanation, paper: Paper, zone: tzinfo | None = None) -> list[str]:
    """The stages in the order of their first line: when, how long, the spread over ranks."""
    passages = gather_startup(explanation)
    if not passages:
        return []
    rows = [
        (
            row.stage,
            _say_began(row, zone),
            _say_took(row),
            row.spread,
        )
        for row in passages
    ]
    is_wide = paper.columns >= COMPACT_BELOW
    names = max(count_columns(stage) for stage, *_ in rows)
    times = max(count_columns(took) for _, _, took, _ in rows)
    named = [stage for stage, *_ in rows]
    here = explanation.stage if explanation.stage in named else named[-1]
    lines = []
    for stage, began, took, spread in rows:
        line = f"  {pad(stage, names)}  {pad(took, times, to_the_right=True)}"
        if is_wide and began:
            line += paper.paint(f"  {'at' if stage is Stage.READY else 'from'} {began}", "faint")
        if stage is here and explanation.verdict in (Verdict.CRASHED, Verdict.STALLED):
            line += paper.paint("  ← here", "red")
        fits = count_columns(line) + count_columns(spread) + 2 <= paper.columns
        lines.append(f"{line}  {paper.paint(spread, 'faint')}" if fits else line)
        if spread and not fits:
            lines += [paper.paint(part, "faint") for part in paper.fold(spread, indent="    ")]
    return lines


def render_gauges(gauges: tuple[Gauge, ...], paper: Paper) -> list[str]:
    """What the log reports about quantities: a table, or one line each on narrow paper."""
    titles = ("", "last", "mean", "min", "max", "count")
    rows = [
        (
            _GAUGE_NAMES.get(gauge.name, clean(gauge.name).replace("_", " ")),
            *(
                _say_figure(gauge, value)
                for value in (gauge.last, gauge.mean, gauge.least, gauge.greatest)
            ),
            f"{gauge.count:,}" + (" sampled" if gauge.is_sampled else ""),
        )
        for gauge in sorted(gauges, key=_rank_gauge)
    ]
    if not rows:
        return []
    widths = [max(count_columns(row[i]) for row in (titles, *rows)) for i in range(len(titles))]
    if 2 + sum(widths) + 2 * len(widths) > paper.columns:
        return [
            line
            for name, last, mean, least, most, count in rows
            for line in paper.fold(
                f"{name}: mean {mean}, last {last}, {least} to {most}, {count} values", indent="  "
            )
        ]
    return [
        (paper.paint if row is titles else _unpainted)(
            "  "
            + pad(row[0], widths[0])
            + "".join("  " + pad(row[i], widths[i], to_the_right=True) for i in range(1, 6)),
            "faint",
        )
        for row in (titles, *rows)
    ]


def _say_figure(gauge: Gauge, value: float) -> str:
    """A number of requests is whole, unless it is a mean."""
    if gauge.name in _COUNTS and float(value).is_integer():
        return f"{int(value):,}"
    return render_figure(value)


def _rank_gauge(gauge: Gauge) -> int:
    names = list(_GAUGE_NAMES)
    return names.index(gauge.name) if gauge.name in names else len(names)


def _say_took(passage: Passage) -> str:
    if passage.stage is Stage.READY:
        return ""  # a moment, not a stretch of time
    return "–" if passage.seconds is None else render_duration(passage.seconds)


def _say_began(passage: Passage, zone: tzinfo | None) -> str:
    if passage.began_ns is None:
        return ""
    return render_clock(passage.began_ns, UTC if passage.clock == "log" else zone)


def _unpainted(text: str, *_tones: str) -> str:
    return text
