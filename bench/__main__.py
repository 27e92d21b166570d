"""Run one bench by name, or list them all.

A bench is a module bench/NAME.py, with `_` for each `-`, that has `def main(argv: list[str]) ->
Result`: it measures and returns its figures, the bars they are held against, and a table.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
# Modules that benches share.
SHARED = {"__init__", "__main__", "measure", "result"}


def list_benches() -> dict[str, str]:
    """The benches by name, each with the first line of its docstring."""
    benches = {}
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_bytes())
        has_main = any(
            isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body
        )
        if path.stem not in SHARED and has_main:
            benches[path.stem.replace("_", "-")] = (ast.get_docstring(tree) or "").partition("\n")[
                0
            ]
    return benches


def main(argv: list[str]) -> int:
    """Run the bench that `argv` names. Exit status 0 when it measured, its bars met or not."""
    benches = list_benches()
    if not argv or argv[0] in {"-h", "--help"}:
        print("usage: ./dev bench NAME [arguments]\n")
        width = max(map(len, benches), default=0)
        print("\n".join(f"  {name:{width}}  {text}" for name, text in benches.items()))
        return 0
    name, *arguments = argv
    if name not in benches:
        print(f"bench: there is no {name}; there are: {', '.join(benches)}", file=sys.stderr)
        return 2
    result = importlib.import_module(f"bench.{name.replace('-', '_')}").main(arguments)
    print(result["table"].rstrip("\n"))
    line = {"bench": name, **{key: result[key] for key in ("figures", "bars", "met")}}
    print(json.dumps(line, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
