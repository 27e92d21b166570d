"""Holds the source to rules that an import contract cannot see."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "firedup"
AGENT = sorted((SOURCE / "host" / "agent").rglob("*.py"))
CORE = sorted((SOURCE / "core").rglob("*.py"))
# They reach outside, or let time pass; datetime is allowed for parsing alone.
FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint"}
FORBIDDEN_METHODS = {"now", "utcnow", "today"}


def called_names(tree: ast.AST) -> set[str]:
    """Return the bare names that are called."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def clock_calls(tree: ast.AST) -> set[str]:
    """Return the methods of datetime and date that read a clock."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in FORBIDDEN_METHODS
        and isinstance(node.value, ast.Name)
        and node.value.id in {"datetime", "date"}
    }


def imported_packages(tree: ast.AST) -> set[str]:
    """Return the top-level packages that are imported absolutely."""
    packages = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            packages.add(node.module.partition(".")[0])
    return packages


@pytest.mark.parametrize("path", CORE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_core_waits_for_nothing_and_touches_nothing(path: Path) -> None:
    tree = ast.parse(path.read_bytes())

    waits = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]
    assert waits == []
    assert called_names(tree) & FORBIDDEN_CALLS == set()
    assert clock_calls(tree) == set()
    assert imported_packages(tree) <= sys.stdlib_module_names | {"firedup"}


def test_the_purity_check_sees_each_kind_of_impurity() -> None:
    tree = ast.parse("import httpx\nasync def f():\n    print(datetime.now())\n    await g()\n")

    assert called_names(tree) & FORBIDDEN_CALLS == {"print"}
    assert clock_calls(tree) == {"now"}
    assert imported_packages(tree) == {"httpx"}


@pytest.mark.parametrize("path", AGENT, ids=lambda path: path.stem)
def test_the_agent_needs_python_3_6_and_the_standard_library_only(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 6))

    assert imported_packages(tree) <= sys.stdlib_module_names | {"firedup"}
    # Python 3.6 refuses this one although its grammar allows it.
    assert "annotations" not in {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    }
