"""A survey of a host as text for people and as an object."""

from __future__ import annotations

from collections import Counter

from firedup.session.survey import Engine, Survey
from firedup.view.paper import Paper
from firedup.view.quantity import render_duration, render_rfc3339, render_size
from firedup.view.redact import clean

_NS = 1_000_000_000


def render_survey(survey: Survey, paper: Paper) -> list[str]:
    """A headline, a line for each fact, and the problems."""
    up_s = (survey.wall_ns - survey.booted_ns) / _NS
    booted = (render_rfc3339(survey.booted_ns) or "")[:16].replace("T", " ")
    facts = [
        ("way", survey.route or "this machine"),
        ("user", f"{survey.user} on {survey.hostname}, home {survey.home}"),
        ("python", survey.python),
        ("booted", f"{booted} UTC, {render_duration(up_s)} ago"),
        ("runs", f"{survey.runs_folder}, {render_size(survey.free_bytes)} free"),
        ("engines", "; ".join(map(_name_engine, survey.engines)) or "none found"),
        ("GPUs", "; ".join(_count_gpus(survey.gpus)) or "none found"),
    ]
    lines = [f"✓ {clean(survey.host)} reached in {survey.reached_s * 1000:.0f} ms"]
    for label, text in facts:
        folded = paper.fold(clean(text), indent=" " * 11)
        lines += [f"  {paper.paint(f'{label:8}', 'faint')} {folded[0].strip()}", *folded[1:]]
    for problem in survey.problems:
        folded = paper.fold(clean(problem), indent="  ")
        lines += [paper.paint(f"✗ {folded[0].strip()}", "red"), *folded[1:]]
    return lines


def record_survey(survey: Survey) -> dict[str, object]:
    """The object that `firedup host NAME --json` prints, without what is remembered."""
    return {
        "host": survey.host,
        "route": survey.route,
        "reached_s": round(survey.reached_s, 3),
        "user": survey.user,
        "hostname": survey.hostname,
        "python": survey.python,
        "booted": render_rfc3339(survey.booted_ns),
        "home": survey.home,
        "runs_folder": survey.runs_folder,
        "free_bytes": survey.free_bytes,
        "file_system": survey.file_system,
        "engines": [
            {"engine": e.name, "version": e.version, "path": e.path} for e in survey.engines
        ],
        "gpus": list(survey.gpus),
        "problems": [clean(problem) for problem in survey.problems],
    }


def _name_engine(engine: Engine) -> str:
    version = f" {engine.version}" if engine.version else ""
    path = f" ({engine.path})" if engine.path else ""
    return f"{engine.name}{version}{path}"


def _count_gpus(gpus: tuple[str, ...]) -> list[str]:
    """Eight of a kind are one word."""
    counts = Counter(gpus)
    return [f"{count} × {name}" if count > 1 else name for name, count in counts.items()]
