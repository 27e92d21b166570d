"""Holds a folder of generated pages to what they are generated from."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path


def escape(text: str) -> str:
    """Text as a cell of a Markdown table shows it to the letter."""
    return text.replace("|", "\\|").replace("*", "\\*")


def find_stale(folder: Path, wanted: Mapping[str, str]) -> Iterator[Path]:
    """The pages of `folder` that are missing, are not as `wanted` (text by name), or extra."""
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield path
    yield from (path for path in sorted(folder.glob("*")) if path.name not in wanted)


def compare_or_write(folder: Path, wanted: Mapping[str, str], mend: str) -> int:
    """The exit status: 1 where a page is stale. Writes them instead where --write was given.

    `mend` is the command that is told to whoever finds a stale page.
    """
    stale = list(find_stale(folder, wanted))
    if "--write" not in sys.argv[1:]:
        for path in stale:
            print(f"{path} is not what it is written from; {mend} mends it")
        return int(bool(stale))
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale:
        if path.name in wanted:
            path.write_text(wanted[path.name], encoding="utf-8")
        else:
            path.unlink()
    return 0
