"""Tells where ARCHITECTURE.md and the modules' first sentences differ; --write mends the list.

The list between the two markers has one line per module, `- path — sentence`. A package is named by
its folder and described by its __init__.py.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
from pathlib import Path

PAGE = Path("ARCHITECTURE.md")
BEGIN, END = "<!-- modules -->", "<!-- /modules -->"


def read_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring as one line without its full stop."""
    docstring = ast.get_docstring(ast.parse(path.read_bytes())) or "NO DOCSTRING"
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"\.(?=\s+[A-Z])", paragraph)[0].removesuffix(".")


def list_modules(source: Path) -> str:
    """Return the list of all modules below `source`, packages before what they hold."""
    lines = []
    for path in sorted(source.rglob("*.py"), key=lambda path: path.relative_to(source).parts):
        is_package = path.name == "__init__.py"
        module = path.parent if is_package else path
        depth = len(module.relative_to(source).parts)
        name = f"{module.relative_to(source.parent)}{'/' if is_package else ''}"
        lines.append(f"{'  ' * depth}- `{name}` — {read_sentence(path)}")
    return "\n".join(lines)


def replace_list(page: str, modules: str) -> str:
    """Return `page` with the text between the markers replaced."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE}: the markers {BEGIN} and {END} are missing")
    return f"{head}{begin}\n{modules}\n{end}{tail}"


def main() -> int:
    """Compare, or write with --write."""
    if not PAGE.exists():
        return 0
    page = PAGE.read_text(encoding="utf-8")
    wanted = replace_list(page, list_modules(Path("src/firedup")))
    if "--write" in sys.argv[1:]:
        PAGE.write_text(wanted, encoding="utf-8")
    elif page != wanted:
        difference = difflib.unified_diff(page.split("\n"), wanted.split("\n"), n=0, lineterm="")
        print("\n".join(list(difference)[2:]))
        print(f"{PAGE} differs from the docstrings; python -m tools.check_layout --write mends it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
