"""Writes docs/reference/checks from the checks of drafters; without --write it only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from firedup.drafter.consequence import consequences
from firedup.drafter.judge import Described, all_checks
from tools.pages import compare_or_write, escape

FOLDER = Path("docs/reference/checks")
MEND = "python -m tools.write_check_pages --write"
NOTE = f"Written by `{MEND}` from the checks."
INTRODUCTION = """\
`firedup check TARGET DRAFT` reads headers, configs, tokenizer files and a few rows of both, and
tells what it finds under these names. [How to use it](../../how-to/check-a-drafter.md).
"""


def render_pages() -> dict[str, str]:
    """Every page by its file name: the index, and one page per id."""
    checks = all_checks()
    rows = [
        f"| [`{ident}`]({ident}.md) | {title} |" for c in checks for ident, title in c.ids.items()
    ]
    table = "\n".join(["| id | what it says |", "|---|---|", *rows])
    pages = {"README.md": f"# Checks of a drafter\n\n{NOTE}\n\n{INTRODUCTION}\n{table}\n"}
    for check in checks:
        for ident in check.ids:
            pages[f"{ident}.md"] = _page(check, ident)
    return pages


def _page(check: Described, ident: str) -> str:
    parts = [f"# {check.ids[ident].rstrip('.')}\n", f"id `{ident}`\n", f"{check.text}\n"]
    rows = [
        f"| {one.engine} | {one.versions or 'all'} | {one.harm.value} | {escape(one.text)} |"
        for one in consequences(ident)
    ]
    if rows:
        head = ["| engine | versions | harm | what it does |", "|---|---|---|---|"]
        parts.append("\n".join(["## What engines do\n", *head, *rows]) + "\n")
    others = [f"[`{other}`]({other}.md)" for other in check.ids if other != ident]
    if others:
        parts.append(f"The same check finds {', '.join(others)}.\n")
    parts.append("[All checks](README.md)\n")
    return "\n".join(parts)


def main() -> int:
    """Compare, or write with --write."""
    return compare_or_write(FOLDER, render_pages(), MEND)


if __name__ == "__main__":
    sys.exit(main())
