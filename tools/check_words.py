"""Tells where a file names a package registry, a folder of the writer's machine, or an issue."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.tracked import list_files

REGISTRY = re.compile(
    r"\b(?:[\w-]+\.)*(?:pypi|pythonhosted|npmjs|(?:download\.)pytorch|(?:proxy\.)golang)\.(?:org|com)\b"
)
# A number alone says nothing to who reads the file elsewhere. The frame of a stack, "#0  main ()",
# begins its line, and a bar, "17%|#7  |", follows neither a word nor a bracket. A program counts
# its messages so, too: "OMP: Error #15".
NUMBER = re.compile(
    r"\b(?:issues?|tickets?|bugs?|prs?|pull requests?)\s+#?\d+\b"
    r"|(?:(?<=[\w,;:] )(?<!Error )(?<!Info )|(?<=\())#\d{1,5}\b",
    re.IGNORECASE,
)
# What engines have printed is left as it is.
RECORDED = ("tests", "data")

# Folders that every machine has, and that say nothing about this one.
COMMON = {Path("/"), Path("/tmp"), Path("/home"), Path("/root"), Path("/srv"), Path("/usr")}  # noqa: S108


def list_folders() -> list[Path]:
    """The folders of this machine that no file should name: the checkout's and the Python's."""
    root = Path.cwd()
    candidates = {root, root.parent, Path(sys.prefix), Path(sys.base_prefix)}
    return sorted(candidates - COMMON)


def find_words(path: Path, folders: list[Path]) -> list[str]:
    """One sentence per place of `path` with a forbidden word; binary files have none."""
    data = path.read_bytes()
    if b"\0" in data[:8192]:
        return []
    # A folder counts as a whole, where a path begins: not inside a longer path or word.
    names = "|".join(re.escape(str(folder)) for folder in folders)
    pattern = re.compile(rf"{REGISTRY.pattern}|(?<![\w./~}}-])(?:{names})(?![\w-])")
    lines = enumerate(data.decode(errors="replace").split("\n"), start=1)
    found = []
    for number, line in lines:
        place = f"{path}:{number}"
        found += [
            f"{place}: {match.group()} means something on one machine only"
            for match in pattern.finditer(line)
        ]
        if path.parts[:2] != RECORDED:
            found += [
                f"{place}: {match.group()} means something to its writers only"
                for match in NUMBER.finditer(line)
            ]
    return found


if __name__ == "__main__":
    folders = list_folders()
    found = [problem for path in list_files(Path()) for problem in find_words(path, folders)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
