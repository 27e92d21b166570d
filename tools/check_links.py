"""Tells which relative links and anchors in the Markdown files lead nowhere."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from tools.tracked import list_files

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(
    r"\]\(\s*<?([^)<>\s]+)>?(?:\s+[\"'][^)]*)?\)|^\[[^\]]+\]:\s+<?([^<>\s]+)", re.MULTILINE
)
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=[\"']([^\"']+)", re.IGNORECASE)


def blank(match: re.Match[str]) -> str:
    """Return as many line ends as were matched, so that line numbers hold."""
    return "\n" * match.group().count("\n")


def make_anchor(heading: str) -> str:
    """Return the anchor that a forge gives to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


@cache
def list_anchors(path: Path) -> frozenset[str]:
    """Return all anchors of a Markdown file; the second of a name ends in -1, and so on."""
    text = FENCE.sub(blank, path.read_text(encoding="utf-8"))
    seen: dict[str, int] = {}
    anchors = set(ANCHOR.findall(text))
    for heading in HEADING.findall(text):
        anchor = make_anchor(heading)
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return frozenset(anchors)


def find_broken(path: Path) -> list[str]:
    """Return one sentence per link of `path` that leads nowhere."""
    text = FENCE.sub(blank, path.read_text(encoding="utf-8"))
    text = CODE.sub("", text)
    problems = []
    for match in LINK.finditer(text):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:", link, re.IGNORECASE):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = (path.parent / name) if name else path
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        if not target.exists():
            problems.append(f"{where}: {link} does not exist")
        elif anchor and target.suffix == ".md" and anchor not in list_anchors(target):
            problems.append(f"{where}: {link}: there is no such heading")
    return problems


if __name__ == "__main__":
    found = [problem for path in list_files(Path(), ".md") for problem in find_broken(path)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
