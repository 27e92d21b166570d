"""Writes docs/reference/failures from the catalogue; without --write it only compares."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from firedup.core.model import Stage
from firedup.core.rule import Role, Rule
from firedup.profile.join import join_files
from firedup.profile.read import builtin_files
from firedup.profile.schema import SHARED, Catalogue, FailureClass
from tools.pages import compare_or_write, escape

FOLDER = Path("docs/reference/failures")
MEND = "python -m tools.write_class_pages --write"
NOTE = f"Written by `{MEND}` from the catalogue."
ROLES = {
    Role.CAUSE: "the cause",
    Role.KIND: "names the kind of what its form shows to be a failure",
    Role.WRAPPER: "reports that something else failed",
    Role.VICTIM: "follows from a failure elsewhere",
    Role.TEARDOWN: "belongs to the end",
}
INTRODUCTION = """\
A class is one symptom over all engines: the `class` of a cause in JSON, and the first line of a
cause on the terminal.

[Rules of your own](../../how-to/teach-firedup-an-engine.md) use these classes, or bring theirs.
"""
BY_STAGE = "A cause of this class is called by its stage, too: `{0}-load-weights`, `{0}-warmup`.\n"
OUTSIDE = """\
No rule of a log says this; firedup concludes it from what it sees outside the log (how the process
ended, who owns the port, which counters moved) or from the form of a message.
"""


def render_pages(catalogue: Catalogue) -> dict[str, str]:
    """Every page by its file name: the index, and one page per class."""
    pages = {"README.md": _index(catalogue)}
    for described in catalogue.classes:
        pages[f"{described.id}.md"] = _page(catalogue, described)
    return pages


def _index(catalogue: Catalogue) -> str:
    counts = f"{len(catalogue.classes)} classes in {len(catalogue.families)} families."
    parts = [f"# Classes of failure\n\n{NOTE}\n", f"{counts} {INTRODUCTION}"]
    for family in catalogue.families:
        rows = [
            f"| [`{c.id}`]({c.id}.md) | {c.title} | {len(_rules(catalogue, c))} |"
            for c in catalogue.classes
            if c.family == family.id
        ]
        table = "\n".join(["| class | what it is | rules |", "|---|---|---|", *rows])
        parts.append(f"## {family.title}\n\n{family.meaning}\n\n{table}\n")
    return "\n".join(parts)


def _page(catalogue: Catalogue, described: FailureClass) -> str:
    family = next(f for f in catalogue.families if f.id == described.family)
    rules = _rules(catalogue, described)
    parts = [
        f"# {described.title}\n",
        f"class `{described.id}`, family [{family.title}](README.md#{_anchor(family.title)})\n",
        f"{described.meaning}\n",
        *([BY_STAGE.format(described.id)] if described.by_stage else []),
        f"## What to do\n\n{described.remedy}\n",
    ]
    if described.remedies:
        parts.append(_stages(described.remedies))
    if described.mentions:
        words = ", ".join(f"`{word}`" for word in described.mentions)
        parts.append(f"What matters in the command and its environment: {words}.\n")
    shown = "\n".join(_rule(rule, described) for rule in rules) if rules else OUTSIDE
    parts.append(f"## How it shows\n\n{shown}")
    sources = "\n".join(f"- {_source(text)}" for text in described.sources)
    parts.append(f"## Read on\n\n{sources}\n")
    return "\n".join(parts)


def _rule(rule: Rule, described: FailureClass) -> str:
    role = ROLES.get(rule.role or Role.CAUSE, "")
    parts = [f"### `{rule.name}`\n", f"{role.capitalize()}. {_closed(rule.meaning)}\n"]
    parts.append(f"```text\n{rule.matches[0].strip()}\n```\n")
    if rule.remedy and rule.remedy != described.remedy:
        parts.append(f"{rule.remedy}\n")
    if rule.remedies and rule.remedies != described.remedies:
        parts.append(_stages(rule.remedies))
    versions = f", since {rule.since}" if rule.since else ""
    versions += f", until {rule.until}" if rule.until else ""
    parts.append(f"Printed by {escape(rule.source)}{versions}.\n")
    return "\n".join(parts)


def _stages(remedies: Mapping[Stage, str]) -> str:
    rows = [f"| {stage} | {escape(text)} |" for stage, text in remedies.items()]
    return "\n".join(["| in the stage | do |", "|---|---|", *rows]) + "\n"


def _rules(catalogue: Catalogue, described: FailureClass) -> list[Rule]:
    """The rules of a class, causes first, those of all engines before those of one."""
    rules = [e.rule for e in catalogue.entries if e.rule.failure == described.id]
    order = list(ROLES)
    return sorted(rules, key=lambda r: (order.index(r.role or Role.CAUSE), r.engine or SHARED))


def _anchor(title: str) -> str:
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _source(text: str) -> str:
    return f"<{text}>" if text.startswith("https://") else text


def _closed(text: str) -> str:
    return text if text.endswith((".", ")")) else f"{text}."


def main() -> int:
    """Compare, or write with --write."""
    return compare_or_write(FOLDER, render_pages(join_files(builtin_files()).catalogue), MEND)


if __name__ == "__main__":
    sys.exit(main())
