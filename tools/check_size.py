"""Tells which modules below src are longer than 300 lines."""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT = 300


def find_oversized(source: Path) -> list[str]:
    """Return one sentence per module of `source` that has more lines than the limit."""
    problems = []
    for path in sorted(source.rglob("*.py")):
        lines = len(path.read_bytes().splitlines())
        if lines > LIMIT:
            problems.append(f"{path}: {lines} lines, {LIMIT} are allowed; part it by subject")
    return problems


if __name__ == "__main__":
    found = find_oversized(Path("src"))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
